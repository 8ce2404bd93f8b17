/*
 * policy_sharded.c: a queue for each worker, one inject queue for all, and stealing.
 *
 * Ready fibers come before tasks that have not begun: those that were woken, or whose deadline has
 * passed, have a queue for each worker and an inject queue of their own.
 *
 * The order of a pick: work of high priority (core/ready/priority.h); every so many picks the
 * inject queue; the LIFO slot, unless it has been used often enough in a row; pinned fibers that
 * are ready, likewise; other ready fibers; pinned tasks; the worker's own queue and the fibers that
 * yielded, in the order in which they were queued; a share of the inject queue; the slot and pinned
 * work after all. Then the loop (find.c) steals, and parks.
 */
#include "core/ready/deferred.h"
#include "core/policy/local_queue.h"
#include "core/policy/pick.h"
#include "core/policy/policy.h"
#include "core/policy/ready_first.h"
#include "core/policy/sharded_steal.h"
#include "core/policy/steal_backoff.h"
#include "core/ready/submit.h"
#include "core/ready/wake.h"
#include "core/state/worker.h"
#include "platform/platform.h"
#include "thrum/task.h"

#define INJECT_STREAK TH_LIMIT(256, 2) /* runs from the inject queue before a yielded fiber */
#define READY_STREAK TH_LIMIT(8u, 2u)  /* ready fibers between two looks at the shared ones */
#define BRISK_NS 8000 /* if TH_BATCH runs take less, taking so many keeps no work waiting long */

/* ---- the local queue ---- */

/* Moves half of the full queue, and the task that found it full, to the inject queue at once. */
static TH_COLD void overflow(th_worker *worker, th_work *work) {
    th_chain chain = th_local_overflow(worker);
    th_chain_append(&chain, work);
    th_count(&worker->counters.xoffloads, 1);
    th_count(&worker->counters.xoffloaded, chain.count);
    th_inject_push(&worker->sched->inject, chain.first, chain.count);
    th_notify(worker,
              true); /* as a backlog: a worker that backs off or is the sentinel comes by itself */
}

/* Inlined into submit it would have each hint's path save its registers. */
static TH_NOINLINE void push(th_worker *worker, th_work *work) {
    if (th_unlikely(!th_local_push(worker, work))) {
        overflow(worker, work);
        return;
    }
    th_notify(worker, th_ring_size(&worker->ring) == TH_BACKLOG);
}

/*
 * A worker that goes on looks for ready fibers at its next pick: this word notifies it, so that a
 * pick of one that has none costs one load. The word is a hint: its owner clears it without a
 * fence, so it may be lost. Then a pick at the interval finds them, or a worker that finds nothing
 * else.
 */
static inline void note_ready(th_worker *worker) {
    th_store_relaxed(&worker->xready, 1u); /* relaxed: a hint */
}

/* Notifies one of the workers, each in its turn. */
static void note_one_ready(thrum_sched *sched) {
    const unsigned turn = th_load_relaxed(&sched->xready_turn); /* relaxed: any number will do */
    th_store_relaxed(&sched->xready_turn, turn + 1 < sched->workers_regular ? turn + 1 : 0);
    note_ready(&sched->workers[turn]);
}

/* As overflow. */
static TH_COLD void overflow_ready(th_worker *worker, th_work *work) {
    th_chain chain = th_ring_spill(&worker->ready, TH_READY / 2);
    th_chain_append(&chain, work);
    th_inject_push(&worker->sched->ready, chain.first, chain.count);
    th_notify(worker, true);
}

static TH_NOINLINE void push_ready(th_worker *worker, th_work *work) {
    worker->picks.quick = NULL; /* the work comes before the batch */
    note_ready(worker);
    if (th_unlikely(!th_ring_push(&worker->ready, work))) {
        overflow_ready(worker, work);
        return;
    }
    th_notify(worker, th_ring_size(&worker->ready) == TH_BACKLOG);
}

/* The position in the own queue of the work that comes next. */
static inline uint64_t own_head(const th_worker *worker) {
    return th_batch_head(&worker->batch, &worker->ring);
}

