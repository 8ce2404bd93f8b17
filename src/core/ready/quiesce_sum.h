/*
 * quiesce_sum.h: finding out that nothing runs, without a shared counter. core/ready/QUIESCENCE.md
 * has the argument.
 */
#ifndef TH_QUIESCE_SUM_H
#define TH_QUIESCE_SUM_H

#include "core/basis/activity.h"
#include "core/state/worker.h"

/* The instant to wait for. */
typedef enum {
    TH_QUIESCE_NOW,  /* nothing was runnable or ran */
    TH_QUIESCE_DONE, /* nothing was left */
    TH_QUIESCE_QUIET /* nothing was left but tasks that only a wakeup can make due */
} th_quiesce_what;

/* Whether there was such an instant since the call. */
bool th_quiesce_now(thrum_sched *sched, th_quiesce_what what);

/*
 * Sums the activity counters of all threads: first the ends, then the begins. If the begins
 * (created, readied) equal the ends (finished, suspended), there was an instant between the two at
 * which nothing was runnable or ran.
 */
void th_quiesce_sum(thrum_sched *sched, th_activity *sum);

/*
 * Whether a task's body has begun and not ended, so that it may free a stack. False only if there
 * was an instant since the call at which there was no such body; *bodies is then how many had begun
 * by that instant.
 */
bool th_quiesce_any_body(thrum_sched *sched, uint64_t *bodies);

/* Whether a bound thread waits for an instant that has come, and so is about to go on. */
bool th_quiesce_lets_go(thrum_sched *sched);

/* A worker has announced that it parks: notifies the waiters whose instant has come. */
void th_quiesce_notify(thrum_sched *sched);

/* The record of one waiting caller, on its stack; in the scheduler's list, under quiesce_lock. */
typedef struct th_quiesce_waiter {
    struct th_quiesce_waiter *next;
    th_quiesce_what what;
    uint32_t *xflag;  /* the futex; 1: the instant has come */
    th_worker *bound; /* the worker of a bound thread that waits, else NULL */
} th_quiesce_waiter;

#endif
