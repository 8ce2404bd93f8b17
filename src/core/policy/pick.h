/*
 * pick.h: the common parts of all policies' picks.
 */
#ifndef TH_PICK_H
#define TH_PICK_H

#include "core/policy/ready_first.h"
#include "core/ready/deferred.h"
#include "core/ready/pinned.h"
#include "core/ready/priority.h"
#include "core/due/poll.h"
#include "core/state/worker.h"

/* Resumes of fibers that yielded between two looks at other workers. */
#define TH_POLLS_PER_LOOK TH_LIMIT(32, 2)

/* Whether no work that came since the yielded fibers were taken as a batch goes before them. */
static inline bool th_yields_next(const th_worker *worker) {
    return !th_ring_size(&worker->ring) && th_inject_is_empty(&worker->sched->inject) &&
           (worker->sharded.polls + 1) % TH_POLLS_PER_LOOK != 0;
}

/*
 * The short way to the work that the policy's pick would return, for a row of short runs or of
 * yields. `quick` is a batch before which no other work of the owner comes; code that queues such
 * work clears it. Work that other threads may bring meanwhile is checked here. NULL: take the long
 * way.
 */
static inline th_work *th_find_in_batch(th_worker *worker) {
    th_batch *batch = worker->picks.quick;
    if (!batch || worker->picks.until_inject <= 1 ||
        /* relaxed: as in th_timers_poll */
        th_load_relaxed(&worker->timers->xearliest) != INT64_MAX ||
        /* relaxed: as th_priority_any; one test for both */
        (th_inject_seen(&worker->inbox) | th_load_relaxed(&worker->sched->xpriorities)) != 0) {
        return NULL;
    }
    if (batch == &worker->yields_batch) {
        if (!th_yields_next(worker)) {
            return NULL;
        }
        worker->sharded.polls++;
        worker->sharded.inject_streak = 0;
    }
    th_work *work = th_batch_take(batch, &worker->fence);
    if (th_unlikely(!work)) {
        worker->picks.quick = NULL;
        return NULL;
    }
    worker->picks.until_inject--;
    th_count(&worker->xtick, 1);
    th_count(&worker->counters.xruns_ring, 1);
    return work;
}

/* Whether fibers that yielded wait in the worker's own queues. */
static inline bool th_any_yielded(const th_worker *worker) {
    return th_batch_head(&worker->yields_batch, &worker->yields) != th_ring_tail(&worker->yields) ||
           worker->pinned_yields.first;
}

/* Whether the worker has no work that comes before the batch just taken (th_find_in_batch). */
static inline bool th_is_quick(const th_worker *worker, const th_batch *batch) {
    return !worker->searching && !worker->sentinel && !worker->woken && !worker->polls &&
           !worker->pinned.first && !th_ring_size(&worker->ready) &&
           !th_load_relaxed(&worker->xslot) && /* relaxed: only the owner fills it */
           (batch == &worker->batch
                ? !th_any_yielded(worker)
                : !th_batch_any(&worker->batch) && !worker->pinned_yields.first);
}

/*
 * The number of picks after which the inject queue comes first again: the config's interval or, if
 * runs are long, as many as take TH_FAIR_NS. It is at least half of the last interval, since the
 * time that a worker slept counts, too, and at most twice, since the runs from there may be short.
 * Called by the owner each time.
 */
unsigned th_fair_interval(th_worker *worker);

/* Has the next pick be the one at the interval, if that is late because runs have become long. */
void th_fair_if_late(th_worker *worker);

/* Whether the victim has come round since this worker looked last; if so, notes it. */
static inline bool th_came_round(th_worker *worker, const th_worker *victim) {
    uint64_t *seen = &worker->rounds.seen_ticks[victim->index];
    uint64_t tick = th_load_relaxed(&victim->xtick); /* relaxed: only whether it moves */
    bool moved = tick != *seen;
    *seen = tick;
    return moved;
}

/*
 * Rescues work from workers that hold some and have not come round since the last look. Sets
 * *unsure if a worker that holds some has come round.
 */
