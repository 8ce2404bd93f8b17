/*
 * park.h: workers that have nothing to do sleep, and are woken. core/worker/PARKING.md has the
 * argument.
 */
#ifndef TH_PARK_H
#define TH_PARK_H

#include "core/state/worker.h"

/*
 * Sleeps until woken. Returns at once if there is work after all. With worker->backoff.ns: backs
 * off for so long.
 */
void th_park(th_worker *worker);

/* Becomes a searcher if there are not too many. */
bool th_search_begin(th_worker *worker);
/*
 * The worker has work, so it searches no longer and is not the sentinel: the last to leave the
 * search makes sure that the rest is not forgotten.
 */
void th_went_busy(th_worker *worker);
/* The same for a worker that is neither, and was asleep: maybe none looks after its deadlines. */
void th_went_busy_alone(th_worker *worker);

#endif
