/*
 * thrum/sched.h: starting, stopping and waiting for a scheduler.
 */
#ifndef THRUM_SCHED_H
#define THRUM_SCHED_H

#include "thrum/base.h"
#include "thrum/config.h"

THRUM_BEGIN_DECLS

/*
 * In the child of a fork schedulers of the parent have no workers, and nothing of theirs runs. They
 * refuse everything with -ESHUTDOWN, also joins of their tasks. If a task, a bound thread or a
 * function under thrum_blocking has forked, calls of it that would wait fail with -ESHUTDOWN at
 * once, until the child has started a scheduler of its own; those that return nothing stop the
 * process; and the end of the task's body ends the process by _exit. docs/fork.md has the whole.
 */

/*
 * Starts a scheduler, runs `entry(arg)` as its first fiber, waits for all that it started and
 * stops. Outside threads may post until the entry has returned, and may stop it meanwhile (one that
 * waits for SIGTERM, say): such a stop returns as any other, and this call when that has returned,
 * or has timed out and the rest has ended. `config` may be NULL (defaults and environment); it is
 * not kept. Plain threads only; blocks the thread. Returns entry's value, or the negative code of
 * what kept it from starting (as thrum_sched_start; -EDEADLK from a task or a bound thread).
 */
THRUM_API int thrum_run(const thrum_config *config, thrum_fn entry, void *arg);

/*
 * Starts a scheduler and its worker threads. `*out` is the caller's until thrum_sched_stop.
 * Any thread; does not suspend. Errors, with nothing left behind: -EINVAL (a field out of its
 * range, a `size` that is not known: thrum_config_check names it), -ENOMEM, -EAGAIN (not one worker
 * thread could be started; when only some could, it starts with those), and with an affinity what
 * the system refuses: -EINVAL (none of those CPUs is the program's), -EPERM.
 */
THRUM_API THRUM_NODISCARD int thrum_sched_start(thrum_sched **out, const thrum_config *config);

/*
 * Waits for everything that was posted or spawned, and for what that spawns, wherever it runs; then
 * ends the threads and frees the scheduler. While it waits, posts by outside threads get
 * -ESHUTDOWN. After it has returned 0 the handle must not be used any more: so let those threads
 * stop at -ESHUTDOWN, or join them first. A call that names it all the same (post, spawn, bind,
 * stop, a wait for idleness, metrics, dump, trace) gets -ESHUTDOWN too, without a look at its
 * memory, unless another scheduler has been started at the same address, or the stop returns in the
 * middle of a wait for idleness, metrics, dump or trace; thrum_sched_workers reads freed memory.
 *
 * It waits as long as a fiber is blocked, and until every thread but the caller has unbound; the
 * caller is unbound by it. Without workers the caller runs what is left.
 *
 * Plain threads, bound ones, and tasks of other schedulers; blocks the caller (and, at the end, a
 * task's worker: threads are joined). Errors, with the scheduler still running: -EDEADLK from one
 * of its own tasks, or from a function under thrum_blocking for one, -EBUSY when another thread is
 * stopping it already, from a task -EAGAIN and -ENOMEM as thrum_sched_wait_done. In the child of a
 * fork: -ESHUTDOWN, as from thrum_sched_wait_idle and _done, for schedulers of the parent.
 */
THRUM_API THRUM_NODISCARD int thrum_sched_stop(thrum_sched *sched);

/*
 * The same until the deadline. Past it the rest is cancelled: tasks that wait run once more with
 * their cancelled flag set, at once also those that later get a deadline; fibers' waits (sem,
 * event, cond, waitgroup, join, sleep, with a deadline or without) return -ECANCELED, and so does
 * each that would begin to wait later; so do the waits of bound threads, until they unbind. Locking
 * a mutex is not cancelled, nor a blocking call that has begun, nor what is behind a shield. Then
 * -ETIMEDOUT; the scheduler goes on draining, refuses posts from outside, and is the caller's until
 * a stop returns 0. Without workers it returns no later than the body that is running then gives
 * the thread up; bodies that have not begun, and those that wait, go on in the next stop, on its
 * thread.
 */
THRUM_API THRUM_NODISCARD int thrum_sched_stop_until(thrum_sched *sched, thrum_time deadline);

/*
 * Waits for an instant at which nothing was runnable and nothing ran (blocked fibers do not count).
 * Plain threads, bound ones, and tasks of other schedulers; blocks the caller (a thread of its own
 * waits in the place of a task: -EAGAIN or -ENOMEM when there is none to be had). -ETIMEDOUT past
 * the deadline; -EDEADLK from one of its own tasks. What the tasks wrote before that instant is
 * visible afterwards. A task that another thread is just waking or signalling may count as waiting
 * still, also to the one that woke it.
 */
THRUM_API THRUM_NODISCARD int thrum_sched_wait_idle(thrum_sched *sched, thrum_time deadline);

/*
 * As thrum_sched_wait_idle, for an instant at which no task is posted and no fiber is alive.
 * -EDEADLK also from a function under thrum_blocking for one of its tasks, which is not done;
 * thrum_sched_wait_idle may be called there.
 */
THRUM_API THRUM_NODISCARD int thrum_sched_wait_done(thrum_sched *sched, thrum_time deadline);

/*
 * Binds the calling thread to the scheduler, until thrum_sched_unbind: there it is as good as a
 * task. It may start tasks without naming the scheduler, and when it waits for anything (a
 * primitive, a join, thrum_sleep, thrum_yield, thrum_sched_wait_idle) what is tied to it runs on
 * it meanwhile: tasks that it started with THRUM_PINNED, and without workers (config) all that it
 * posted to run at once, or woke, in that order. Without workers, whatever is posted from threads
 * that are not bound, and every task whose deadline passes, runs on a bound thread that waits: as
 * long as one sleeps in its wait nothing of it is left lying, whatever the others do. With workers
 * it runs none of their tasks, unless the config says that it helps. Its identity as the owner of
 * locks, and its values under keys, stay what they were.
 * Plain threads; never suspends. -EBUSY when it is bound already, -EDEADLK from a task, -EAGAIN
 * when 65,536 are bound, -ENOMEM, -ESHUTDOWN while it stops.
 */
THRUM_API THRUM_NODISCARD int thrum_sched_bind(thrum_sched *sched);

/*
 * Runs what is tied to the calling thread until nothing is left, waiting for what is blocked; then
 * the thread is a plain one again. Without workers every task is tied to the thread that it began
 * on, whoever posted it: a fiber that waits for something that nobody does keeps the thread here
 * until a stop cancels it (thrum_sched_stop_until by another thread, past its deadline). A thread
 * must not end bound: that aborts. Bound threads; blocks the thread. -ESRCH when it is not bound,
 * -EDEADLK from a task.
 */
THRUM_API int thrum_sched_unbind(void);

/* The scheduler whose task is calling, or to which the thread is bound, else NULL. Any thread;
 * never suspends. */
THRUM_API thrum_sched *thrum_sched_current(void);

/* The number of its worker threads. Any thread; never suspends. */
THRUM_API unsigned thrum_sched_workers(const thrum_sched *sched);

/*
 * The number of the worker that runs the caller, from 0, or -1 off a worker. It may be another one
 * after any call that may suspend, unless the task is pinned. Any thread; never suspends.
 */
THRUM_API int thrum_worker_id(void);

THRUM_END_DECLS

#endif
