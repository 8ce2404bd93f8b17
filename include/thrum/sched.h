/*
 * thrum/sched.h: starting, stopping and waiting for a scheduler.
 */
#ifndef THRUM_SCHED_H
#define THRUM_SCHED_H

#include "thrum/base.h"
#include "thrum/config.h"

THRUM_BEGIN_DECLS

/*
 * In the child of a fork, schedulers of the parent have no workers, and nothing of theirs runs.
 * They refuse everything with -ESHUTDOWN, also joins of their tasks. If a task, a bound thread or a
 * function under thrum_blocking has forked, its calls that would wait fail with -ESHUTDOWN at once,
 * until the child has started a scheduler of its own; those that return nothing stop the process;
 * and the end of the task's body ends the process by _exit. docs/fork.md has the whole.
 */

/*
 * Starts a scheduler, runs `entry(arg)` as its first fiber, waits for all that was started there,
 * and stops. External threads may post until the entry has returned. They may also stop the
 * scheduler meanwhile (one that waits for SIGTERM, say), and from then on none may post. Such a
 * stop returns as any other, but leaves the scheduler to this call, which returns once that stop
 * has returned and nothing is left to run. `config` may be NULL for the defaults and the
 * environment; it is not kept.
 *
 * Only plain threads may call it; it blocks the thread. It returns the entry's value, or the
 * negative code of what kept the entry from starting: -EINVAL without an entry, -EDEADLK from a
 * task or a bound thread, -ENOMEM, and the codes of thrum_sched_start.
 */
THRUM_API int thrum_run(const thrum_config *config, thrum_fn entry, void *arg);

/*
 * Starts a scheduler and its worker threads. `*out` is the caller's until thrum_sched_stop has
 * returned 0. `config` may be NULL for the defaults and the environment; it is not kept. Any thread
 * may call it. It never suspends.
 *
 * Errors, with nothing left behind: -EINVAL when `out` is NULL, a field is out of its range or its
 * `size` is not known (thrum_config_check names the field); -ENOMEM; -EAGAIN when not one worker
 * thread could be started (when only some could, it starts with those); with an affinity what the
 * system refuses: -EINVAL when none of those CPUs is the program's, and -EPERM; and with a
 * dump_signal -EBUSY, and the codes of its thread (config.h).
 */
THRUM_API THRUM_NODISCARD int thrum_sched_start(thrum_sched **out, const thrum_config *config);

/*
 * Waits for everything that was posted or spawned, and for what that spawns, wherever it runs; then
 * ends the threads and frees the scheduler. While it waits, posts by external threads get
 * -ESHUTDOWN. It waits as long as a fiber is blocked, and until every thread but the caller has
 * unbound; the caller is unbound by it. Without workers the caller runs what is left.
 *
 * After it has returned 0 the handle must not be used any more. So let external threads end when
 * they get -ESHUTDOWN, or join them first. A call that names the handle all the same (post, spawn,
 * bind, stop, a wait for idleness, metrics, dump, trace) gets -ESHUTDOWN too and does not read the
 * scheduler's memory, unless another scheduler has been started at the same address, or the stop
 * returns in the middle of a wait for idleness, metrics, dump or trace. thrum_sched_workers and
 * thrum_sched_parallelism read freed memory.
 *
 * Plain threads, bound ones, and tasks of other schedulers may call it. It blocks a thread. It
 * suspends a task, and at the end blocks its worker, since threads are joined. A cancel does not
 * end it. Errors, with the scheduler still running: -EINVAL for NULL; -EDEADLK from one of its own
 * tasks, or from a function under thrum_blocking for one; -EBUSY when another thread is stopping it
 * already; from a task -EAGAIN and -ENOMEM as thrum_sched_wait_done; and in the child of a fork
 * -ESHUTDOWN for schedulers of the parent.
 */
THRUM_API THRUM_NODISCARD int thrum_sched_stop(thrum_sched *sched);

/*
 * Does the same until the deadline, and cancels the rest past it. Tasks (thrum_task) that wait run
 * once more, with their cancelled flag set, and so do at once those that later get a deadline.
 * Waits of fibers return -ECANCELED, with a deadline of their own or without, and so does each that
 * would begin later; so do the waits of bound threads, until they unbind. Not cancelled are locking
 * a mutex or a rwlock, waiting for a once, joining a scope or a fork, running a graph, a blocking
 * call that has begun, a wait for another scheduler, and what is behind a shield.
 *
 * Then it returns -ETIMEDOUT; the scheduler goes on draining, refuses posts by external threads,
 * and is the caller's until a stop returns 0. Without workers it returns no later than the body
 * that is running then gives the thread up; bodies that have not begun, and those that wait, go on
 * in the next stop, on its thread. Its callers and its other errors are those of thrum_sched_stop.
 */