/* ---- submitting ---- */

/* Only the owner fills the slot, so once it is empty it stays so. */
static TH_INLINE_NO_TSAN void submit_next(th_worker *worker, th_work *work) {
    th_work *old = th_afence_take(&worker->fence, &worker->xslot);
    worker->picks.quick = NULL; /* the work comes before the batch */
    /* pairs: th_afence_rescue; publishes the work */
    th_store_release(&worker->xslot, work);
    if (old && old->kind == TH_WORK_FIBER) {
        push_ready(worker, old);
    } else if (old) {
        push(worker, old);
    } else {
        th_notify(worker, false);
    }
}

/*
 * Fibers that yield go behind all other work, into a separate queue of their worker from which
 * others may steal. In the inject queue, as other schedulers have it, a crowd of them would wander
 * from core to core, and each resume would fetch its stack from another one (docs/tuning.md has the
 * figures).
 */
static TH_NO_TSAN void submit_yield(th_worker *worker, th_work *work) {
    if (work->kind != TH_WORK_FIBER) { /* a task that is to come last: to the inject queue's tail */
        th_inject_push(&worker->sched->inject, work, 1);
        th_notify_shared(worker->sched, worker, TH_WAKE_SUBMIT);
        return;
    }
    uint64_t at = th_ring_tail(&worker->yields);
    if (th_unlikely(!th_ring_push(&worker->yields, work))) {
        th_chain chain = th_ring_spill(&worker->yields, TH_YIELDS / 2);
        th_chain_append(&chain, work);
        th_inject_push(&worker->sched->inject, chain.first, chain.count);
        th_notify_shared(worker->sched, worker, TH_WAKE_SUBMIT);
        return;
    }
    worker->sharded.yield_marks[at % TH_YIELD_MARKS] = th_ring_tail(&worker->ring);
    th_notify(worker, th_ring_size(&worker->yields) == TH_BACKLOG);
}

static TH_NO_TSAN void submit(th_worker *worker, th_work *work, unsigned hint) {
    if (hint == THRUM_HINT_NEXT && worker->sched->config.lifo_limit) {
        submit_next(worker, work);
    } else if (hint == THRUM_HINT_YIELD) {
        submit_yield(worker, work);
    } else if (hint != THRUM_HINT_NONE && work->kind == TH_WORK_FIBER) {
        push_ready(worker, work);
    } else {
        push(worker, work);
    }
}

/* Fibers whose descriptors are ready. */
static void submit_ready_chain(th_worker *worker, th_chain *chain) {
    uint64_t before = th_ring_size(&worker->ready);
    worker->picks.quick = NULL;
    note_ready(worker);
    th_ring_push_chain(&worker->ready, chain, chain->count);
    if (chain->count) {
        th_inject_push(&worker->sched->ready, chain->first, chain->count);
        th_notify_shared(worker->sched, worker, TH_WAKE_SUBMIT);
    } else {
        th_notify(worker, before < TH_BACKLOG && th_ring_size(&worker->ready) >= TH_BACKLOG);
    }
}

static TH_NO_TSAN void submit_chain(th_worker *worker, th_chain *chain) {
    if (chain->first->kind == TH_WORK_FIBER) {
        submit_ready_chain(worker, chain);
        return;
    }
    uint64_t before = th_ring_size(&worker->ring);
    th_local_push_chain(worker, chain);
    if (chain->count) {
        /* The work in the ring comes before the rest. The mark stays until it has been of use. */
        if (worker->sharded.inject_served && own_head(worker) >= worker->sharded.inject_end) {
            worker->sharded.inject_end = th_ring_tail(&worker->ring);
            worker->sharded.inject_served = false;
        }
        th_inject_push(&worker->sched->inject, chain->first, chain->count);
        th_notify_shared(worker->sched, worker, TH_WAKE_SUBMIT);
    } else {
        th_notify(worker, before < TH_BACKLOG && th_ring_size(&worker->ring) >= TH_BACKLOG);
    }
}

