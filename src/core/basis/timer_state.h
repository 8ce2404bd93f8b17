/*
 * timer_state.h: a set of timers, and its entries (timer.h).
 */
#ifndef TH_TIMER_STATE_H
#define TH_TIMER_STATE_H

#include <stdalign.h>
#include "base/atomic.h"
#include "core/basis/lock.h"
#include "queue/wheel.h"
#include "queue/work.h"

typedef struct th_worker th_worker;
typedef struct thrum_sched thrum_sched;

typedef struct th_timers {
    /* The time at which the first of them is due, or earlier; INT64_MAX: none. Written with the
     * lock. */
    alignas(TH_CACHE_LINE) int64_t xearliest;
    th_lock lock; /* protects the wheel */
    th_wheel wheel;
    thrum_sched *sched; /* constant, like the owner */
    th_worker *owner;   /* the worker that wakes up for the first; NULL: any bound thread does */
    uint32_t special;   /* with the lock: TH_TIMERS_IN_ORDER, TH_TIMERS_CANCELLED */
    th_work *fired;     /* with the lock: the entry being taken; no local, see base/annotate.h */
    uint32_t roots; /* with the lock: those of the last taken that are bound threads' own waits */
    th_chain loose; /* with the lock: entries taken by a thread that is no worker */
    uint64_t xreadied; /* with the lock: xreadied (th_activity) of their firings */
} th_timers;

/*
 * An entry of timers: a task that waits to be due, or a wait. Both begin with a header of work.
 * A thrum_task is laid out the same way; its function and argument are in `of`.
 */
typedef struct th_timed {
    th_timers *timers; /* the timers that it takes over, or took over last */
    uint32_t kind;     /* TH_WORK_TASK or TH_WORK_WAIT */
    int32_t worker;    /* a task: the worker that it is tied to, or -1 */
    void *of[2];       /* a wait: the waiter, and its fiber */
    uint32_t xmark;    /* TH_TIMED_IN, with the lock of the timers; other bits: task_word.h */
    uint32_t xword;    /* a task: its state (task_word.h) */
    th_timer timer;
} th_timed;

#define TH_TIMED_IN 256u /* it is in the timers */

#define TH_TIMERS_IN_ORDER 1u  /* the policy has deadlines and posts in one order (submit_due) */
#define TH_TIMERS_CANCELLED 2u /* a stop's deadline has passed: no task waits for one any longer */

static inline th_timed *th_timed_of(th_timer *timer) {
    return th_container(timer, th_timed, timer);
}

#endif
