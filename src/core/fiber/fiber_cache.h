/*
 * fiber_cache.h: idle fibers: those that a worker keeps, and its scheduler's, for all workers.
 */
#ifndef TH_FIBER_CACHE_H
#define TH_FIBER_CACHE_H

#include "core/state/worker.h"

/* How deep its stack went since it was last asked, 0 when nothing ran on it: a system call. */
size_t th_fiber_measure(th_worker *worker, th_fiber *fiber);

/* Keeps idle fibers: a worker's own, then its scheduler's. */
void th_idle_put(th_worker *worker, th_fiber *fiber);
th_fiber *th_idle_take(th_worker *worker);
bool th_idle_refill(th_worker *worker); /* at least one afterwards, or false */
void th_idle_give(th_worker *worker);   /* one of its own, for whoever refills first */

/*
 * For reclaim.c. A period begins: how many lay unused in the one before, beyond those that are
 * kept, and whether pages of deep ones are to be given back. False: there is neither.
 */
bool th_idle_period(thrum_sched *sched, unsigned *unused, bool *deep);
/* Frees a few of the scheduler's, `most` at most, and no more than are beyond those that are kept;
 * how many. */
unsigned th_idle_reclaim(th_worker *worker, unsigned most);
/* Gives back the pages of a few deep ones that are kept; true while there are more. */
bool th_idle_trim_some(th_worker *worker);

/* ---- for trim.c ---- */

/* Measures it, and gives back what is beyond the pages that are kept; whether there was such. */
bool th_fiber_trim(th_worker *worker, th_fiber *fiber);

/* Frees some of what the scheduler keeps beyond a few; measures `all`, or one of them. How many. */
unsigned th_idle_give_back(th_worker *worker, unsigned most, bool all);

#endif