THRUM_API THRUM_NODISCARD int thrum_sched_stop_until(thrum_sched *sched, thrum_time deadline);

/*
 * Waits for an instant at which nothing was runnable and nothing ran; blocked fibers do not count.
 * What the tasks wrote before that instant is visible afterwards. A task that another thread is
 * just waking or signalling may still count as waiting, also to the thread that woke it.
 *
 * Plain threads, bound ones, and tasks of other schedulers may call it. It blocks a plain thread.
 * It suspends a task, in whose place a thread made for that waits, and a cancel does not end it.
 * Errors: -ETIMEDOUT past the deadline; -EDEADLK from one of its own tasks; from a task -EAGAIN or
 * -ENOMEM when there is no thread to be had; -EINVAL for NULL; -ESHUTDOWN when the scheduler has
 * been stopped or is that of a fork's parent.
 */
THRUM_API THRUM_NODISCARD int thrum_sched_wait_idle(thrum_sched *sched, thrum_time deadline);

/*
 * Does the same for an instant at which no task is posted and no fiber is alive. It returns
 * -EDEADLK also from a function under thrum_blocking for one of the scheduler's tasks, which is not
 * done; thrum_sched_wait_idle may be called there.
 */
THRUM_API THRUM_NODISCARD int thrum_sched_wait_done(thrum_sched *sched, thrum_time deadline);

/*
 * Binds the calling thread to the scheduler, until thrum_sched_unbind: there it is as good as a
 * task. It may start tasks without naming the scheduler, and when it waits for anything (a
 * primitive, a join, thrum_sleep, thrum_yield, thrum_sched_wait_idle) what is tied to it runs on
 * it meanwhile: tasks that it started with THRUM_PINNED, and without workers (config) all that it
 * posted to run at once, or woke, in that order. Without workers, whatever is posted by threads
 * that are not bound, and every task whose deadline passes, runs on a bound thread that waits: as
 * long as one sleeps in its wait none of that is left lying, whatever the others do. With workers
 * it runs none of their tasks, unless the config says that it helps. Its identity as the owner of
 * locks, and its values under keys, stay what they were.
 *
 * Only plain threads may call it. It never suspends. Errors, with the thread not bound: -EBUSY when
 * it is bound already, -EDEADLK from a task, -EAGAIN when 65,536 threads are bound, -ENOMEM,
 * -EINVAL for NULL, and -ESHUTDOWN while the scheduler stops.
 */
THRUM_API THRUM_NODISCARD int thrum_sched_bind(thrum_sched *sched);

/*
 * Runs what is tied to the calling thread until nothing is left, waiting for what is blocked; then
 * the thread is a plain one again. Without workers every task is tied to the thread that it began
 * on, whichever thread posted it: a fiber whose wait nothing ends keeps the thread here until a
 * stop cancels it (thrum_sched_stop_until by another thread, past its deadline). A thread must not
 * end bound, nor unbind with a scope open: both abort.
 *
 * Only bound threads may call it; it blocks the thread. Errors: -ESRCH when the thread is not
 * bound, -EDEADLK from a task.
 */
THRUM_API int thrum_sched_unbind(void);

/*
 * Returns the scheduler whose task is calling, or to which the thread is bound, else NULL. Any
 * thread may call it. It never suspends and cannot fail.
 */
THRUM_API thrum_sched *thrum_sched_current(void);

/*
 * Returns the bound of the numbers that thrum_worker_id tells for the scheduler's workers: spare
 * workers, which take over for those that one task holds up, are among them. An array with so many
 * places has one for each. Any thread may call it while the scheduler lives. It never suspends and
 * cannot fail.
 */
THRUM_API unsigned thrum_sched_workers(const thrum_sched *sched);

/*
 * Returns how many workers take part as a rule: as many as `workers` of the config asked for, or as
 * the system had threads for, without the spares. Work is divided by this number, and a task can be
 * tied to the workers below it; the numbers from here on are the spares'. Any thread may call it
 * while the scheduler lives. It never suspends and cannot fail.
 */
THRUM_API unsigned thrum_sched_parallelism(const thrum_sched *sched);

/*
 * Returns the number of the worker that runs the caller, from 0, or -1 off a worker: also in a task
 * that runs on a bound thread. It may be another one after any call that may suspend, unless the
 * task is pinned. Any thread may call it. It never suspends.
 */
THRUM_API int thrum_worker_id(void);

THRUM_END_DECLS

#endif