static TH_ALWAYS_INLINE th_work *
th_rescue_any(th_worker *worker, bool *unsure, bool (*holds)(const th_worker *victim),
              th_work *(*rescue)(th_worker *worker, th_worker *victim)) {
    for (unsigned i = 0; i < th_workers_end(worker->sched); i++) {
        th_worker *victim = &worker->sched->workers[i];
        if (victim == worker || !holds(victim)) {
            continue;
        }
        if (th_came_round(worker, victim)) {
            *unsure = true;
            continue;
        }
        th_work *work = rescue(worker, victim);
        if (work) {
            th_count(&worker->counters.xrescues, 1);
            return work;
        }
    }
    return NULL;
}

/*
 * A worker that always finds something never searches. So now and then, at a fair pick, it looks
 * for work that other workers leave waiting behind a long task. Each look costs some cache misses
 * for each worker, so the more there are the rarer it is. True: it is time, and overdue deadlines
 * of others have been fired.
 */
bool th_look_at_left(th_worker *worker, uint64_t now);

/*
 * Work of a worker that has not come round since this one looked last, or NULL; by a worker that
 * need not be a searcher. It keeps the rest in its own queue.
 */
th_work *th_rescue_left(th_worker *worker);

/* For a policy whose workers have no queues of their own. */
th_work *th_steal_none(th_worker *worker);
th_work *th_rescue_none(th_worker *worker, bool *unsure);

/* Pinned runs in a row before other work comes once. */
#define TH_PINNED_LIMIT TH_LIMIT(16, 2)

/* The pick at each interval: takes work that pinned work or ready fibers would keep waiting. */
static TH_ALWAYS_INLINE th_work *th_pick_of_one_fairly(th_worker *worker,
                                                       th_work *(*take_new)(th_worker *)) {
    worker->picks.until_inject = th_fair_interval(worker);
    th_work *work = th_deferred_take(worker);
    worker->picks.fair_last = !worker->picks.fair_last && worker->picks.until_inject == 1;
    if (work || (worker->picks.until_inject == 1 && !worker->picks.fair_last)) {
        return work; /* an interval of 1: every other pick, or pinned work would starve */
    }
    if (!worker->sched->policy->submit_due) { /* each worker has deadlines of its own */
        (void)th_look_at_left(worker, worker->picks.fair_at);
    } else {
        (void)th_poll_help(worker);
        worker->polls = worker->polls || th_poller_is_open(&worker->poller);
    }
    work = th_pinned_yield_due(worker) ? th_pinned_take_yielded(worker) : NULL;
    const unsigned pinned_runs = worker->picks.pinned_runs;
    work = work ? work : take_new(worker);
    worker->picks.pinned_runs = pinned_runs; /* this does not end a row of runs */
    return work;
}

/*
 * The pick of a policy with shared queues for all workers. `take` takes the oldest that is ready,
 * else the oldest of the rest; `take_new` the other way round; `take_ready` only the former.
 */
static TH_ALWAYS_INLINE th_work *th_pick_of_one(th_worker *worker, th_work *(*take)(th_worker *),
                                                th_work *(*take_new)(th_worker *),
                                                th_work *(*take_ready)(th_worker *)) {
    th_count(&worker->xtick, 1);
    th_work *work;
    if (th_unlikely(th_priority_any(worker->sched)) && (work = th_priority_take(worker))) {
        return work;
    }
    if (th_unlikely(--worker->picks.until_inject == 0) &&
        (work = th_pick_of_one_fairly(worker, take_new))) {
        return work;
    }
    if (worker->picks.pinned_runs < TH_PINNED_LIMIT &&
        (work = th_pinned_take_after(worker, take_ready))) {
        return work;
    }
    work = th_ready_first(worker) ? take(worker) : take_new(worker);
    if (work || (work = th_pinned_take(worker))) {
        return work;
    }
    return th_pinned_take_yielded(worker);
}

#endif
