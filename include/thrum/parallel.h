/*
 * thrum/parallel.h: several functions, or one function over a range, on as many workers as are
 * free.
 *
 * thrum_invoke and thrum_parallel_for return when everything has been done, and are built on
 * thrum/fork.h: do not rely on which task makes which call of a function. Functions may block, and
 * may nest the two to any depth: a task that waits suspends, so one worker is enough. Functions use
 * the caller's frame, so a cancel of the caller ends the waits of the functions, wherever they run,
 * and the two return when these have. For a plain thread all functions are called by the caller,
 * one after the other.
 */
#ifndef THRUM_PARALLEL_H
#define THRUM_PARALLEL_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/*
 * Calls each fns[i](args[i]) once, the first one itself and at once; if `args` is NULL, each gets
 * NULL. All are called, also when some fail. What each wrote is visible afterwards. The arrays are
 * the caller's, and are used until it returns. Any thread may call it. It may suspend. It returns
 * 0, or what the first of them in the array's order returned that did not return 0; or with none
 * called -EINVAL when `fns`, or one of them, is NULL.
 */
THRUM_API int thrum_invoke(size_t n, const thrum_fn fns[], void *const args[]);

/* What is to be done for begin .. end - 1. */
typedef void (*thrum_range_fn)(size_t begin, size_t end, void *ctx);

/*
 * Calls fn for pieces of begin .. end - 1 that together are all of it, each number once. A piece is
 * not empty and holds at most `grain` numbers; with 0 the scheduler chooses: some microseconds'
 * work. The range is divided while a worker is free to take a share, so pieces may take very
 * different times. Pieces that block let the rest go on, but must not wait for each other: several
 * may run one after another as one. What the pieces wrote is visible afterwards. Any thread may
 * call it. It may suspend. It returns 0, or with nothing called -EINVAL when there is no fn, or end
 * lies before begin.
 */
THRUM_API int thrum_parallel_for(size_t begin, size_t end, size_t grain, thrum_range_fn fn,
                                 void *ctx);

THRUM_END_DECLS

#endif
