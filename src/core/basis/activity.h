/*
 * activity.h: the activity counters that wait_idle and wait_done sum (core/ready/QUIESCENCE.md).
 * Each record has one writer.
 */
#ifndef TH_ACTIVITY_H
#define TH_ACTIVITY_H

#include <stdalign.h>

#include "base/atomic.h"

/* Aligned on i386, too: a word that lies in two lines is not read at once, and its lock traps. */
typedef struct th_activity {
    alignas(8) uint64_t xcreated; /* tasks posted or spawned, counted before they are published */
    uint64_t xreadied;            /* fibers queued again, counted before they are published */
    uint64_t xfinished;           /* tasks that ended for good */
    uint64_t xsuspended;          /* runs that ended by giving the worker up */
    uint64_t xroused;             /* those of xreadied that nothing but a wakeup could make due */
    uint64_t xdormant;            /* those of xsuspended that began such a wait */
} th_activity;

/* Counted before the work is published. */
static inline void th_activity_began(uint64_t *xcounter) {
    /*
     * relaxed: the publication that follows is a release, and the worker that ends the run acquires
     * it; so the end's release carries this count along
     */
    th_count(xcounter, 1);
}

/* Counted as the last thing of a run. */
static inline void th_activity_ended(uint64_t *xcounter) {
    /* relaxed: only this thread writes it */
    uint64_t ended = th_load_relaxed(xcounter) + 1;
    /* pairs: sum_ends; a reader of this end also reads the earlier counts */
    th_store_release(xcounter, ended);
}

/* Adds the counters of a thread that has ended. */
static inline void th_activity_add(th_activity *sum, const th_activity *activity) {
    th_count(&sum->xcreated, activity->xcreated);
    th_count(&sum->xreadied, activity->xreadied);
    th_count(&sum->xfinished, activity->xfinished);
    th_count(&sum->xsuspended, activity->xsuspended);
    th_count(&sum->xroused, activity->xroused);
    th_count(&sum->xdormant, activity->xdormant);
}

#endif
