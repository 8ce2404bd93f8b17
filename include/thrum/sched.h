/*
 * thrum/sched.h: starting, stopping and waiting for a scheduler.
 */
#ifndef THRUM_SCHED_H
#define THRUM_SCHED_H

#include "thrum/base.h"
#include "thrum/config.h"

THRUM_BEGIN_DECLS

/*
 * Starts a scheduler, runs `entry(arg)` as its first fiber, waits for all that it started and
 * stops. Outside threads may post until the entry has returned. `config` may be NULL (defaults and
 * environment); it is not kept. Plain threads only; blocks the thread. Returns entry's value, or
 * the negative code of what kept it from starting (as thrum_sched_start; -EDEADLK from a task or a
 * bound thread).
 */
THRUM_API int thrum_run(const thrum_config *config, thrum_fn entry, void *arg);

/*
 * Starts a scheduler and its worker threads. `*out` is the caller's until thrum_sched_stop.
 * Any thread; does not suspend. Errors, with nothing left behind: -EINVAL (a field out of its
 * range, a `size` that is not known), -ENOMEM, -EAGAIN (not one worker thread could be started;
 * when only some could, it starts with those), -ENOTSUP (named in the config's comments), and with
 * an affinity what the system refuses: -EINVAL (none of those CPUs is the program's), -EPERM.
 */
THRUM_API THRUM_NODISCARD int thrum_sched_start(thrum_sched **out, const thrum_config *config);

/*
 * Waits for everything that was posted or spawned, and for what that spawns, wherever it runs; then
 * ends the threads and frees the scheduler. From then on posts by outside threads get -ESHUTDOWN,
 * so none may start after this has returned 0. It waits as long as a fiber is blocked.
 * It also waits until every thread but the caller has unbound; the caller is unbound by it. Without
 * workers the caller runs what is left.
 * Plain threads, bound ones, and tasks of other schedulers; blocks the caller (and, at the end, a
 * task's worker: threads are joined). Errors, with the scheduler still running: -EDEADLK from one
 * of its own tasks, -EBUSY when another thread is stopping it already, from a task -EAGAIN and
 * -ENOMEM as thrum_sched_wait_done. In the child of a fork: -ESHUTDOWN, as from
 * thrum_sched_wait_idle and _done, for schedulers of the parent.
 */
THRUM_API THRUM_NODISCARD int thrum_sched_stop(thrum_sched *sched);

/*
 * The same until the deadline. Past it the rest is cancelled: tasks that wait run once more with
 * their cancelled flag set; fibers' waits (sem, event, cond, waitgroup, join, sleep, with a
 * deadline or without) return -ECANCELED, and so does each that would begin to wait later. Locking
 * a mutex is not cancelled, nor a blocking call that has begun, nor what is behind a shield. Then
 * -ETIMEDOUT; the scheduler goes on draining, refuses posts from outside, and is the caller's until
 * a stop returns 0.
 */
THRUM_API THRUM_NODISCARD int thrum_sched_stop_until(thrum_sched *sched, thrum_time deadline);

/*
 * Waits for an instant at which nothing was runnable and nothing ran (blocked fibers do not count).
 * Plain threads, bound ones, and tasks of other schedulers; blocks the caller (a thread of its own
 * waits in the place of a task: -EAGAIN or -ENOMEM when there is none to be had). -ETIMEDOUT past
 * the deadline; -EDEADLK from one of its own tasks. What the tasks wrote before that instant is
 * visible afterwards. A task that another thread is just waking or signalling may count as waiting
 * still, also for who woke it as well.
 */
THRUM_API THRUM_NODISCARD int thrum_sched_wait_idle(thrum_sched *sched, thrum_time deadline);

/* As thrum_sched_wait_idle, for an instant at which no task is posted and no fiber is alive. */
THRUM_API THRUM_NODISCARD int thrum_sched_wait_done(thrum_sched *sched, thrum_time deadline);

/*
 * Binds the calling thread to the scheduler, until thrum_sched_unbind: there it is as good as a
 * task. It may start tasks without naming the scheduler, and when it waits for anything (a
 * primitive, a join, thrum_sleep, thrum_yield, thrum_sched_wait_idle) what is tied to it runs on
 * it meanwhile: tasks that it started with THRUM_PINNED, and without workers (config) all that it
 * posted, in that order, and whatever was posted from threads that are not bound. With workers it
 * runs none of their tasks, unless the config says that it helps. Its identity as the owner of
 * locks, and its values under keys, stay what they were.
 * Plain threads; never suspends. -EBUSY when it is bound already, -EDEADLK from a task, -EAGAIN
 * when 65,536 are bound, -ENOMEM, -ESHUTDOWN while it stops.
 */
THRUM_API THRUM_NODISCARD int thrum_sched_bind(thrum_sched *sched);

/*
 * Runs what is tied to the calling thread until nothing is left, waiting for what is blocked; then
 * the thread is a plain one again. A thread must not end bound: that aborts. Bound threads; blocks
 * the thread. -EINVAL when it is not bound, -EDEADLK from a task.
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
