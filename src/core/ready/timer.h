/*
 * timer.h: deadlines of tasks and of waits: one mechanism for all (core/ready/TIME.md).
 *
 * Each worker has *timers*: a wheel behind a lock of its own. Whoever has a deadline puts it into
 * the timers of the worker that it is on; a thread that is no worker, into those of some worker.
 * Their worker fires them when it picks and before it parks; others do when it does not come round.
 * On a policy with one order for all, all workers share the timers of worker 0.
 */
#ifndef TH_TIMER_H
#define TH_TIMER_H

#include <stdalign.h>

#include "base/atomic.h"
#include "core/state/lock.h"
#include "core/state/worker.h"
#include "queue/wheel.h"
#include "queue/work.h"

typedef struct th_waiter th_waiter;

void th_timers_init(th_timers *timers, thrum_sched *sched, th_worker *owner);

/* The timers for a caller on `here`, or, if that is NULL, on no worker of the scheduler. */
th_timers *th_timers_of(thrum_sched *sched, th_worker *here);

/* Puts it in, with the lock. Returns whether the owner may have to be told (th_timers_tell). */
bool th_timers_insert(th_timers *timers, th_timed *timed, int64_t deadline);
/* After the lock was given up: wakes the owner if it sleeps too long. Any thread and context. */
void th_timers_tell(th_timers *timers);

/* Takes it out, with the lock. */
void th_timers_take_out(th_timers *timers, th_timed *timed);

/*
 * Takes it out if it is still there; afterwards nobody touches it any more on account of timers. By
 * who has decided that it is not the deadline that ends it. Any thread.
 */
void th_timed_remove(th_timed *timed);

/* Fires what is due in these timers into the worker's queue; true if there was something. */
bool th_timers_fire(th_worker *by, th_timers *timers, int64_t now);

/* The same by a thread that is no worker of the scheduler, which has one order (submit_due). */
void th_timers_fire_outside(th_timers *timers, int64_t now);

/* The slow half of th_timers_poll. */
void th_timers_poll_slow(th_worker *worker);

/* Fires what is overdue anywhere, for workers that do not come round. */
bool th_timers_help(th_worker *worker);

/* Until when the worker may sleep, for its own timers, and as the sentinel for everybody's. */
int64_t th_timers_sleep_until(const th_worker *worker, bool sentinel);

/* Before a pick: fires what is due. Costs two loads when there are no timers. Worker's context. */
static inline void th_timers_poll(th_worker *worker) {
    /* relaxed: what is put in at this moment is seen at a later pick */
    if (th_likely(th_load_relaxed(&worker->timers->xearliest) == INT64_MAX)) {
        return;
    }
    if (worker->timer_skip) {
        worker->timer_skip--;
    } else {
        th_timers_poll_slow(worker);
    }
}

/* Where tasks wait that are posted from this worker: a bound thread comes round when it likes. */
static inline th_timers *th_timers_for_tasks(th_worker *worker) {
    return th_unlikely(worker->bound) ? th_timers_of(worker->sched, NULL) : worker->timers;
}

#endif
