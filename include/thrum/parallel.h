/*
 * thrum/parallel.h: calls of several functions, or of one over a range, on all free workers.
 *
 * thrum_invoke and thrum_parallel_for return when everything is done. They are built on
 * thrum/fork.h: do not rely on which task makes which call of a function. Functions may block, and
 * may nest the two calls to any depth: a task that waits suspends, so one worker is enough.
 *
 * Functions use the caller's stack frame. So a cancel of the caller ends the waits of the
 * functions, wherever they run, and the two calls return once all functions have returned. If a
 * plain or bound thread calls, it makes all calls of the functions itself, one after the other.
 */
#ifndef THRUM_PARALLEL_H
#define THRUM_PARALLEL_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/*
 * Calls each fns[i](args[i]) once, and returns when all have returned. The caller itself calls the
 * first one, at once. All functions are called, even if some fail.
 *
 * Parameters:
 *   n     the number of functions; for 0 the call returns 0
 *   fns   the functions; the array is used until the call returns
 *   args  their arguments, used until the call returns; NULL: each gets NULL
 * Returns: 0, or the result of the first function in the array's order that did not return 0.
 * Errors:
 *   -EINVAL  fns, or one of the functions, is NULL; none was called
 * Context: any thread; may suspend; not cancellable.
 * Ordering: the writes before the call are visible to the functions, and their writes are visible
 *   after it.
 * Example: examples/stencil.c
 * See also: thrum_parallel_for, thrum_fork, thrum_dag_run
 */
THRUM_API int thrum_invoke(size_t n, const thrum_fn fns[], void *const args[]);

/* The function of a loop: does the work for begin .. end - 1. `ctx` is that of the loop. */
typedef void (*thrum_range_fn)(size_t begin, size_t end, void *ctx);

/*
 * Calls fn for the pieces of a range, and returns when all are done. The pieces cover begin .. end
 * - 1, each number once.
 *
 * The range is divided while a worker is free to take a share, so pieces may take very different
 * times. Pieces may block, and the rest goes on; but they must not wait for each other, since one
 * task may run several of them one after the other.
 *
 * Parameters:
 *   begin  the first number
 *   end    the number after the last
 *   grain  how many numbers a piece has at most; 0: the scheduler chooses, for pieces of some
 *          microseconds
 *   fn     the function; a piece is never empty
 *   ctx    its last argument
 * Returns: 0, or a negative error code with nothing called.
 * Errors:
 *   -EINVAL  fn is NULL, or end is before begin
 * Context: any thread; may suspend; not cancellable.
 * Ordering: the writes before the call are visible to the pieces, and their writes are visible
 *   after it.
 * Example: examples/stencil.c
 * See also: thrum_invoke
 */
THRUM_API int thrum_parallel_for(size_t begin, size_t end, size_t grain, thrum_range_fn fn,
                                 void *ctx);

THRUM_END_DECLS

#endif