static TH_NO_TSAN void submit_external(thrum_sched *sched, const th_chain *chain) {
    const bool ready = chain->first->kind == TH_WORK_FIBER;
    th_inject_push(ready ? &sched->ready : &sched->inject, chain->first, chain->count);
    if (ready) {
        note_one_ready(sched);
    }
    th_notify_shared(sched, NULL, TH_WAKE_SUBMIT);
}

/* ---- picking ---- */

static inline th_work *take_slot(th_worker *worker) {
    th_work *work = th_afence_take(&worker->fence, &worker->xslot);
    if (work) {
        worker->sharded.lifo_runs++;
        th_count(&worker->counters.xruns_lifo, 1);
    }
    return work;
}

/*
 * The work in a batch cannot be stolen, only rescued; so beside other workers a batch is taken only
 * while runs are so short that none of it waits long. The clock is read once in TH_BATCH takes.
 */
static inline bool may_take_batch(th_worker *worker) {
    if (worker->sched->workers_count == 1) {
        return true;
    }
    if (worker->picks.clock_skips) {
        worker->picks.clock_skips--;
        return worker->picks.brisk;
    }
    uint64_t now = th_os_ticks();
    worker->picks.brisk = th_os_ticks_ns(now - worker->picks.clock_at) < BRISK_NS;
    worker->picks.clock_at = now;
    worker->picks.clock_skips = TH_BATCH - 1;
    return worker->picks.brisk;
}

/* Takes work from one of the worker's own rings, or from the batch taken from it before. */
static inline th_work *take_own(th_worker *worker, th_batch *batch, th_ring *ring) {
    th_work *work = th_batch_take(batch, &worker->fence);
    if (work || !th_ring_size(ring)) {
        return work;
    }
    work = th_local_take(worker, batch, ring, may_take_batch(worker));
    if (th_batch_any(batch)) {
        worker->picks.clock_skips = 0;
        worker->picks.quick = th_is_quick(worker, batch) ? batch : NULL;
    }
    return work;
}

static inline th_work *take_ring(th_worker *worker) {
    th_work *work = take_own(worker, &worker->batch, &worker->ring);
    if (work) {
        worker->sharded.lifo_runs = 0;
        worker->picks.pinned_runs = 0;
        th_count(&worker->counters.xruns_ring, 1);
    }
    return work;
}

/* Takes a share of a shared queue into worker->collected, no more than fits into this ring. */
static bool take_share(th_worker *worker, th_inject *inject, th_ring *ring, size_t most) {
    if (th_inject_is_empty(inject)) {
        return false;
    }
    if (!th_inject_turn_begin(inject)) {
        worker->turn_lost = true;
        return false;
    }
    if (most > 1) {
        size_t room = th_local_room(worker, ring);
        most = most < room + 1 ? most : room + 1;
    }
    th_inject_take_into(inject, th_local_parts(worker), most, &worker->collected);
    th_inject_turn_end(inject);
    return true;
}

/* After that, and after the own queue got the rest of it. */
static void notify_share(th_worker *worker, const th_inject *inject, const th_ring *ring) {
    /*
     * seq: the turn is free before the queue is read: workers that came while it was taken went
     * away, and may have parked (pending); so this one looks whether there is more for them
     */
    th_fence_seq();
    if (!th_inject_is_empty(inject) || th_ring_size(ring) >= TH_BACKLOG) {
        th_notify(worker, true);
    } else if (th_ring_size(ring)) {
        th_notify(worker, false); /* for the task that was queued here */
    }
}

/* Takes a share of the inject queue: returns the first, puts the rest into the own queue. */
static th_work *take_inject(th_worker *worker, size_t most) {
    thrum_sched *sched = worker->sched;
    th_ring *ring = &worker->ring;
    th_chain *chain = &worker->collected; /* not on the task's stack (base/annotate.h) */
    if (!take_share(worker, &sched->inject, ring, most)) {
        return NULL;
    }
    worker->sharded.inject_served = true;
    th_work *work = th_chain_take(chain);
    if (chain->first) {
        th_local_push_chain(worker, chain);
        worker->backoff.victim = NULL; /* no particular victim */
        th_steal_backoff_begin(worker);
        worker->sharded.inject_end = th_ring_tail(ring);
    }
    if (work) {
        worker->sharded.lifo_runs = 0;
        worker->picks.pinned_runs = 0;
        th_count(&worker->counters.xruns_inject, 1);
    }
    notify_share(worker, &sched->inject, ring);
    return work;
}

