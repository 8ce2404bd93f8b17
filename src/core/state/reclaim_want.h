/*
 * reclaim_want.h: asking that memory which a burst has left behind is given back (reclaim.h).
 */
#ifndef TH_RECLAIM_WANT_H
#define TH_RECLAIM_WANT_H

#include "base/cc.h"
#include "core/basis/lock.h"
#include "thrum/sched.h"

typedef struct th_worker th_worker;

typedef struct th_reclaim {
    uint32_t xwanted;   /* 1: some store holds more than is kept, or did so lately */
    int64_t xnext;      /* the time before which there is nothing to do */
    th_lock lock;       /* held during a step; protects the rest */
    int64_t last_end;   /* the end of the last step */
    int64_t period_end; /* the end of the present period; 0: no period has begun */
    unsigned fibers;    /* idle fibers that lay unused for a period, and are to be freed */
    bool objects;       /* unused chunks of task objects are to be freed */
    bool deep;          /* pages of the idle fibers that are kept are to be given back */
} th_reclaim;

/* Notes that a store holds more than its limit. A worker's context. */
void th_reclaim_want(th_worker *worker);

/* Whether the worker's flag is set, which means that reclaiming is wanted; the other sets it. */
bool th_reclaim_is_flagged(const th_worker *worker);
void th_reclaim_flag(th_worker *worker);

#endif
