/*
 * fiber_cache.h: idle fibers: a worker keeps some, and its scheduler keeps others for all workers.
 */
#ifndef TH_FIBER_CACHE_H
#define TH_FIBER_CACHE_H

#include "core/state/worker.h"

/* The depth in bytes that the fiber's stack reached since the last call; 0 when no body ran on it.
 * Makes a system call. */
size_t th_fiber_measure(th_worker *worker, th_fiber *fiber);

/* The idle fibers of a worker, which is refilled from its scheduler's. */
void th_fiber_cache_put(th_worker *worker, th_fiber *fiber);
th_fiber *th_fiber_cache_take(th_worker *worker);
bool th_fiber_cache_refill(th_worker *worker); /* true: the worker has at least one */
void th_fiber_cache_give(th_worker *worker);   /* moves one to the scheduler's, for any worker */

/* ---- for reclaim.c ---- */

/*
 * Begins a period. Returns the number of surplus fibers that lay unused in the previous one, and
 * whether pages of deep stacks are to be given back. False: there is neither.
 */
bool th_fiber_cache_period(thrum_sched *sched, unsigned *unused, bool *deep);
/* Frees at most `most` of the scheduler's surplus fibers; returns their number. */
unsigned th_fiber_cache_reclaim(th_worker *worker, unsigned most);
/* Gives back the pages of a few deep stacks that are kept; true while there are more. */
bool th_fiber_cache_trim_some(th_worker *worker);

/* ---- for trim.c ---- */

/* Measures the stack and gives back its surplus pages; false: there are none. */
bool th_fiber_trim(th_worker *worker, th_fiber *fiber);

/*
 * Frees at most `most` of the scheduler's surplus fibers; measures `all` of them, or one. Returns
 * their number.
 */
unsigned th_fiber_cache_give_back(th_worker *worker, unsigned most, bool all);

#endif
