/*
 * steal_backoff.h: a thief measures whether its stealing helps, and backs off if not
 * (docs/tuning.md).
 */
#ifndef TH_STEAL_BACKOFF_H
#define TH_STEAL_BACKOFF_H

#include "core/state/worker.h"

/* Begins a measurement: the worker has taken several tasks that others may have spawned. */
void th_steal_backoff_begin(th_worker *worker);

/*
 * The time for which thieves leave the victim alone, since one of them backs off from it; 0: they
 * do not. A thief that finds nothing because of this backs off as long (backoff.ns).
 */
int64_t th_left_alone_ns(const th_worker *victim);

/*
 * Whether to back off, once the work that was taken last has been run. Another worker must be
 * running: all workers never back off at once.
 */
bool th_steal_backs_off(th_worker *worker);

/* The number of runs that the worker has begun; adds runs and their time to a measurement. */
uint64_t th_runs_begun(const th_worker *worker);
void th_speed_add(th_speed *speed, uint64_t runs, uint64_t ticks);

static inline bool th_others_parked(const th_worker *worker) {
    /* relaxed: a guess; if it is wrong for all at once they come back soon */
    uint64_t word = th_load_relaxed(&worker->sched->xpark);
    return th_park_parked(word) + 1 >= worker->sched->workers_count;
}

#endif
