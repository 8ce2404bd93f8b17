/*
 * reclaim_want.h: something asks for giving back what a burst has left behind (reclaim.h).
 */
#ifndef TH_RECLAIM_WANT_H
#define TH_RECLAIM_WANT_H

#include "base/cc.h"
#include "core/state/lock.h"
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

/* Whether the worker's flag is set, which says that it is wanted; sets it. */
bool th_reclaim_is_flagged(const th_worker *worker);
void th_reclaim_flag(th_worker *worker);

#endif
