/*
 * trim.c: see trim.h. core/fiber/RECLAIM.md explains why the last worker that parks does this.
 */
#include "core/fiber/trim.h"

#include "core/fiber/fiber_cache.h"
#include "core/fiber/reclaim.h"
#include "core/basis/parkword.h"

#define GIVE_ONCE 4u /* the number of stacks that are freed before it asks again */

/* Whether this worker is the last that parks (for a bound thread: whether all have parked), and
 * nothing wants it. */
static bool is_quiet(th_worker *worker, bool (*is_wanted)(th_worker *worker)) {
    thrum_sched *sched = worker->sched;
    unsigned awake = worker->bound ? 0 : 1;
    /* relaxed: a guess; if no worker takes itself for the last, that one looks again (th_park) */
    return th_park_parked(th_load_relaxed(&sched->xpark)) + awake >= sched->workers_count &&
           !is_wanted(worker);
}

void th_fiber_cache_trim(th_worker *worker, bool (*is_wanted)(th_worker *worker)) {
    /* The loop's own fiber: the loop is far above the pages that are given back. */
    th_fiber_trim(worker, worker->current);
    for (th_fiber *fiber = worker->idle; fiber; fiber = fiber->next) {
        th_fiber_trim(worker, fiber);
    }
    while (is_quiet(worker, is_wanted) && th_fiber_cache_give_back(worker, GIVE_ONCE, true)) {
    }
    if (is_quiet(worker, is_wanted)) {
        /* Only if stacks have come to the store since all of it was looked through. */
        /* relaxed: a worker that put some there while this one reads is asked for by th_park */
        while (th_load_relaxed(&worker->sched->xfibers_unmeasured) &&
               th_fiber_cache_trim_some(worker) && !is_wanted(worker)) {
        }
    } else {
        th_reclaim_rest(worker, is_wanted);
    }
}
