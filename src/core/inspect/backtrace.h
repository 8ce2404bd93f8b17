/*
 * backtrace.h: the calls that a suspended fiber is in, for people to read.
 *
 * Nothing unwinds: frame pointers cost too much, and the tables need a library. The stack is
 * *scanned* instead: a word that points behind a call instruction is taken for a return address. So
 * all calls that the fiber is in are found, the innermost first, and perhaps among them some that
 * have ended, whose return addresses are in parts of frames that have not been written since. It
 * omits those between a call and a direct call of the function that it is in. The library's own
 * code is left out. core/watch/DEADLOCK.md has the argument.
 *
 *     begin    finds where code lies, before any lock is taken
 *     scan     copies words that point into code, with the lock or hold that keeps the stack mapped
 *     print    without locks: prints words that are behind a call
 */
#ifndef TH_BACKTRACE_H
#define TH_BACKTRACE_H

#include "core/inspect/code_names.h"
#include "core/basis/waiter_state.h"
#include "platform/platform.h"
#include "thrum/sched.h"

/* Fibers at a time, and words of each. */
#define TH_BACKTRACE_FIBERS TH_LIMIT(8u, 2u)
#define TH_BACKTRACE_WORDS 128u

/* Calls that are printed of each fiber. */
#define TH_CALLS_OF_DUMP 12u
#define TH_CALLS_OF_REPORT 4u

typedef struct th_backtrace th_backtrace;

/*
 * NULL: no memory, or not supported on this processor. Takes a lock of the system's loader. The
 * names outlive it.
 */
th_backtrace *th_backtrace_begin(thrum_sched *sched, th_code_names *names);
void th_backtrace_end(thrum_sched *sched, th_backtrace *backtrace);

/* A stack, from its lowest byte to the first above its frames. */
typedef struct th_backtrace_stack {
    uintptr_t low;
    uintptr_t high;
} th_backtrace_stack;

/*
 * Copies words of the fiber's stack under this number; returns how many. `pointer` is its stack
 * pointer as it was when the fiber was suspended, or when its thread began to wait in a system
 * call. The caller makes sure that the stack stays mapped; if `waiter` is not NULL, the fiber is
 * held, too. Otherwise the fiber may go on meanwhile, and the copied words may be of different
 * moments.
 */
unsigned th_backtrace_scan(th_backtrace *backtrace, unsigned number, th_backtrace_stack stack,
                           uintptr_t pointer, const th_waiter *waiter);

/*
 * Takes words that another thread has copied from a stack, under this number: only words that point
 * into code, at most TH_BACKTRACE_WORDS. Returns their number.
 */
unsigned th_backtrace_take(th_backtrace *backtrace, unsigned number, const uintptr_t words[],
                           size_t count);

/*
 * The next call of the fiber with this number, from word `*at` on, of `count`, after `told` others;
 * NULL: there is none left. The text is valid until the next question to the names. The only lock
 * it takes of the library's is the one around the loader's.
 */
const char *th_backtrace_next(th_backtrace *backtrace, unsigned number, unsigned count,
                              unsigned *at, unsigned told);

/*
 * Whether this fiber's words equal those of the fiber that was asked about last; they are that
 * one's for the next time.
 */
bool th_backtrace_again(th_backtrace *backtrace, unsigned number, unsigned count);

/* ---- which fibers are in the same calls ---- */

/* A key of 64 bits that depends on another key and a word. Those of different words differ. */
static inline uint64_t th_backtrace_mix(uint64_t key, uint64_t word) {
    key = (key ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return key ^ key >> 29;
}

/* The reported calls of a fiber. */
typedef struct th_told_calls {
    uint64_t words; /* a key of the words in which they were found */
    uint64_t key; /* the same for the same calls, another one for others (but for one pair in 2^64),
                     and 0 for none */
    unsigned count;
    uintptr_t after[TH_CALLS_OF_DUMP]; /* the words behind them */
} th_told_calls;

/*
 * The first `told_max` calls, at most TH_CALLS_OF_DUMP, of the fiber with this number; valid until
 * the next question. Results for equal words are kept. Takes locks as th_backtrace_next does.
 */
const th_told_calls *th_backtrace_told(th_backtrace *backtrace, unsigned number, unsigned count,
                                       unsigned told_max);

/*
 * The function of the task in whose run the fiber with this number is, or 0: not known. Nothing
 * behind it is reported, since the library has called it. Set it after each scan.
 */
void th_backtrace_ends(th_backtrace *backtrace, unsigned number, uintptr_t fn);

/* These words become those of the fiber with this number. */
void th_backtrace_recall(th_backtrace *backtrace, unsigned number, const uintptr_t words[],
                         unsigned count);

#endif
