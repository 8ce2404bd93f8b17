/*
 * priority.c: see priority.h.
 */
#include "core/ready/priority.h"

#include "core/ready/bound_wake.h"
#include "core/ready/submit.h"
#include "core/ready/wake.h"

static inline th_priority_queue *queue_of(th_priority_queue queues[2], th_priority priority) {
    return &queues[priority - 1];
}

static inline bool is_any(const th_priority_queue *queue) {
    return queue->ready.first || queue->rest.first;
}

static inline uint32_t bits_of(const th_priority_queue queues[2]) {
    return (is_any(&queues[0]) ? (uint32_t)TH_HIGH : 0) |
           (is_any(&queues[1]) ? (uint32_t)TH_LOW : 0);
}

/* With the lock, after each change. `owner`: the worker whose queue has changed, or NULL. */
static void show(thrum_sched *sched, th_worker *owner) {
    const th_priorities *all = &sched->priorities;
    if (owner) {
        /* relaxed: as th_priority_any */
        th_store_relaxed(&owner->xtied_priorities, bits_of(owner->tied));
    }
    const uint32_t bits = bits_of(all->shared) | (all->tied ? TH_PRIORITIES_TIED : 0);
    if (th_load_relaxed(&sched->xpriorities) != bits) { /* relaxed: written with the lock */
        th_store_relaxed(&sched->xpriorities, bits);    /* relaxed: see th_priority_any */
    }
}

/* ---- queueing ---- */

/* The worker that the work is tied to, or NULL. Without workers, a bound thread's is tied to it. */
static TH_INLINE_NO_TSAN th_worker *target_of(thrum_sched *sched, th_worker *by,
                                              const th_work *work) {
    const int32_t pinned = th_place_worker(work->worker);
    if (pinned >= 0) {
        return th_worker_at(sched, pinned);
    }
    return sched->workers_count ? NULL : by;
}

static void notify(thrum_sched *sched, th_worker *by, th_worker *target) {
    if (target && target == by) {
        th_bound_posted(by);
    } else if (target) {
        (void)th_wake_worker(target);
    } else if (sched->workers_count) {
        th_notify_shared(sched, by && !by->bound ? by : NULL, TH_WAKE_SUBMIT);
    } else {
        th_bound_wake(sched, 1);
    }
}

/* Not shown to the thread sanitizer, since work is read in the worker's context (queue/work.h). */
TH_NO_TSAN void th_priority_put(thrum_sched *sched, th_worker *by, th_work *work, unsigned hint) {
    th_priorities *all = &sched->priorities;
    th_worker *target = target_of(sched, by, work);
    const th_priority priority = th_place_priority(work->worker);
    const bool ready = th_is_ready(work, hint);
    th_lock_acquire(&all->lock);
    th_tsan_release(all); /* shows the lock to the sanitizer */
    th_priority_queue *queue = queue_of(target ? target->tied : all->shared, priority);
    th_chain_append(ready ? &queue->ready : &queue->rest, work);
    all->tied += target != NULL;
    show(sched, target);
    th_lock_release(&all->lock);
    notify(sched, by, target);
}

/* ---- taking ---- */

/* Whether the worker takes work that all share. */
static bool takes_shared(const th_worker *worker) {
    const thrum_sched *sched = worker->sched;
    return !worker->bound || !sched->workers_count || sched->config.help_when_bound;
}

/* The priorities of the work that it may take. */
static uint32_t seen_by(const th_worker *worker) {
    /* relaxed: as th_priority_any */
    const uint32_t word = th_load_relaxed(&worker->sched->xpriorities);
    uint32_t seen = takes_shared(worker) ? word & TH_PRIORITIES_SHARED : 0;
    if (word & TH_PRIORITIES_TIED) {
        seen |= th_load_relaxed(&worker->xtied_priorities); /* relaxed: as above */
    }
    return seen;
}

bool th_priority_seen(const th_worker *worker) {
    return seen_by(worker) != 0;
}

