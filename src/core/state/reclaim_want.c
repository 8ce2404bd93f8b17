/*
 * reclaim_want.c: see reclaim_want.h.
 */
#include "core/state/reclaim_want.h"

#include "base/atomic.h"
#include "core/state/worker.h"

bool th_reclaim_is_flagged(const th_worker *worker) {
    /* relaxed: the flag publishes nothing */
    return (th_load_relaxed(&worker->xextra) & TH_EXTRA_RECLAIM) != 0;
}

void th_reclaim_flag(th_worker *worker) {
    /* pairs: unflag; publishes that reclaiming is wanted */
    th_or_release(&worker->xextra, TH_EXTRA_RECLAIM);
}

void th_reclaim_want(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    th_reclaim *r = &sched->reclaim;
    if (!th_reclaim_is_flagged(worker)) {
        th_reclaim_flag(worker); /* the loop below does not reach a bound thread */
    }
    /* relaxed: the worker that ends it looks at the stores afterwards, with their locks */
    if (th_load_relaxed(&r->xwanted)) {
        return;
    }
    th_store_relaxed(&r->xwanted, 1u); /* relaxed: th_reclaim_flag publishes it */
    for (unsigned i = 0; i < sched->workers_count; i++) {
        th_reclaim_flag(&sched->workers[i]);
    }
}
