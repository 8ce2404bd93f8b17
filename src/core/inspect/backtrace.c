/*
 * backtrace.c: see backtrace.h.
 */
#include "core/inspect/backtrace.h"

#include <string.h>

#include "base/annotate.h"
#include "base/atomic.h"
#include "core/basis/waiter_state.h"
#include "core/state/worker.h"
#include "platform/call.h"

/* How much of a stack is scanned. */
#define SCAN_BYTES ((uintptr_t)8 * 1024)

/* The most that a waiter lies above the stack pointer of its fiber: the library's own frames. */
#define WAIT_BYTES ((uintptr_t)2 * 1024)

/* Backtraces whose calls are kept. */
#define KEPT 256u

struct th_backtrace {
    unsigned spans_count;
    th_told_calls kept[KEPT]; /* by a key of the words; 0: nothing is kept here */
    uintptr_t words[TH_BACKTRACE_FIBERS][TH_BACKTRACE_WORDS];
    uintptr_t ends[TH_BACKTRACE_FIBERS]; /* where each task begins, or 0 */
    uintptr_t last[TH_BACKTRACE_WORDS];  /* words of the fiber that was asked about last */
    unsigned last_count;
    th_code_names *names;
    th_os_span spans[]; /* pieces of code, sorted by address, without overlap */
};

/* ---- where code lies ---- */

static void sort(th_os_span spans[], unsigned count) {
    for (unsigned i = 1; i < count; i++) {
        th_os_span span = spans[i];
        unsigned at = i;
        for (; at > 0 && spans[at - 1].low > span.low; at--) {
            spans[at] = spans[at - 1];
        }
        spans[at] = span;
    }
}

th_backtrace *th_backtrace_begin(thrum_sched *sched, th_code_names *names) {
    unsigned room = th_os_code_spans(NULL, 0);
    if (!room) {
        return NULL;
    }
    th_backtrace *b = th_sched_alloc(sched, sizeof *b + room * sizeof b->spans[0]);
    if (b) {
        memset(b, 0, sizeof *b);
        b->names = names;
        /* There may be more code by now. */
        unsigned count = th_os_code_spans(b->spans, room);
        b->spans_count = count < room ? count : room;
        sort(b->spans, b->spans_count);
    }
    return b;
}

void th_backtrace_end(thrum_sched *sched, th_backtrace *backtrace) {
    th_sched_free(sched, backtrace);
}