/* Takes a share of the ready fibers that all workers share. */
static th_work *take_ready_shared(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    th_chain *chain = &worker->collected;
    if (!take_share(worker, &sched->ready, &worker->ready, TH_READY / 2)) {
        return NULL;
    }
    th_work *work = th_chain_take(chain);
    th_ring_push_chain(&worker->ready, chain, chain->count);
    if (work) {
        th_count(&worker->counters.xruns_inject, 1);
    }
    if (!th_inject_is_empty(&sched->ready)) {
        note_one_ready(sched);
    }
    notify_share(worker, &sched->ready, &worker->ready);
    return work;
}

static th_work *take_ready_own(th_worker *worker) {
    th_work *work = th_ring_pop(&worker->ready);
    if (work) {
        th_count(&worker->counters.xruns_ring, 1);
    }
    return work;
}

static inline bool any_ready(const th_worker *worker) {
    return th_ring_size(&worker->ready) || !th_inject_is_empty(&worker->sched->ready);
}

/* Its own first, and after so many the shared ones. */
static TH_NOINLINE th_work *take_ready(th_worker *worker) {
    const bool shared_first = worker->sharded.ready_streak >= READY_STREAK;
    if (shared_first) {
        worker->sharded.ready_streak = 0;
        th_fair_if_late(worker);
    }
    th_work *work = shared_first ? take_ready_shared(worker) : take_ready_own(worker);
    if (!work) {
        work = shared_first ? take_ready_own(worker) : take_ready_shared(worker);
    }
    worker->sharded.ready_streak++;
    if (work) {
        worker->sharded.lifo_runs = 0;
    } else {
        th_store_relaxed(&worker->xready, 0u); /* relaxed: a hint */
    }
    return work;
}

static th_work *take_ready_if_any(th_worker *worker) {
    return th_load_relaxed(&worker->xready) ? take_ready(worker) : NULL; /* relaxed: a hint */
}

static th_work *take_yield(th_worker *worker) {
    th_work *work = take_own(worker, &worker->yields_batch, &worker->yields);
    if (work) {
        th_count(&worker->counters.xruns_ring, 1);
    }
    return work;
}

/*
 * A fiber that yielded comes behind all work queued before and before all work queued since: for
 * the own queue exactly; for the inject queue as long as that is not more than INJECT_STREAK. Work
 * on other workers that waits behind a long task is taken every so often, or a worker that polls
 * would never help.
 */
static th_work *pick_yielded(th_worker *worker) {
    uint64_t head = own_head(worker);
    uint64_t oldest = th_batch_head(&worker->yields_batch, &worker->yields);
    bool mine = oldest != th_ring_tail(&worker->yields) &&
                worker->sharded.yield_marks[oldest % TH_YIELD_MARKS] <= head;
    bool pinned = th_pinned_yield_due(worker) && worker->sharded.yields_end <= head;
    if (th_likely(!mine && !pinned)) {
        return NULL;
    }
    th_work *work;
    if (worker->sharded.inject_streak < INJECT_STREAK && head >= worker->sharded.inject_end &&
        !th_inject_is_empty(&worker->sched->inject) && (work = take_inject(worker, 1))) {
        worker->sharded.inject_streak++;
        return work;
    }
    worker->sharded.inject_streak = 0;
    if (++worker->sharded.polls % TH_POLLS_PER_LOOK == 0 &&
        (work = th_sharded_look_around(worker))) {
        return work;
    }
    worker->sharded.yield_turn = !worker->sharded.yield_turn;
    if (pinned && (worker->sharded.yield_turn || !mine)) {
        return th_pinned_take_yielded(worker);
    }
    work = take_yield(worker);
    return work ? work : th_pinned_take_yielded(worker);
}

