/*
 * timer_state.h: what timers are, and what stands in them (timer.h).
 */
#ifndef TH_TIMER_STATE_H
#define TH_TIMER_STATE_H

#include <stdalign.h>
#include "base/atomic.h"
#include "core/state/lock.h"
#include "queue/wheel.h"
#include "queue/work.h"

typedef struct th_worker th_worker;
typedef struct thrum_sched thrum_sched;

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

#endif
