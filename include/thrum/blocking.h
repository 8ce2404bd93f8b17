/*
 * thrum/blocking.h: calls that block the thread, such as those of a database's client library.
 *
 * Each scheduler has a blocking pool: threads that make such calls, while the task waits and its
 * worker runs other tasks.
 */
#ifndef THRUM_BLOCKING_H
#define THRUM_BLOCKING_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/*
 * Runs `fn(arg)` on a thread of the blocking pool. The call returns when `fn` has returned. Tasks
 * and bound threads suspend meanwhile; a plain thread calls `fn` itself. The pool grows up to
 * `blocking_threads_max` threads (thrum_config); beyond that, calls wait their turn. A thread that
 * has nothing to do ends after `blocking_keepalive`.
 *
 * In the pool, `fn` runs as code of a plain thread: it may use every primitive, and blocks in them.
 * It acts for the task that waits for it. While the scheduler stops, it may still post, spawn
 * (attr.sched) and bind to that scheduler, and the stop waits for it. A call in `fn` that stops the
 * scheduler, or waits until it is done, returns -EDEADLK.
 *
 * Once `fn` has begun, a cancel of the caller no longer ends the call.
 *
 * Parameters:
 *   fn      the function
 *   arg     its argument, used until the call returns
 *   result  gets the value that `fn` returned; may be NULL
 * Returns: 0 once `fn` has returned, or a negative error code with `fn` not begun and *result
 *   unchanged.
 * Errors:
 *   -EINVAL           fn is NULL
 *   -ECANCELED        the caller was cancelled
 *   -EAGAIN, -ENOMEM  the system refuses a thread, and the pool has none or has begun no call for
 *                     100 ms, since all of its threads may wait for this very call
 * Context: any thread; may suspend; cancellable. It is cancellable only until `fn` begins.
 * Ordering: the writes before the call are visible to `fn`, and the writes of `fn` are visible
 *   after the call.
 * Misuse: `fn` has bound its thread to a scheduler and returns without unbinding it.
 * Example: examples/blocking_call.c
 * See also: thrum_config, thrum_file_pread
 */
THRUM_API THRUM_NODISCARD int thrum_blocking(thrum_fn fn, void *arg, int *result);

THRUM_END_DECLS

#endif
