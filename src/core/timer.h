/*
 * timer.h: deadlines of tasks and of waits: one mechanism for all (core/TIME.md).
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
#include "core/lock.h"
#include "queue/wheel.h"
#include "queue/work.h"

typedef struct th_worker th_worker;
typedef struct thrum_sched thrum_sched;
typedef struct th_waiter th_waiter;

typedef struct th_timers {
    /* When the first of them is due, or somewhat earlier; INT64_MAX: none. With the lock. */
    alignas(TH_CACHE_LINE) int64_t xearliest;
    th_lock lock; /* protects the wheel */
    th_wheel wheel;
    thrum_sched *sched; /* constant, like the owner */
    th_worker *owner;   /* who sleeps no longer than until the first; NULL: any bound thread */
    uint32_t special;   /* with the lock: TH_TIMERS_IN_ORDER, TH_TIMERS_CANCELLED */
    th_work *fired;     /* with the lock, while one is taken: no local, base/annotate.h says why */
    uint32_t roots;     /* with the lock: of those taken last, bound threads' own waits */
    th_chain loose;     /* with the lock: what a thread that is no worker has taken */
    uint64_t xreadied;  /* with the lock: as th_flow's, of what such threads have fired */
} th_timers;

/*
 * What stands in timers: a task that waits to be due, or a wait. Both begin with a header of work.
 * A thrum_task is laid out the same way; its function and argument are in `of`.
 */
typedef struct th_timed {
    th_timers *timers; /* those it stands in, or stood in last */
    uint32_t kind;     /* TH_WORK_TASK or TH_WORK_WAIT */
    int32_t worker;    /* a task's */
    void *of[2];       /* a wait: the waiter, and its fiber */
    uint32_t xmark;    /* TH_TIMED_IN, with the lock of the timers; the rest is a task's */
    uint32_t xword;    /* a task's */
    th_timer timer;
} th_timed;

#define TH_TIMED_IN 256u /* it stands in the timers */

#define TH_TIMERS_IN_ORDER 1u  /* the policy has deadlines and posts in one order (submit_due) */
#define TH_TIMERS_CANCELLED 2u /* a stop's has passed: no task waits for a deadline any more */

static inline th_timed *th_timed_of(th_timer *timer) {
    return th_container(timer, th_timed, timer);
}

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

/*
 * For stop, past its deadline: what stands in timers does not wait any longer. Tasks run once, with
 * their cancelled flag set; waits return -ECANCELED.
 */
void th_timers_cancel_all(thrum_sched *sched);

#endif
