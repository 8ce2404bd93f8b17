/*
 * reclaim.h: giving back, while workers are awake, what a burst has left behind: idle stacks, and
 * chunks of task objects (core/fiber/RECLAIM.md). When all of them rest, the last one gives stacks
 * back at once (th_idle_trim).
 *
 * A store that holds more than is kept asks for it (th_reclaim_want): then every worker has
 * TH_EXTRA_RECLAIM in `xextra`, a word that each start of a run and each switch looks at anyway.
 * Those look at the clock every so often, and one at a time takes a short step. What lay unused in
 * its store for a whole period goes; when no store holds more than is kept, the flag goes too.
 */
#ifndef TH_RECLAIM_H
#define TH_RECLAIM_H

#include "base/cc.h"
#include "thrum/sched.h"

typedef struct th_worker th_worker;

/* At a moment when the worker can be away for a step, if its `xextra` says so. Its context. */
void th_reclaim_poll(th_worker *worker);

/* Before it parks: all that is due, until `is_wanted` says that there is something better to do. */
void th_reclaim_rest(th_worker *worker, bool (*is_wanted)(th_worker *worker));

/* When a worker that rests beside others that do not should look again; TH_FOREVER: never. */
int64_t th_reclaim_due(const th_worker *worker);

#endif
