/*
 * bound.h: the user's threads that take part in a scheduler (thrum_sched_bind).
 *
 * A bound thread has a worker of its own, which is none of the scheduler's: its number is beyond
 * theirs, no worker steals from it, and it is not in the park word. The thread itself runs the
 * worker's *root* fiber, on the thread's own stack; when that waits, the worker's loop goes on with
 * work that is tied to it. core/bound/BOUND.md has the argument.
 */
#ifndef TH_BOUND_H
#define TH_BOUND_H

#include "core/state/worker.h"

/* The next work of a bound thread, after sleeping if need be; never NULL. */
th_work *th_bound_find(th_worker *worker);

/*
 * Fires its own deadlines that are due; without workers, also the shared ones. Returns its root if
 * the awaited flag is set (th_bound_await), else NULL.
 */
th_work *th_bound_look(th_worker *worker);

/*
 * By the root: fires what is due, and looks at the descriptors that all bound threads share. With
 * workers these look.
 */
void th_bound_catch_up(th_worker *worker);

/*
 * The root runs all work that can run now, without sleeping: afterwards it counts as asleep, until
 * the time that is returned (embedded.c).
 */
int64_t th_bound_pass(th_worker *worker);

/*
 * In the worker's context: it no longer counts as asleep since it passed; the cause of its wake is
 * handled.
 */
void th_bound_come_back(th_worker *worker);

/*
 * The root waits, and work tied to the thread runs, until the flag is set (and th_wake_worker
 * called): 0, or -ETIMEDOUT.
 */
int th_bound_await(th_worker *worker, uint32_t *xflag, int64_t deadline);

/* By the root: runs the work tied to the thread, then ends the binding; the worker is gone. */
void th_bound_leave(th_worker *worker);

/*
 * For stop, past its deadline, on the root of a thread that it has bound itself: ends the binding,
 * and leaves work tied to the thread, begun or not, to the next th_bound_enter.
 */
void th_bound_leave_unfinished(th_worker *worker);

/*
 * For stop, on a plain thread or one that is bound to the scheduler: waits until no thread is bound
 * but the caller; -ETIMEDOUT. From the call on no other thread is bound (th_bound_refuse).
 */
int th_bound_wait_left(thrum_sched *sched, int64_t deadline);
void th_bound_refuse(thrum_sched *sched, bool refuse);
/* Waits until the last thread that left has given up the lock. */
void th_bound_close(thrum_sched *sched);
void th_bound_free(thrum_sched *sched); /* frees the records that are left */

/* The caller's worker, if it is a bound thread and its root is running, not a task. */
th_worker *th_bound_root(void);

/* For stop: binds while the scheduler is stopping, and takes on work left by an earlier stop. */
int th_bound_enter(thrum_sched *sched);
/* For stop: whether an earlier stop has left something. Only a stop changes it. */
bool th_bound_has_unfinished(thrum_sched *sched);

extern const th_policy th_policy_bound;

#endif
