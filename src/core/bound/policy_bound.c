/*
 * policy_bound.c: the work of a bound thread while it waits: first work that is tied to it, then,
 * without workers, also its own posts, and then loose work: posted by external threads, or due by
 * its deadline.
 */
#include "core/ready/bound_wake.h"
#include "core/policy/pick.h"
#include "core/ready/submit.h"
#include "core/bound/bound.h"

/* Picks between checks of the deadlines, after which loose work comes first. */
#define PICKS_PER_LOOK TH_LIMIT(16u, 2u)

/* The most loose work in a row that comes before a fiber that yielded. */
#define LOOSE_STREAK TH_LIMIT(256u, 2u)

static inline bool has_workers(const thrum_sched *sched) {
    return sched->workers_count != 0;
}

static TH_NO_TSAN void submit(th_worker *worker, th_work *work, unsigned hint) {
    thrum_sched *sched = worker->sched;
    if (has_workers(sched)) {
        worker->posting = (th_chain){work, work, 1}; /* not on the task's stack (base/annotate.h) */
        sched->policy->submit_external(sched, &worker->posting);
    } else {
        if (hint == THRUM_HINT_YIELD) {
            th_pinned_yield(worker, work);
        } else {
            th_pinned_put(worker, work);
        }
        th_bound_posted(worker);
    }
}

static TH_NO_TSAN void submit_chain(th_worker *worker, th_chain *chain) {
    thrum_sched *sched = worker->sched;
    if (has_workers(sched)) {
        sched->policy->submit_external(sched, chain);
    } else {
        th_work_link(chain->last, NULL);
        th_pinned_put_chain(worker, chain);
        th_bound_posted(worker);
    }
}

/* With no workers: the next threads that wait run it. */
static void submit_external(thrum_sched *sched, const th_chain *chain) {
    th_inject_push(&sched->inject, chain->first, chain->count);
    th_bound_wake(sched, chain->count);
}

/* With no workers: takes one post of an external thread. */
static th_work *take_loose(th_worker *worker) {
    th_inject *inject = &worker->sched->inject;
    if (th_inject_is_empty(inject) || !th_inject_turn_begin(inject)) {
        return NULL;
    }
    th_inject_take_into(inject, 1, 1, &worker->collected);
    th_inject_turn_end(inject);
    /*
     * seq: the turn is free before the queue is read: threads that came while we had it went away,
     * and may sleep; `sleep` has it the other way
     */
    th_fence_seq();
    if (!th_inject_is_empty(inject)) {
        th_bound_wake(worker->sched, 1);
    }
    worker->tie.owes_loose = false;
    return th_chain_take(&worker->collected);
}

/*
 * The pick at each interval: takes work that an endless row of ready work would keep waiting, as
 * other policies do. The inbox is queued, since such a row never leaves the list empty.
 */
static th_work *pick_fairly(th_worker *worker) {
    th_pinned_collect(worker);
    if (th_pinned_root_is_next(worker)) {
        worker->picks.until_inject = 1; /* the pick after it is fair */
        return NULL;
    }
    if (worker->tie.owes_loose) {
        worker->tie.owes_loose = false;
        th_work *loose = take_loose(worker);
        if (loose) {
            worker->picks.until_inject = 1; /* as above */
            return loose;
        }
    }
    worker->picks.until_inject = worker->sched->config.global_interval;
    th_work *work = th_deferred_take(worker);
    worker->picks.fair_last = !worker->picks.fair_last && worker->picks.until_inject == 1;
    if (work || (worker->picks.until_inject == 1 && !worker->picks.fair_last)) {
        return work; /* an interval of 1: every other pick, or ready work would starve */
    }
    if (!th_pinned_yield_due(worker)) {
        return NULL;
    }
    if (!has_workers(worker->sched) && worker->sharded.inject_streak < LOOSE_STREAK &&
        (work = take_loose(worker))) {
        worker->sharded.inject_streak++;
        worker->picks.until_inject = 1; /* more loose work, or the fiber, follows at once */
        return work;
    }
    worker->sharded.inject_streak = 0;
    return th_pinned_take_yielded(worker);
}

/*
 * Takes loose work, unless a tied fiber is ready. Then the next fair pick takes it: that is the
 * pick after the root if only the root is ready. Else it comes early if the loose work has waited
 * for long.
 */
static th_work *take_loose_soon(th_worker *worker) {
    if (!worker->pinned_ready) {
        return take_loose(worker);
    }
    if (th_inject_is_empty(&worker->sched->inject)) {
        return NULL;
    }
    if (!worker->tie.owes_loose) {
        worker->tie.owes_loose = true;
        worker->picks.fair_at = th_os_ticks();
    }
    if (worker->pinned_ready == &worker->home.work) {
        worker->picks.until_inject = 1;
    } else {
        th_fair_if_late(worker);
    }
    return NULL;
}

/* Nothing else was picked: what is due by now, however few picks ago the last look was. */
static TH_NOINLINE th_work *pick_due(th_worker *worker) {
    th_work *work = th_bound_look(worker);
    work = work ? work : th_pinned_take(worker);
    return work || has_workers(worker->sched) ? work : take_loose(worker);
}

static th_work *pick(th_worker *worker) {
    const thrum_sched *sched = worker->sched;
    th_count(&worker->xtick, 1);
    bool looks = worker->xtick % PICKS_PER_LOOK == 0;
    bool in_time =
        worker->tie.awaits && worker->tie.awaits_until != TH_FOREVER; /* the root, as a stop */
    th_work *work = looks || in_time ? th_bound_look(worker) : NULL;
    if (!work && th_unlikely(th_priority_any(sched)) && !th_pinned_root_is_next(worker)) {
        work = th_priority_take(worker);
    }
    if (!work && looks && !has_workers(sched)) {
        /* or a task that posts itself would keep it away for ever */
        work = take_loose_soon(worker);
    }
    if (!work && th_unlikely(--worker->picks.until_inject == 0)) {
        work = pick_fairly(worker);
    }
    if (!work) {
        work = th_pinned_take(worker);
    }
    if (!work && !has_workers(sched)) {
        work = take_loose(worker);
    }
    if (!work && sched->config.help_when_bound && sched->policy->help) {
        work = sched->policy->help(worker);
    }
    work = work ? work : th_pinned_take_yielded(worker);
    work = th_likely(work) ? work : pick_due(worker);
    work = th_likely(work) ? work : th_priority_take_rest(worker);
    if (work) {
        th_bound_come_back(worker); /* the root may switch to a fiber at once, past th_bound_find */
    }
    return work;
}

/* Whether there is loose work that no holder of the turn is going to see. */
static bool is_any_loose(const thrum_sched *sched) {
    const th_inject *inject = &sched->inject;
    return !has_workers(sched) && !th_inject_is_empty(inject) && !th_inject_is_taken(inject);
}

/* The same for work of another priority. What all share is the workers', even if it helps them. */
static bool is_any_by_priority(const th_worker *worker) {
    /* relaxed: as th_priority_any */
    return has_workers(worker->sched) ? th_load_relaxed(&worker->xtied_priorities) != 0
                                      : th_priority_pending(worker);
}

static bool pending(th_worker *worker) {
    return worker->pinned.first || worker->pinned_yields.first ||
           !th_inject_is_empty(&worker->inbox) || is_any_loose(worker->sched) ||
           is_any_by_priority(worker);
}

const th_policy th_policy_bound = {
    .submit = submit,
    .submit_chain = submit_chain,
    .submit_external = submit_external,
    .pick = pick,
    .steal = th_steal_none,
    .pending = pending,
    .rescue = th_rescue_none,
};
