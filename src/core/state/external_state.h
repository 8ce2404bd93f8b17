/*
 * external_state.h: a scheduler's record of an external thread (external.h).
 */
#ifndef TH_EXTERNAL_STATE_H
#define TH_EXTERNAL_STATE_H

#include "core/basis/activity.h"
#include "core/basis/counters.h"
#include "core/basis/lock.h"
#include "core/state/slab.h"
#include "core/state/thread.h"
#include "thrum/sched.h"

struct th_external {
    /* The thread's list; under th_external_lock where other threads read it. */
    struct th_external *next_of_thread;
    /* The scheduler's list; under th_external_lock. */
    struct th_external *next_of_sched;
    thrum_sched *xsched; /* NULL once the scheduler is gone; the thread reads it without the lock */

    th_thread *thread; /* constant: the record's thread; NULL: `retired` */
    uint64_t number;   /* the system's number of the thread */
    uint32_t xinside;  /* 1 while the thread is in a call on the scheduler; the thread writes it */
    th_activity activity; /* the thread's activity counters; the thread writes them */
    uint64_t xwakes;      /* futex calls of the thread that woke a worker */
    th_slab_cache spawn;  /* task objects; used inside, and when the scheduler or thread ends */
};

typedef struct th_externals {
    th_external *first;   /* under th_external_lock */
    th_external retired;  /* the sum of ended threads and of those without memory for a record */
    th_lock shared_lock;  /* held while `retired` is used in place of a record */
    th_counters counters; /* the wakes of external threads, for thrum_metrics_read */
} th_externals;

#endif