/* Whether a call in one of the pieces may return there: the call's last byte decides. */
static TH_NO_TSAN bool is_code(const th_backtrace *b, uintptr_t after) {
    unsigned low = 0;
    unsigned high = b->spans_count;
    while (low < high) { /* finds the first piece that ends at or above `after` */
        unsigned middle = (low + high) / 2;
        if (b->spans[middle].high < after) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < b->spans_count && b->spans[low].low < after;
}

/* ---- scanning ---- */

/*
 * The place where the scan begins. All that lies above the waiter was written before the fiber
 * showed the waiter. On some processors a function keeps its return address below its variables;
 * there the scan begins where the fiber's stack ended when it was last suspended, if this wait can
 * be there.
 */
static TH_NO_TSAN uintptr_t beginning(th_backtrace_stack stack, uintptr_t pointer,
                                      const th_waiter *waiter) {
    uintptr_t wait = (uintptr_t)waiter;
    bool is_inside = pointer >= stack.low && pointer < stack.high;
    /* No wait, or a sanitizer has moved the waiter's frame elsewhere. */
    if (wait < stack.low || wait >= stack.high) {
        return is_inside ? pointer : stack.high;
    }
#if defined(__x86_64__)
    return wait;
#else
    return is_inside && pointer < wait && wait - pointer <= WAIT_BYTES ? pointer : wait;
#endif
}

/* Not shown to the sanitizers: it reads words that no step orders for it, and between variables. */
TH_NO_TSAN TH_NO_ASAN unsigned th_backtrace_scan(th_backtrace *b, unsigned number,
                                                 th_backtrace_stack stack, uintptr_t pointer,
                                                 const th_waiter *waiter) {
    unsigned count = 0;
    if (number >= TH_BACKTRACE_FIBERS || stack.high <= stack.low) {
        return 0;
    }
    uintptr_t begin = beginning(stack, pointer, waiter) & ~(uintptr_t)(sizeof(uintptr_t) - 1);
    uintptr_t end = stack.high - begin > SCAN_BYTES ? begin + SCAN_BYTES : stack.high;
    for (uintptr_t at = begin; end - at >= sizeof(uintptr_t) && count < TH_BACKTRACE_WORDS;
         at += sizeof(uintptr_t)) {
        /* relaxed: any value will do; the return address of a call that lasts does not change */
        uintptr_t word = th_load_relaxed((const uintptr_t *)at) & TH_CALL_BITS;
        th_valgrind_zeroed(&word, sizeof word);
        if (is_code(b, word)) {
            b->words[number][count++] = word;
        }
    }
    return count;
}

unsigned th_backtrace_take(th_backtrace *b, unsigned number, const uintptr_t words[],
                           size_t count) {
    unsigned taken = 0;
    for (size_t i = 0; i < count && taken < TH_BACKTRACE_WORDS; i++) {
        uintptr_t word = words[i] & TH_CALL_BITS;
        th_valgrind_zeroed(&word, sizeof word);
        if (is_code(b, word)) {
            b->words[number][taken++] = word;
        }
    }
    return taken;
}

/* ---- printing ---- */

/*
 * Where to look for the next call behind that at `at` - 1. The function containing that call
 * returns to a word further on; words before that one were left by calls that are over. It is
 * recognised because it is behind a direct call of the function, except for recursion by jumps. A
 * call by register that comes first may also have led there. If nothing has called the task's
 * function it is the outermost.
 */
static unsigned behind_frame(th_backtrace *b, unsigned number, unsigned count, unsigned at) {
    const th_known_call *known = th_code_names_known(b->names, b->words[number][at - 1], true);
    const uintptr_t function = known ? known->function : 0;
    for (unsigned i = at; function && i < count; i++) {
        known = th_code_names_known(b->names, b->words[number][i], true);
        if (known && known->is_call && known->leads == function) {
            return i;
        }
        if (known && known->is_call && !known->leads && !known->of_system) {
            return at;
        }
    }
    return function && function == b->ends[number] ? count : at;
}

const char *th_backtrace_next(th_backtrace *b, unsigned number, unsigned count, unsigned *at,
                              unsigned told) {
    *at = told ? behind_frame(b, number, count, *at) : *at;
    while (*at < count) {
        const th_known_call *known = th_code_names_known(b->names, b->words[number][(*at)++], true);
        if (known && known->is_call && (told || !known->of_system)) {
            return known->text;
        }
    }
    return NULL;
}

bool th_backtrace_again(th_backtrace *b, unsigned number, unsigned count) {
    size_t size = count * sizeof b->last[0];
    if (count == b->last_count && !memcmp(b->last, b->words[number], size)) {
        return true;
    }
    memcpy(b->last, b->words[number], size);
    b->last_count = count;
    return false;
}

/* ---- which fibers are in the same calls ---- */

static void find_told(th_backtrace *b, unsigned number, unsigned count, unsigned told_max,
                      th_told_calls *out) {
    unsigned at = 0;
    out->count = 0;
    out->key = 0;
    while (out->count < told_max && th_backtrace_next(b, number, count, &at, out->count)) {
        const uintptr_t after = b->words[number][at - 1];
        out->key = th_backtrace_mix(out->key, after);
        out->after[out->count++] = after;
    }
}

const th_told_calls *th_backtrace_told(th_backtrace *b, unsigned number, unsigned count,
                                       unsigned told_max) {
    uint64_t words = th_backtrace_mix(told_max, b->ends[number]);
    for (unsigned i = 0; i < count; i++) {
        words = th_backtrace_mix(words, b->words[number][i]);
    }
    words |= words == 0; /* which is no key */
    th_told_calls *told = &b->kept[(words >> 32) % KEPT];
    if (told->words != words) {
        find_told(b, number, count, told_max, told);
        told->words = words;
    }
    return told;
}

void th_backtrace_ends(th_backtrace *b, unsigned number, uintptr_t fn) {
    b->ends[number] = fn;
}

void th_backtrace_recall(th_backtrace *b, unsigned number, const uintptr_t words[],
                         unsigned count) {
    memcpy(b->words[number], words, count * sizeof words[0]);
}
