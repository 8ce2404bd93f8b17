/*
 * pick.h: what the picks of all policies have in common.
 */
#ifndef TH_PICK_H
#define TH_PICK_H

#include "core/ready/deferred.h"
#include "core/ready/pinned.h"
#include "core/state/worker.h"

/* Resumes of who yielded between looks at the others. */
#define TH_POLLS_PER_LOOK TH_LIMIT(32, 2)

/* Whether nothing that came since those who yielded were claimed goes before them. */
static inline bool th_yields_next(const th_worker *worker) {
    return !th_ring_size(&worker->ring.ring) && th_inject_is_empty(&worker->sched->inject) &&
           (worker->polls + 1) % TH_POLLS_PER_LOOK != 0;
}

/*
 * The short way to what the policy's pick would return too, for a row of short runs or of yields.
 * `quick` says that nothing of the owner's own comes before what is claimed there; who changes that
 * clears it. What others may bring meanwhile is looked at here. NULL: the long way.
 */
static inline th_work *th_find_claimed(th_worker *worker) {
    th_claim *claim = worker->quick;
    if (!claim || worker->until_inject <= 1 ||
        /* relaxed: as in th_timers_poll */
        th_load_relaxed(&worker->timers->xearliest) != INT64_MAX ||
        !th_inject_is_empty(&worker->inbox)) {
        return NULL;
    }
    if (claim == &worker->yields_claim) {
        if (!th_yields_next(worker)) {
            return NULL;
        }
        worker->polls++;
        worker->inject_streak = 0;
    }
    th_work *work = th_claim_take(claim, &worker->gate);
    if (th_unlikely(!work)) {
        worker->quick = NULL;
        return NULL;
    }
    worker->until_inject--;
    th_count(&worker->xtick, 1);
    th_count(&worker->counters.xruns_ring, 1);
    return work;
}

/*
 * A fiber yields: what is in the own queue comes first, also at the fair pick. The mark is only
 * moved once it has been passed, or under a stream of yields it would run away from the queue's
 * head for ever.
 */
static inline void th_yields_mark(th_worker *worker) {
    if (th_claim_head(&worker->claim, &worker->ring.ring) >= worker->yields_end) {
        worker->yields_end = th_ring_tail(&worker->ring.ring);
    }
}

/* Whether fibers that yielded wait in the worker's own queues. */
static inline bool th_any_yielded(const th_worker *worker) {
    return th_claim_head(&worker->yields_claim, &worker->yields) != th_ring_tail(&worker->yields) ||
           worker->pinned_yields.first;
}

/* Whether nothing of its own comes before what it has just claimed there (th_find_claimed). */
static inline bool th_is_quick(const th_worker *worker, const th_claim *claim) {
    return !worker->searching && !worker->sentinel && !worker->woken && !worker->pinned.first &&
           !th_load_relaxed(&worker->xslot) && /* relaxed: only the owner fills it */
           (claim == &worker->claim
                ? !th_any_yielded(worker)
                : !th_claim_any(&worker->claim) && !worker->pinned_yields.first);
}

/*
 * How many picks later the shared queue comes first again: what the config says, or, where runs are
 * long, what takes some FAIR_NS; but half of the last interval at least, since the time that a
 * worker slept counts, too, and no more than twice, since what came from there may be short. The
 * owner, each time.
 */
unsigned th_fair_interval(th_worker *worker);

/* For a policy whose workers have nothing of their own. */
th_work *th_steal_none(th_worker *worker);
th_work *th_rescue_none(th_worker *worker, bool *unsure);

/* Pinned runs in a row before the others come once. */
#define TH_PINNED_LIMIT TH_LIMIT(16, 2)

/* Every so many picks: what pinned work would keep waiting. */
static TH_ALWAYS_INLINE th_work *th_pick_of_one_fairly(th_worker *worker,
                                                       th_work *(*take)(th_worker *)) {
    worker->until_inject = worker->sched->config.global_interval;
    th_work *work = th_deferred_take(worker);
    worker->fair_last = !worker->fair_last && worker->until_inject == 1;
    if (work || (worker->until_inject == 1 && !worker->fair_last)) {
        return work; /* an interval of 1: every other pick, or pinned work would starve */
    }
    work = th_pinned_take_yielded(worker);
    return work ? work : take(worker);
}

/* The pick of a policy with one queue for all, of which `take` takes the oldest. */
static TH_ALWAYS_INLINE th_work *th_pick_of_one(th_worker *worker, th_work *(*take)(th_worker *)) {
    th_count(&worker->xtick, 1);
    th_work *work;
    if (th_unlikely(--worker->until_inject == 0) && (work = th_pick_of_one_fairly(worker, take))) {
        return work;
    }
    if (worker->pinned_runs < TH_PINNED_LIMIT && (work = th_pinned_take(worker))) {
        return work;
    }
    if ((work = take(worker)) || (work = th_pinned_take(worker))) {
        return work;
    }
    return th_pinned_take_yielded(worker);
}

#endif