/* Takes tasks that have not begun, and fibers that yielded. */
static TH_ALWAYS_INLINE th_work *pick_new(th_worker *worker, size_t most) {
    th_work *work = th_unlikely(th_any_yielded(worker)) ? pick_yielded(worker) : NULL;
    work = work ? work : take_ring(worker);
    return work ? work : take_inject(worker, most);
}

/*
 * The pick at each interval: takes work that would starve behind a busy queue, behind ready fibers,
 * or behind pinned tasks that take turns with these. While the own queue holds work from the inject
 * queue, that work is older, and will run without further action: taking from the inject queue then
 * would only reverse the order.
 */
static TH_NOINLINE th_work *pick_fairly(th_worker *worker) {
    worker->picks.until_inject = th_fair_interval(worker);
    th_work *work = th_deferred_take(worker);
    worker->picks.fair_last = !worker->picks.fair_last && worker->picks.until_inject == 1;
    if (worker->picks.until_inject == 1 && !worker->picks.fair_last) {
        return work; /* an interval of 1: every other pick, or the own queue would starve */
    }
    if (!work && th_look_at_left(worker, worker->picks.fair_at)) {
        work = th_rescue_left(worker);
    }
    if (work) {
        return work;
    }
    /* This does not end a row of runs: with a short interval the row of the slot or of pinned work
     * would begin anew each time, and the other queues would never come. */
    unsigned lifo_runs = worker->sharded.lifo_runs;
    unsigned pinned_runs = worker->picks.pinned_runs;
    if (own_head(worker) >= worker->sharded.inject_end) {
        work = take_inject(worker, 1);
    }
    if (!work && (any_ready(worker) || worker->pinned.first)) {
        note_ready(worker);
        work = pick_new(worker, 1);
    }
    worker->sharded.lifo_runs = lifo_runs;
    worker->picks.pinned_runs = pinned_runs;
    return work;
}

static TH_ALWAYS_INLINE th_work *pick_normal(th_worker *worker) {
    th_work *work;
    if (th_unlikely(--worker->picks.until_inject == 0) && (work = pick_fairly(worker))) {
        return work;
    }
    if (worker->sharded.lifo_runs < worker->sched->config.lifo_limit &&
        (work = take_slot(worker))) {
        return work;
    }
    if (worker->picks.pinned_runs < TH_PINNED_LIMIT &&
        (work = th_pinned_take_after(worker, take_ready_if_any))) {
        return work;
    }
    worker->picks.pinned_runs = 0;
    /* relaxed: a hint */
    if (th_unlikely(th_load_relaxed(&worker->xready)) && th_ready_first(worker) &&
        (work = take_ready(worker))) {
        return work;
    }
    work = pick_new(worker, th_local_grab(worker));
    worker->sharded.lifo_runs = 0;
    if (work) {
        return work;
    }
    if ((work = take_slot(worker)) || (work = th_pinned_take(worker))) {
        return work;
    }
    work = pick_yielded(worker); /* it may have waited for work of a batch that was rescued */
    return work || !any_ready(worker) ? work : take_ready(worker);
}

/* Apart from `pick`, which thus has to keep nothing across a call. */
static TH_NOINLINE th_work *pick_by_priority(th_worker *worker) {
    th_work *work = th_priority_take(worker);
    return work ? work : pick_normal(worker);
}

static th_work *pick(th_worker *worker) {
    th_count(&worker->xtick, 1);
    return th_priority_any(worker->sched) ? pick_by_priority(worker) : pick_normal(worker);
}

const th_policy th_policy_sharded = {
    .submit = submit,
    .submit_chain = submit_chain,
    .submit_external = submit_external,
    .pick = pick,
    .steal = th_sharded_steal,
    .pending = th_sharded_pending,
    .holds = th_sharded_holds,
    .help = th_sharded_help,
    .rescue = th_sharded_rescue,
    .hand_over = th_sharded_hand_over,
    .runs_events_first = true,
};
