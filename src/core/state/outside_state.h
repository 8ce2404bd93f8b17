/*
 * outside_state.h: what a scheduler knows of an external thread, one that is none of its workers
 * (outside.h).
 */
#ifndef TH_OUTSIDE_STATE_H
#define TH_OUTSIDE_STATE_H

#include "core/state/counters.h"
#include "core/state/flow.h"
#include "core/state/lock.h"
#include "core/state/thread.h"
#include "thrum/sched.h"

struct th_outside {
    /* The thread's list; under th_outside_lock where other threads read it. */
    struct th_outside *next_of_thread;
    /* The scheduler's list; under th_outside_lock. */
    struct th_outside *next_of_sched;
    thrum_sched *xsched; /* NULL once the scheduler is gone; the thread reads it without the lock */

    th_thread *thread; /* constant: the record's thread; NULL: `retired` */
    uint32_t xinside;  /* 1 while the thread is in a call on the scheduler; the thread writes it */
    th_flow flow;      /* the thread's activity counters; the thread writes them */
    uint64_t xwakes;   /* futex calls of the thread that woke a worker */
};

typedef struct th_outsiders {
    th_outside *first;    /* under th_outside_lock */
    th_outside retired;   /* the sum of ended threads and of those without memory for a record */
    th_lock shared_lock;  /* held while `retired` is used in place of a record */
    th_counters counters; /* the wakes of external threads, for thrum_metrics_read */
} th_outsiders;

#endif
