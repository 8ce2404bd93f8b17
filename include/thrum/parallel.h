/*
 * thrum/parallel.h: several functions, or one function over a range, on as many workers as are
 * free.
 *
 * Both calls return when everything has been done, and are built on thrum/fork.h: who makes which
 * call is not to be relied on. Calls may block, and may nest these calls to any depth: who waits
 * suspends, so one worker is enough. The calls use the caller's frame, so a cancel of the caller
 * ends the waits of the calls, wherever they are made, and these return. From a thread that runs no
 * task all calls are made by the caller, one after the other.
 */
#ifndef THRUM_PARALLEL_H
#define THRUM_PARALLEL_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/*
 * Calls each fns[i](args[i]) once, the first one itself and at once; `args` NULL: each gets NULL.
 * All are called, also when some fail. 0, or what the first of them in the array's order returned
 * that did not return 0. -EINVAL: `fns`, or one of them, is NULL; none was called. What each call
 * wrote is visible afterwards. May suspend. From any thread.
 */
THRUM_API int thrum_invoke(size_t n, const thrum_fn fns[], void *const args[]);

/* Does what is to be done for begin .. end - 1. */
typedef void (*thrum_range_fn)(size_t begin, size_t end, void *ctx);

/*
 * Calls fn for pieces of begin .. end - 1 that together are all of it, each number once. A piece is
 * not empty and holds at most `grain` numbers; with 0 the scheduler chooses: some microseconds'
 * work. The range is divided while somebody is free to take a share, so pieces may take very
 * different times. Pieces that block let the rest go on, but must not wait for each other: several
 * may run one after another as one. -EINVAL: no fn; end before begin. Otherwise as thrum_invoke.
 */
THRUM_API int thrum_parallel_for(size_t begin, size_t end, size_t grain, thrum_range_fn fn,
                                 void *ctx);

THRUM_END_DECLS

#endif