/* With the lock. Ready fibers come first, but a task begins at every so many takes, from 2 on. */
static TH_NO_TSAN th_work *take_from(th_priority_queue *queue, unsigned interval) {
    const bool both = queue->ready.first && queue->rest.first;
    queue->passed = both ? queue->passed + 1 : 0;
    if (both && queue->passed >= (interval > 1 ? interval : 2)) {
        queue->passed = 0;
        return th_chain_take(&queue->rest);
    }
    return th_chain_take(queue->ready.first ? &queue->ready : &queue->rest);
}

/* Pinned work first, or in turn with that of all if there are both: for each priority by itself. */
static TH_NO_TSAN th_work *take(th_worker *worker, th_priority priority) {
    thrum_sched *sched = worker->sched;
    th_priorities *all = &sched->priorities;
    th_priority_picks *picks = &worker->priority_picks;
    th_lock_acquire(&all->lock);
    th_tsan_acquire(all);
    th_priority_queue *tied = queue_of(worker->tied, priority);
    th_priority_queue *shared = queue_of(all->shared, priority);
    const bool may = takes_shared(worker) && is_any(shared);
    const bool own = is_any(tied) && !(may && (picks->tied_last & (uint32_t)priority));
    th_work *work = NULL;
    if (own || may) {
        work = take_from(own ? tied : shared, sched->config.global_interval);
        all->tied -= own;
        show(sched, own ? worker : NULL);
    }
    th_lock_release(&all->lock);
    if (work) {
        picks->tied_last &= ~(uint32_t)priority;
        picks->tied_last |= own ? (uint32_t)priority : 0;
        th_priority_runs(worker, work->worker);
        if (own) {
            th_count(&worker->counters.xruns_pinned, 1);
        } else {
            th_count(&worker->counters.xruns_inject, 1);
        }
    }
    return work;
}

static th_work *take_low(th_worker *worker) {
    worker->priority_picks.low = 0;
    return take(worker, TH_LOW);
}

/* Whether low work comes first: it has waited for long, and did not come first at the last pick. */
static bool is_low_due(th_priority_picks *picks, uint32_t seen, unsigned interval) {
    const bool again = picks->low_first;
    picks->low_first = false;
    return (seen & TH_LOW) && ++picks->low >= interval && !again;
}

/*
 * A row of picks that take high work goes on across low work that comes first, or the two together
 * would keep normal work waiting for ever.
 */
th_work *th_priority_take(th_worker *worker) {
    const thrum_config *config = &worker->sched->config;
    th_priority_picks *picks = &worker->priority_picks;
    const uint32_t seen = seen_by(worker);
    const bool low_due = is_low_due(picks, seen, config->low_interval);
    picks->row = worker->xtick == picks->tick + 1 ? picks->row : 0;
    if (picks->row >= config->high_limit) {
        picks->row = 0;
        return NULL; /* other work comes once */
    }
    th_work *work = low_due ? take_low(worker) : NULL;
    picks->low_first = work != NULL;
    if (!work && (seen & TH_HIGH) && (work = take(worker, TH_HIGH))) {
        picks->row++;
    }
    if (work) {
        picks->tick = worker->xtick;
        /* This pick counts for the fair one as well, which the next other work is. */
        worker->picks.until_inject -= worker->picks.until_inject > 1;
    }
    return work;
}

th_work *th_priority_take_some(th_worker *worker) {
    const uint32_t seen = seen_by(worker);
    th_work *work = seen & TH_HIGH ? take(worker, TH_HIGH) : NULL;
    return work || !(seen & TH_LOW) ? work : take_low(worker);
}

/* ---- the work in hand ---- */

TH_NO_TSAN void th_priority_set(th_worker *worker, th_priority priority) {
    worker->fresh.worker = th_place_of(priority, -1);
    if (priority != TH_NORMAL) {
        th_or_relaxed(&worker->xextra, TH_EXTRA_PRIORITY); /* relaxed: only the owner reads it */
    } else {
        th_and_relaxed(&worker->xextra, ~TH_EXTRA_PRIORITY); /* relaxed: as above */
    }
}
