/*
 * callers.c: the callers of the calls in a report. In C++ without optimization, most calls of the
 * library are in functions of its headers or of the standard library. The report has the line of
 * the program's own code instead, which is one of their callers.
 */
#include <stdlib.h>
#include <sys/auxv.h>
#include <unwind.h>

#include "kit.h"

#define BATCH 512u /* a command line has a maximal length */

/* Weak: programs in C have no such functions, and need none. */
extern __attribute__((weak)) _Unwind_Reason_Code _Unwind_Backtrace(_Unwind_Trace_Fn fn, void *arg);
extern __attribute__((weak)) _Unwind_Ptr _Unwind_GetIP(struct _Unwind_Context *context);

typedef struct walk {
    sim_step *step;
    unsigned n;
} walk;

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *arg) {
    walk *w = arg;
    const uintptr_t at = _Unwind_GetIP(context);
    if (w->n || at == w->step->after) {
        w->step->callers[w->n++] = at;
    }
    return w->n < CALLERS_MAX ? _URC_NO_REASON : _URC_END_OF_STACK;
}

void kit_note_callers(sim_step *step) {
    /* In a static program, the unwinder's own data would be restored between runs. */
    if (_Unwind_Backtrace && _Unwind_GetIP && getauxval(AT_BASE)) {
        _Unwind_Backtrace(visit, &(walk){.step = step});
    }
}

static int compare(const void *a, const void *b) {
    const uintptr_t first = *(const uintptr_t *)a, second = *(const uintptr_t *)b;
    return (first > second) - (first < second);
}

/*
 * Leaves those of the sorted addresses that are in headers; returns their number. `places` has room
 * for a batch. It is not static: static data is restored before each run.
 */
static unsigned keep_headers(kit_place places[], uintptr_t addresses[], unsigned n) {
    uintptr_t before[BATCH];
    unsigned kept = 0;
    for (unsigned from = 0; from < n;) {
        unsigned count = 0;
        for (; from < n && count < BATCH; from++) {
            if (from == 0 || addresses[from] != addresses[from - 1]) {
                before[count++] = addresses[from] - 1;
            }
        }
        kit_find_places(places, before, count);
        for (unsigned i = 0; i < count; i++) {
            addresses[kept] = places[i].of_headers ? before[i] + 1 : addresses[kept];
            kept += places[i].of_headers;
        }
    }
    return kept;
}

static bool may_go_out(const sim_step *step, unsigned depth) {
    return step->callers[depth] && step->after == step->callers[depth - 1];
}

void kit_find_callers(void) {
    uintptr_t *addresses = malloc((E->words_count + 1) * sizeof *addresses);
    kit_place *places = malloc(BATCH * sizeof *places);
    for (unsigned depth = 1; depth < CALLERS_MAX; depth++) {
        unsigned n = 0;
        for (uint32_t i = 0; i < E->words_count; i++) {
            addresses[n] = E->words[i].after;
            n += may_go_out(&E->words[i], depth);
        }
        qsort(addresses, n, sizeof *addresses, compare);
        n = keep_headers(places, addresses, n);
        for (uint32_t i = 0; i < E->words_count; i++) {
            sim_step *step = &E->words[i];
            if (may_go_out(step, depth) &&
                bsearch(&step->after, addresses, n, sizeof *addresses, compare)) {
                step->after = step->callers[depth];
            }
        }
    }
    free(places);
    free(addresses);
}

uintptr_t kit_outward(uintptr_t after) {
    for (uint32_t i = E->words_count; i > 0; i--) {
        if (after && E->words[i - 1].callers[0] == after) {
            return E->words[i - 1].after;
        }
    }
    return after;
}
