/*
 * thrum/sched.h: schedulers. A scheduler has worker threads that run its tasks. thrum_run starts
 * one, runs a function on it and stops it; the other calls do these steps one by one. A thread of
 * the program can also be bound to a scheduler, and then takes part like a task.
 *
 * In the child of a fork, schedulers of the parent have no workers, and nothing of theirs runs.
 * They refuse everything with -ESHUTDOWN, also joins of their tasks. If a task, a bound thread or a
 * function under thrum_blocking has forked, its calls that would wait fail with -ESHUTDOWN at once,
 * until the child has started a scheduler of its own. Waits in calls that return nothing stop the
 * process, and the end of the task's body ends the process by _exit (docs/fork.md).
 */
#ifndef THRUM_SCHED_H
#define THRUM_SCHED_H

#include "thrum/base.h"
#include "thrum/config.h"

THRUM_BEGIN_DECLS

/*
 * Starts a scheduler, runs `entry(arg)` as its first task, waits for everything that was started
 * there, and stops the scheduler.
 *
 * External threads may post until the entry has returned. They may also stop the scheduler
 * meanwhile (one that waits for SIGTERM, for example), and from then on none may post. Such a stop
 * returns like any other, but leaves the scheduler to this call. This call returns once that stop
 * has returned and nothing is left to run.
 *
 * Parameters:
 *   config  the configuration, which is not kept; NULL for the defaults and the environment
 *   entry   the first task's function
 *   arg     its argument
 * Returns: the value that the entry returned, or the negative code of the error that kept the entry
 *   from starting.
 * Errors:
 *   -EINVAL   entry is NULL, a field of the config is out of its range (thrum_config_check names
 *             it), or an affinity names no CPU that the process may use
 *   -EDEADLK  the caller is a task or a bound thread
 *   -ENOMEM   there is no memory for the scheduler, its trace or the entry
 *   -EAGAIN   the system refused the first worker's thread, or the thread for dumps
 *   -EPERM    the system refused the affinity
 *   -EBUSY    the program has put handlers for dump_signal before the library's three times
 * Context: a plain thread; may suspend; not cancellable. It blocks the thread.
 * Ordering: the writes before this call are visible to the entry, and the writes of all tasks are
 *   visible after it.
 * Example: examples/hello.c
 * See also: thrum_sched_start, thrum_config_init
 */
THRUM_API int thrum_run(const thrum_config *config, thrum_fn entry, void *arg);

/*
 * Starts a scheduler and its worker threads. If the system refuses some of the threads, it starts
 * with the others.
 *
 * Parameters:
 *   out     gets the scheduler, which is the caller's until thrum_sched_stop has returned 0
 *   config  the configuration, which is not kept; NULL for the defaults and the environment
 * Returns: 0, or a negative error code; nothing is left behind then.
 * Errors:
 *   -EINVAL  out is NULL, a field of the config is out of its range or its size is not known
 *            (thrum_config_check names the field), or an affinity names no CPU that the process may
 *            use
 *   -ENOMEM  there is no memory for the scheduler, its trace or the thread for dumps
 *   -EAGAIN  the system refused the first worker's thread, or the thread for dumps
 *   -EPERM   the system refused the affinity
 *   -EBUSY   the program has put handlers for dump_signal before the library's three times
 * Context: any thread; never suspends.
 * Ordering: the writes before this call are visible to the hooks of the config and to all tasks.
 * Example: examples/plain_threads.c
 * See also: thrum_sched_stop, thrum_config_init, thrum_run
 */
THRUM_API THRUM_NODISCARD int thrum_sched_start(thrum_sched **out, const thrum_config *config);

