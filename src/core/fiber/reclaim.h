/*
 * reclaim.h: giving back, while workers are awake, the leftovers of a burst: idle stacks, and
 * chunks of task objects (core/fiber/RECLAIM.md). When all workers rest, the last one gives stacks
 * back at once (th_fiber_cache_trim).
 *
 * A worker that finds more in a store than its limit requests it (th_reclaim_want): then every
 * worker has TH_EXTRA_RECLAIM in `xextra`, a word that each start of a run and each switch reads
 * anyway. Workers with the flag look at the clock every so often, and one at a time takes a short
 * step. Memory that lay unused in its store for a whole period is given back. When every store is
 * within its limit, the flag is cleared.
 */
#ifndef TH_RECLAIM_H
#define TH_RECLAIM_H

#include "base/cc.h"
#include "thrum/sched.h"

typedef struct th_worker th_worker;

/* Takes a step if it is time. Called by the worker, in its context, where it can spare the time,
 * and only if its `xextra` has the flag. */
void th_reclaim_poll(th_worker *worker);

/*
 * Before the worker parks: gives back all that is due, until `is_wanted` returns true because there
 * is something better to do.
 */
void th_reclaim_rest(th_worker *worker, bool (*is_wanted)(th_worker *worker));

/* The time at which a worker that rests while others work should look again; TH_FOREVER: never. */
int64_t th_reclaim_due(const th_worker *worker);

#endif
