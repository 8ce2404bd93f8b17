/*
 * backtrace.h: which calls a suspended fiber is in, for people.
 *
 * Nothing unwinds: frame pointers cost too much, and the tables need a library. The stack is
 * *scanned*: a word that points behind a call instruction is taken for a return address. So all
 * calls that the fiber is in are found, the innermost first, and maybe among them some that are
 * over, whose return addresses stand in parts of frames that nobody has written since. The
 * library's own code is left out. core/inspect/STUCK.md has the argument.
 *
 *     begin    where code lies, before any lock is taken
 *     scan     under what keeps the stack there: words that point into code are copied
 *     print    without locks: those behind a call are told
 */
#ifndef TH_BACKTRACE_H
#define TH_BACKTRACE_H

#include "core/state/waiter_state.h"
#include "platform/platform.h"
#include "thrum/sched.h"

/* So many fibers at a time, and of each so many words. */
#define TH_BACKTRACE_FIBERS TH_LIMIT(8u, 2u)
#define TH_BACKTRACE_WORDS 32u

/* How many calls are told, of each fiber. */
#define TH_CALLS_OF_DUMP 12u
#define TH_CALLS_OF_REPORT 4u

#define TH_CALL_TEXT 192u /* "file+0x1234 (function+0x12)" */

typedef struct th_backtrace th_backtrace;

/* NULL: no memory, or it is not known on this processor. Takes a lock of the system's loader. */
th_backtrace *th_backtrace_begin(thrum_sched *sched);
void th_backtrace_end(thrum_sched *sched, th_backtrace *backtrace);

/* A stack, from its lowest byte to the first above its frames. */
typedef struct th_backtrace_stack {
    uintptr_t low;
    uintptr_t high;
} th_backtrace_stack;

/*
 * Copies the words of the fiber, which is suspended, as the number'th one; returns how many. With
 * what keeps the stack mapped; if `waiter` is not NULL, the fiber is held. It may be that it goes
 * on meanwhile: then what is copied may be of different moments.
 */
unsigned th_backtrace_scan(th_backtrace *backtrace, unsigned number, th_backtrace_stack stack,
                           const th_context *context, const th_waiter *waiter);

/*
 * The next call of the number'th one, from word `*at` on, of `count`, after `told` others; NULL:
 * that was the last. The text is there until the next call. Without locks.
 */
const char *th_backtrace_next(th_backtrace *backtrace, unsigned number, unsigned count,
                              unsigned *at, unsigned told);

/* Whether this one's words are those of the last one that was asked about; they are, then. */
bool th_backtrace_again(th_backtrace *backtrace, unsigned number, unsigned count);

#endif