/*
 * Waits for all tasks that were posted or spawned, and for all that these spawn, on any thread.
 * Then it ends the threads and frees the scheduler. Meanwhile posts by external threads return
 * -ESHUTDOWN. The call waits as long as a task is blocked, and until every thread but the caller
 * has unbound; it unbinds the caller. Without workers the caller runs the remaining tasks. If only
 * tasks are left that wait without a deadline (thrum_task_post_wait), they are cancelled.
 *
 * thrum_sched_stop_until cancels the rest at the deadline. Tasks (thrum_task) that wait run once
 * more, with thrum_task_is_cancelled true, and so, at once, does each task that gets a deadline
 * later. Every wait of spawned tasks, present or later, returns -ECANCELED, and so do the waits of
 * bound threads until they unbind. A cancel does not end locking a mutex or a rwlock, waiting for a
 * once, joining a scope or a fork, or running a graph. Nor does it end a blocking call that has
 * begun, a wait for another scheduler, or waits behind a shield. The call then returns -ETIMEDOUT.
 * The scheduler goes on draining, refuses posts by external threads, and is the caller's until a
 * stop returns 0. Without workers the call returns, at the latest, when the body that is running
 * gives the thread up. Bodies that have not begun, and bodies that wait, go on in the next stop, on
 * its thread.
 *
 * After a call that returned 0 the handle must not be used, so let external threads end when they
 * get -ESHUTDOWN, or join them first. A call that names the handle all the same (post, spawn, bind,
 * stop, a wait for idleness, metrics, dump, trace) returns -ESHUTDOWN and does not read the memory.
 * This does not hold if another scheduler was started at the same address, or if the stop returns
 * in the middle of a wait for idleness, metrics, dump or trace. thrum_sched_workers and
 * thrum_sched_parallelism read freed memory.
 *
 * Parameters:
 *   sched     the scheduler
 *   deadline  thrum_sched_stop_until only: when to cancel the rest
 * Returns: 0 when the scheduler is freed (by thrum_run, if that started it), else a negative error
 *   code; the scheduler is then still there.
 * Errors:
 *   -ETIMEDOUT  the deadline passed, and the rest was cancelled
 *   -EINVAL     sched is NULL
 *   -EDEADLK    the caller is a task of the scheduler, a function under thrum_blocking for such a
 *               task, or its `stall` hook
 *   -EBUSY      another thread is stopping it, or has stopped the scheduler of a thrum_run
 *   -EAGAIN     the caller is a task, and the system refused the thread that waits for it
 *   -ENOMEM     there is no memory for that thread, or, without workers, to bind the caller
 *   -ESHUTDOWN  the scheduler has been stopped, or is that of a fork's parent
 * Context: a plain thread, a bound thread, or a task of another scheduler; may suspend; not
 *   cancellable. At its end a task blocks its worker, because threads are joined.
 * Ordering: the writes of all tasks are visible after a call that returned 0.
 * See also: thrum_sched_wait_done, thrum_sched_start
 */
THRUM_API THRUM_NODISCARD int thrum_sched_stop(thrum_sched *sched);
THRUM_API THRUM_NODISCARD int thrum_sched_stop_until(thrum_sched *sched, thrum_time deadline);

/*
 * thrum_sched_wait_idle waits for an instant at which nothing was runnable and nothing ran; blocked
 * tasks do not count. thrum_sched_wait_done waits for an instant at which no task was posted and
 * none was alive. The calls wait until the deadline.
 *
 * A task that another thread is waking or signaling at that moment may still count as waiting, also
 * to the thread that woke it. If the caller is a task, a thread that is made for the call waits in
 * its place.
 *
 * On a bound thread, the call first makes its tied tasks runnable whose deadline has passed.
 * Without workers it does so for all tasks, and also looks at the descriptors that tasks wait for.
 *
 * Parameters:
 *   sched     the scheduler
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 0, or a negative error code.
 * Errors:
 *   -ETIMEDOUT  the deadline passed
 *   -EDEADLK    the caller is a task of the scheduler; for thrum_sched_wait_done also a function
 *               under thrum_blocking for such a task, which is not done
 *   -EAGAIN     the caller is a task, and the system refused the thread that waits for it
 *   -ENOMEM     the caller is a task, and there is no memory for that thread
 *   -EINVAL     sched is NULL
 *   -ESHUTDOWN  the scheduler has been stopped, or is that of a fork's parent
 * Context: a plain thread, a bound thread, or a task of another scheduler; may suspend; not
 *   cancellable.
 * Ordering: the writes of the tasks before that instant are visible after a call that returned 0.
 * Example: examples/metrics.c
 * See also: thrum_sched_stop
 */
