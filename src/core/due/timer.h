/*
 * timer.h: deadlines of tasks and of waits: one mechanism for all (core/due/TIME.md).
 *
 * Each worker has *timers*: a wheel behind a lock of its own. A task or a wait with a deadline goes
 * into the timers of the caller's worker; those of an external thread into the timers of some
 * worker. The owner fires them when it picks and before it parks; others do when it does not come
 * round. On a policy with one order for all, all workers share the timers of worker 0.
 */
#ifndef TH_TIMER_H
#define TH_TIMER_H

#include <stdalign.h>

#include "base/atomic.h"
#include "core/basis/lock.h"
#include "core/state/worker.h"
#include "queue/wheel.h"
#include "queue/work.h"

typedef struct th_waiter th_waiter;

void th_timers_init(th_timers *timers, thrum_sched *sched, th_worker *owner);

/* The timers for a caller on the worker `here`; NULL: the caller is on none of the scheduler. */
th_timers *th_timers_of(thrum_sched *sched, th_worker *here);

/* With the lock: inserts an entry. True: the owner may have to be notified (th_timers_tell). */
bool th_timers_insert(th_timers *timers, th_timed *timed, int64_t deadline);
/* After the lock was released: wakes the owner if it sleeps too long. Any thread and context. */
void th_timers_tell(th_timers *timers);

/* With the lock: removes an entry. */
void th_timers_take_out(th_timers *timers, th_timed *timed);

/*
 * Removes an entry if it is still there; afterwards no thread that fires timers touches it. Called
 * on any thread, by the caller that has decided that the wait ends otherwise than by the deadline.
 */
void th_timed_remove(th_timed *timed);

/*
 * Queues the due entries of these timers at the worker; true if there were any. With `next` it has
 * nothing else to do, and goes on with the first (worker->handoff).
 */
bool th_timers_fire(th_worker *by, th_timers *timers, int64_t now, bool next);

/* The same by an external thread, if the policy has one order for all (submit_due). */
void th_timers_fire_external(th_timers *timers, int64_t now);

/* The slow half of th_timers_poll. */
void th_timers_poll_slow(th_worker *worker, bool next);

/* Fires overdue entries of all workers, in case their owners do not come round. */
bool th_timers_help(th_worker *worker, bool next);

/* The first deadline of the worker, or of all workers for the sentinel: it sleeps until then. */
int64_t th_timers_sleep_until(const th_worker *worker, bool sentinel);

/* A worker looks at its timers about every so long, and after so many picks at the latest. */
#define TH_TIMER_LOOK_NS 20000
#define TH_TIMER_SKIPS_MAX 64u

/*
 * Before a pick: fires due entries, and looks at the worker's descriptors. Costs three loads when
 * there are none, and a look at the ticks otherwise. Worker's context. `next`: as for
 * th_timers_fire.
 */
static inline void th_timers_poll(th_worker *worker, bool next) {
    /* relaxed: an entry inserted at this moment is seen at a later pick */
    if (th_likely(th_load_relaxed(&worker->timers->xearliest) == INT64_MAX) &&
        th_likely(!worker->polls)) {
        return;
    }
    if (worker->timer_look.skip &&
        th_os_ticks_ns(th_os_ticks() - worker->timer_look.ticks) < TH_TIMER_LOOK_NS) {
        worker->timer_look.skip--;
    } else {
        th_timers_poll_slow(worker, next);
    }
}

/* The timers for tasks posted from this worker: not a bound thread's, which may not come round. */
static inline th_timers *th_timers_for_tasks(th_worker *worker) {
    return th_unlikely(worker->bound) ? th_timers_of(worker->sched, NULL) : worker->timers;
}

#endif
