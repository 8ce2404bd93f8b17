/*
 * reclaim.h: giving back, while workers are awake, what a burst has left behind: idle stacks, and
 * chunks of task objects (core/RECLAIM.md). When all of them rest, the last one gives stacks back
 * at once (th_idle_trim).
 *
 * A store that holds more than is kept asks for it (th_reclaim_want): then every worker has
 * TH_EXTRA_RECLAIM in `xextra`, a word that each start of a run and each switch looks at anyway.
 * Those look at the clock every so often, and one at a time takes a short step. What lay unused in
 * its store for a whole period goes; when no store holds more than is kept, the flag goes too.
 */
#ifndef TH_RECLAIM_H
#define TH_RECLAIM_H

#include "base/cc.h"
#include "core/lock.h"
#include "thrum/sched.h"

typedef struct th_worker th_worker;

typedef struct th_reclaim {
    uint32_t xwanted;   /* 1: some store holds more than is kept, or did so lately */
    int64_t xnext;      /* there is nothing to do before this time */
    th_lock lock;       /* the present step's; protects the rest */
    int64_t last_end;   /* of the last step */
    int64_t period_end; /* 0: no period has begun */
    unsigned fibers;    /* idle ones that lay unused for a period, and are to go */
    bool objects;       /* chunks of task objects are to be looked for */
    bool deep;          /* the pages of those that are kept are to be looked through */
} th_reclaim;

/* A store holds more than is kept. A worker's context. */
void th_reclaim_want(th_worker *worker);

/* At a moment when the worker can be away for a step, if its `xextra` says so. Its context. */
void th_reclaim_poll(th_worker *worker);

/* Before it parks: all that is due, until `is_wanted` says that there is something better to do. */
void th_reclaim_rest(th_worker *worker, bool (*is_wanted)(th_worker *worker));

/* When a worker that rests beside others that do not should look again; TH_FOREVER: never. */
int64_t th_reclaim_due(const th_worker *worker);

#endif