THRUM_API THRUM_NODISCARD int thrum_sched_wait_idle(thrum_sched *sched, thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_sched_wait_done(thrum_sched *sched, thrum_time deadline);

/*
 * Binds the calling thread to the scheduler, until thrum_sched_unbind. The thread then counts as a
 * task: it starts tasks without naming the scheduler, and when it waits, it runs its tied tasks
 * meanwhile. It waits in calls on primitives, in joins, in thrum_sleep, thrum_yield and
 * thrum_sched_wait_idle.
 *
 * Tied to the thread are the tasks that it started with THRUM_PINNED. Without workers (the config's
 * `workers` is 0) all that it posted to run at once, or woke, is tied to it, in that order. Tasks
 * that other threads post, and tasks whose deadline passes, then run on any bound thread that
 * waits. As long as one sleeps in its wait, none of them is left unrun.
 *
 * With workers the thread runs none of their tasks, unless the config's `help_when_bound` is set.
 * Its identity as the owner of locks and its values under keys remain the same.
 *
 * Parameters:
 *   sched  the scheduler
 * Returns: 0, or a negative error code; the thread is not bound then.
 * Errors:
 *   -EBUSY      the thread is bound already
 *   -EDEADLK    the caller is a task
 *   -EAGAIN     65,536 threads are bound
 *   -ENOMEM     there is no memory for it
 *   -EINVAL     sched is NULL
 *   -ESHUTDOWN  the scheduler stops or has been stopped, or is that of a fork's parent
 * Context: a plain thread; never suspends.
 * Ordering: none.
 * Misuse: the thread ends before thrum_sched_unbind.
 * Example: examples/in_epoll.c
 * See also: thrum_sched_unbind, thrum_sched_step
 */
THRUM_API THRUM_NODISCARD int thrum_sched_bind(thrum_sched *sched);

/*
 * Runs the tasks that are tied to the calling thread until none is left, and waits for blocked
 * ones. Then the thread is a plain one again.
 *
 * Without workers every task is tied to the thread that it began on, whichever thread posted it. If
 * nothing ends the wait of such a task, this call does not return until a stop cancels the task
 * (thrum_sched_stop_until by another thread, past its deadline).
 *
 * Returns: 0, or a negative error code.
 * Errors:
 *   -ESRCH      the thread is not bound
 *   -EDEADLK    the caller is a task
 *   -ESHUTDOWN  in the child of a fork, the thread was bound, or ran a task, in the parent
 * Context: a bound thread; may suspend; not cancellable. It blocks the thread.
 * Ordering: the writes of the tasks that were tied to the thread are visible after a call that
 *   returned 0.
 * Misuse: a scope that the thread has opened is not joined.
 * Example:
 *    int err = thrum_sched_bind(sched);
 *    if (err == 0) {
 *        err = thrum_go(run, NULL); // as in a task: the scheduler is known
 *        (void)thrum_sched_unbind();
 *    }
 * See also: thrum_sched_bind
 */
THRUM_API int thrum_sched_unbind(void);

/*
 * Makes a step of a main loop: runs tasks on the calling thread, which is bound. It returns at the
 * deadline or when nothing is left to run, whichever is first. It never sleeps.
 *
 * First it makes tasks runnable whose deadline has passed and, without workers, also looks at the
 * descriptors that tasks wait for. Then it runs the tasks that are tied to the thread
 * (thrum_sched_bind), in their order. Tasks that become runnable meanwhile run in the same step.
 * Without workers it also runs the posts of other threads. Tasks that wait, and tasks of workers,
 * do not count as left.
 *
 * The deadline is checked between two runs, so a long run delays the return. A step whose deadline
 * has passed already still runs something if anything is runnable, so a loop that is always late
 * makes progress. A task that yields again and again keeps the step until the deadline.
 *
 * Parameters:
 *   deadline  when to return, an instant from thrum_after, or THRUM_FOREVER
 * Returns: 0 if nothing was left to run, else a negative error code.
 * Errors:
 *   -ETIMEDOUT  the deadline passed, and there is more to run
 *   -ESRCH      the thread is not bound
 *   -EDEADLK    the caller is a task
 *   -ESHUTDOWN  in the child of a fork, the thread was bound, or ran a task, in the parent
 * Context: a bound thread; may suspend; not cancellable.
 * Ordering: the writes of the tasks that ran are visible after it.
 * Example: examples/frames.c
 * See also: thrum_sched_bind, thrum_sched_wait_idle, thrum_poll_run
 */
THRUM_API int thrum_sched_step(thrum_time deadline);

/*
 * Returns the caller's scheduler.
 *
 * Returns: the scheduler whose task is calling, or to which the calling thread is bound; NULL on a
 *   plain thread.
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example: examples/mailbox.c
 */
THRUM_API thrum_sched *thrum_sched_current(void);

/*
 * Returns the pointer that the program has set as `data` in the config.
 *
 * Parameters:
 *   sched  the scheduler, which lives until the call has returned, or NULL
 * Returns: the pointer; NULL if the program has set none, or sched is NULL.
 * Context: any thread; never suspends.
 * Ordering: the writes before the start of the scheduler are visible in its tasks.
 * Example:
 *    server *me = thrum_sched_data(thrum_sched_current());
 * See also: thrum_sched_current, thrum_key_get
 */
THRUM_API void *thrum_sched_data(const thrum_sched *sched);

/*
 * Returns the number of workers, with the spares, which take over for workers that one task holds
 * up. Every number from thrum_worker_id is below it, so an array of this length has an element for
 * each worker.
 *
 * Parameters:
 *   sched  the scheduler, which lives until the call has returned
 * Returns: the number of workers and spares.
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example: examples/proxy.c
 * See also: thrum_sched_parallelism, thrum_worker_id
 */
THRUM_API unsigned thrum_sched_workers(const thrum_sched *sched);

/*
 * Returns the number of workers that take part as a rule, without the spares. It is the config's
 * `workers`, or as many as the system had threads for.
 *
 * Work is divided by this number, and a task can be tied to a worker whose number is below it. The
 * numbers from here on are the spares'.
 *
 * Parameters:
 *   sched  the scheduler, which lives until the call has returned
 * Returns: the number of workers without the spares.
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example: examples/pinned.c
 * See also: thrum_sched_workers
 */
THRUM_API unsigned thrum_sched_parallelism(const thrum_sched *sched);

/*
 * Returns the number of the worker that runs the caller. After any call that may suspend it may be
 * another number, unless the task is pinned.
 *
 * Returns: the number, from 0; -1 if no worker runs the caller, also in a task on a bound thread.
 * Errors: none.
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example: examples/pinned.c
 * See also: thrum_sched_workers
 */
THRUM_API int thrum_worker_id(void);

THRUM_END_DECLS

#endif
