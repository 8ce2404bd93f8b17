/*
 * thrum/blocking.h: calls that block the thread, such as reading a file.
 */
#ifndef THRUM_BLOCKING_H
#define THRUM_BLOCKING_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/*
 * Runs `fn(arg)` on a thread of the scheduler's blocking pool while the caller waits and its worker
 * goes on; `*result` (may be NULL) gets its value. What the caller wrote before is visible to `fn`,
 * and what `fn` wrote is visible afterwards. The pool grows to `blocking_threads_max` (beyond that
 * calls wait their turn) and shrinks after `blocking_keepalive`.
 *
 * On the pool's thread `fn` is a plain thread's code: it may use every primitive, and blocks in
 * them. It acts for the task that waits for it: what it posts, spawns (attr.sched) or binds to its
 * scheduler is accepted while that stops, too, and the stop waits for it; it unbinds before it
 * returns. If it stops that scheduler, or waits until it is done, it gets -EDEADLK, as that task
 * would.
 *
 * Any thread may call it; a plain thread just calls `fn` itself. Tasks and bound threads suspend.
 * It returns 0 once `fn` has returned. Errors, with `fn` not begun: -EINVAL without `fn`;
 * -ECANCELED when the caller was cancelled; -EAGAIN or -ENOMEM when the system refuses a thread and
 * the pool has none, or has begun no call for 100 ms: all its threads may be waiting for this very
 * call. Once begun, `fn` is waited for, whatever cancels the caller.
 */
THRUM_API THRUM_NODISCARD int thrum_blocking(thrum_fn fn, void *arg, int *result);

THRUM_END_DECLS

#endif
