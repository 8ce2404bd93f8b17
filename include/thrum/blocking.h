/*
 * thrum/blocking.h: calls that block the thread, such as reading a file.
 */
#ifndef THRUM_BLOCKING_H
#define THRUM_BLOCKING_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/*
 * Runs `fn(arg)` on a thread of the scheduler's blocking pool while the calling fiber waits and its
 * worker goes on; `*result` (may be NULL) gets its value. The pool grows to `blocking_threads_max`
 * (beyond that calls wait their turn) and shrinks after `blocking_keepalive`.
 * On the pool's thread `fn` is a plain thread's code: it may use every primitive, and blocks in
 * them. It acts for the task that waits for it: what it posts, spawns (attr.sched) or binds to its
 * scheduler is accepted though that stops, and the stop waits for it; it unbinds before it returns.
 * Stopping that scheduler, or waiting until it is done, gets it -EDEADLK, as that task.
 * A plain thread just calls `fn` itself. Tasks suspend.
 * Returns 0 once fn has returned; with fn not begun -EAGAIN or -ENOMEM, when no thread could be had
 * and none exists, and -ECANCELED, when the task was cancelled before. Once begun it is waited for.
 */
THRUM_API THRUM_NODISCARD int thrum_blocking(thrum_fn fn, void *arg, int *result);

THRUM_END_DECLS

#endif
