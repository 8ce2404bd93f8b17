/*
 * reclaim.c: see reclaim.h. core/fiber/RECLAIM.md explains why no request is forgotten.
 */
#include "core/fiber/reclaim.h"

#include "base/atomic.h"
#include "core/fiber/fiber_cache.h"
#include "core/state/worker.h"
#include "platform/platform.h"

/* Memory that was not needed for so long is given back. */
#define PERIOD_NS 250000000
/* A step lasts a fourth of the time since the last one, within these bounds. */
#define STEP_MIN_NS 20000
#define STEP_MAX_NS 200000
#define PAUSES 4
/* The time between two looks at the clock, and the calls between them at most. */
#define LOOK_NS 20000
#define SKIPS_MAX 63

/* Clears the worker's flag, unless another worker has just asked for reclaiming. */
static void unflag(th_worker *worker) {
    /* pairs: th_reclaim_flag; publishes that reclaiming is wanted */
    th_and_acquire(&worker->xextra, ~TH_EXTRA_RECLAIM);
    /* relaxed: behind the acquire */
    if (th_load_relaxed(&worker->sched->reclaim.xwanted)) {
        th_reclaim_flag(worker);
    }
}

/*
 * Begins a period; memory that lay unused in the previous one will be given back. False: every
 * store is within its limit.
 */
static bool begin_period(th_worker *worker, int64_t now) {
    thrum_sched *sched = worker->sched;
    th_reclaim *r = &sched->reclaim;
    bool first = r->period_end == 0;
    unsigned unused;
    bool more = th_fiber_cache_period(sched, &unused, &r->deep);
    more = th_slab_period(sched->go_slab, first) || more;
    r->fibers = first ? 0 : unused;
    r->objects = sched->go_slab->taking != 0 || sched->go_slab->open;
    r->deep = r->deep && !first;
    r->period_end = more ? now + PERIOD_NS : 0;
    return more;
}

/* Ends reclaiming: nothing is left to be given back. */
static void end(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    bool deep;
    unsigned unused;
    /* relaxed: a worker that adds to a store after this look, ordered by its lock, sees it */
    th_store_relaxed(&sched->reclaim.xwanted, 0u);
    bool more = th_slab_period(sched->go_slab, true);
    if (th_fiber_cache_period(sched, &unused, &deep) || more) {
        th_reclaim_want(worker);
    }
}

/* Gives a little back; true while there is more. */
static bool give_back_some(th_worker *worker) {
    th_reclaim *r = &worker->sched->reclaim;
    if (r->fibers) {
        unsigned freed = th_fiber_cache_reclaim(worker, r->fibers);
        r->fibers = freed ? r->fibers - freed : 0; /* the others may be in use again */
    } else if (r->deep) {
        r->deep = th_fiber_cache_trim_some(worker);
    } else if (r->objects) {
        r->objects = th_slab_reclaim(worker->sched->go_slab);
    }
    return r->fibers || r->deep || r->objects;
}

/* Takes a step, unless another worker is in one. True: there is more to do at once. */
static bool take_step(th_worker *worker, int64_t now) {
    th_reclaim *r = &worker->sched->reclaim;
    if (!th_lock_try(&r->lock)) {
        return false;
    }
    if (now >= r->period_end && !begin_period(worker, now)) {
        end(worker);
    }
    bool more = r->fibers || r->deep || r->objects;
    int64_t length = (now - r->last_end) / PAUSES;
    length = length < STEP_MAX_NS ? length : STEP_MAX_NS;
    int64_t after = now;
    while (more && after - now < length) {
        more = give_back_some(worker);
        after = th_os_now();
    }
    r->last_end = after;
    int64_t next = more ? after + PAUSES * STEP_MIN_NS : r->period_end;
    th_store_relaxed(&r->xnext, next); /* relaxed: only a time to compare with */
    th_lock_release(&r->lock);
    return more;
}

static bool is_wanted_at_all(th_worker *worker) {
    /* relaxed: a hint; unflag looks again */
    if (!th_load_relaxed(&worker->sched->reclaim.xwanted)) {
        unflag(worker);
        return false;
    }
    return true;
}

void th_reclaim_poll(th_worker *worker) {
    if (worker->reclaim_look.skip) {
        worker->reclaim_look.skip--;
        return;
    }
    if (!is_wanted_at_all(worker)) {
        return;
    }
    int64_t now = th_os_now();
    unsigned skips = worker->reclaim_look.skips;
    /* It grows slowly and falls fast: calls come in rows, with a long task behind each row. */
    skips = now - worker->reclaim_look.at < LOOK_NS ? 2 * skips + 1 : skips / 8;
    worker->reclaim_look.at = now;
    worker->reclaim_look.skips = skips < SKIPS_MAX ? skips : SKIPS_MAX;
    worker->reclaim_look.skip = worker->reclaim_look.skips;
    /* relaxed: only a time to compare with */
    if (now >= th_load_relaxed(&worker->sched->reclaim.xnext)) {
        (void)take_step(worker, now);
    }
}

void th_reclaim_rest(th_worker *worker, bool (*is_wanted)(th_worker *worker)) {
    if (!th_reclaim_is_flagged(worker) || !is_wanted_at_all(worker)) {
        return;
    }
    int64_t now = th_os_now();
    /* relaxed: as above */
    if (now < th_load_relaxed(&worker->sched->reclaim.xnext)) {
        return;
    }
    while (!is_wanted(worker) && take_step(worker, now)) {
        now = th_os_now();
    }
}

int64_t th_reclaim_due(const th_worker *worker) {
    const th_reclaim *r = &worker->sched->reclaim;
    /* relaxed: reclaiming ends by itself, and then no worker needs to wake up */
    if (!th_reclaim_is_flagged(worker) || !th_load_relaxed(&r->xwanted)) {
        return TH_FOREVER;
    }
    /* relaxed: another worker is in a step, and sets the time of the next one afterwards */
    if (th_load_relaxed(&r->lock.xword)) {
        return th_os_now() + STEP_MAX_NS;
    }
    return th_load_relaxed(&r->xnext); /* relaxed: only a time to compare with */
}
