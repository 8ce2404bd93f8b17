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

/* ---- the steps of parking, of which spares make their own (spares.c) ---- */

/*
 * Announces the worker in both words; returns whether it is the last to park. From here on it may
 * be notified: by its own word and, once it is in the park word, as the top of the stack or as the
 * sentinel. idle it is neither. A fence must follow.
 */
bool th_park_announce(th_worker *worker, bool idle_spare);
/* Behind the fence: if all are parked now, notifies the threads that wait for that. */
void th_park_tell(thrum_sched *sched);
/* Goes on without having been notified; false if another thread has notified it meanwhile. */
bool th_park_leave(th_worker *worker);
/* Awake again, notified or not. It is a searcher then if it was given a token. */
void th_park_unannounce(th_worker *worker);

/* Becomes a searcher if there are not too many. */
bool th_search_begin(th_worker *worker);
/*
 * The worker has work, or becomes idle, so it searches no longer and is not the sentinel: the
 * last to leave the search makes sure that the rest is not forgotten.
 */
void th_went_busy(th_worker *worker);
/* The same for a worker that is neither, and was asleep: maybe none looks after its deadlines. */
void th_went_busy_alone(th_worker *worker);

#endif
