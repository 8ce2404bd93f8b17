/*
 * policy_fifo.c: tasks are taken in the order in which they were posted, or their deadlines passed.
 *
 *     front   posted work, and work whose deadline has passed: a lock-free stack, newest first
 *     rest    work drained from the front, in order; it belongs to the combiner's place
 *     ready   a published block of it: any thread takes the oldest by one exchange
 *
 * There are two of each, two lanes: ready fibers (those that were woken, or whose deadline has
 * passed) comes before the rest. In each the order is that of the posts.
 *
 * A worker that finds nothing ready takes the combiner's place, if it is free: it drains the front,
 * puts it in order, publishes a block, gives its place up and wakes as many sleepers as there is
 * work for. A scheduler with one worker needs no combiner and no ready queue: the rest is that
 * worker's.
 *
 * core/policy/FIFO.md explains why nothing is lost in between.
 */
#include "core/policy/pick.h"
#include "core/policy/policy.h"
#include "core/due/timer.h"
#include "core/ready/submit.h"
#include "core/ready/wake.h"
#include "core/basis/fifo.h"

#include "core/state/worker.h"
#include "platform/platform.h"

#define BRISK_NS 1000  /* runs as short as this are taken several at a time */
#define LOOK_NS 200000 /* between two looks at the batches of other workers */

/* ---- submitting ---- */

static inline bool is_sole(const thrum_sched *sched) {
    return sched->workers_count == 1;
}

static TH_INLINE_NO_TSAN th_fifo *lane_of(thrum_sched *sched, const th_work *work, unsigned hint) {
    return th_is_ready(work, hint) ? &sched->fifo_ready : &sched->fifo;
}

/* By the combiner: moves the front behind the rest, oldest first. */
static inline void refill(th_fifo *fifo) {
    th_chain_join(&fifo->rest, th_mpsc_drain(&fifo->front));
    th_tsan_acquire(&fifo->front.xtop); /* where the drain is not shown */
}

/*
 * Before a post: work whose deadline has passed is queued now, so that later posts come behind it,
 * as earlier posts come before it.
 */
static inline bool is_any_due(const thrum_sched *sched, int64_t *now) {
    /* pairs: set_earliest; a post that finds no due deadline comes behind their pushes, and the
     * only worker, which pushes nothing, sees them */
    int64_t first = th_load_acquire(&sched->workers[0].own_timers.xearliest);
    return th_unlikely(first != INT64_MAX) && first <= (*now = th_os_now());
}

static inline void fire_due(th_worker *worker) {
    int64_t now;
    while (is_any_due(worker->sched, &now)) {
        th_timers_fire(worker, &worker->sched->workers[0].own_timers, now, false);
    }
}

static inline void fire_due_external(thrum_sched *sched) {
    int64_t now;
    while (is_any_due(sched, &now)) {
        th_timers_fire_external(&sched->workers[0].own_timers, now);
    }
}

/* A post of the only worker: it need not go through the front, only stay behind it. */
static TH_NO_TSAN void append_sole(th_fifo *fifo, th_chain chain) {
    refill(fifo);
    th_work_link(chain.last, NULL);
    th_chain_join(&fifo->rest, chain);
}

/* Puts the worker's outbox, the work put back until now, before the chain. */
static TH_NO_TSAN th_chain with_outbox(th_worker *worker, th_chain chain) {
    th_chain all = th_batch_take_all(&worker->fifo.outbox, &worker->fence);
    th_chain_join(&all, chain);
    return all;
}

/*
 * A worker's post. For a single task the sentinel's next round is soon enough, as in th_notify: the
 * poster itself mostly comes earlier, at the end of its task.
 */
static TH_NO_TSAN void append(th_worker *worker, th_fifo *fifo, th_chain chain) {
    thrum_sched *sched = worker->sched;
    fire_due(worker);
    if (is_sole(sched)) {
        append_sole(fifo, chain);
        return;
    }
    if (th_unlikely(th_batch_any(&worker->fifo.outbox)) && fifo == &sched->fifo) {
        chain = with_outbox(worker, chain);
    }
    if (!chain.first) {
        return; /* the outbox was rescued */
    }
    th_tsan_release(&fifo->front.xtop); /* the push is not shown */
    bool backlog = !th_mpsc_push(&fifo->front, chain.first, chain.count) || chain.count > 1 ||
                   th_mcsp_size(&fifo->ready);
    /* seq: pushed before the park word is read; th_park announces, then looks */
    uint64_t word = th_load_seq(&sched->xpark);
    if (!th_park_left(word, backlog)) {
        th_notify_somebody(worker, word);
    }
}

static TH_NO_TSAN void submit(th_worker *worker, th_work *work, unsigned hint) {
    /*
     * A task that its body posted again, or a fiber that yielded: no thread can detect whether it
     * was queued before this worker shows up again. So a few of them are queued in one exchange,
     * once the batch in hand has been run.
     */
    th_tsan_release(&worker->fence); /* for a rescuer */
    if (worker->unseen && th_batch_any(&worker->batch) &&
        th_batch_put(&worker->fifo.outbox, work)) {
        return;
    }
    append(worker, lane_of(worker->sched, work, hint), (th_chain){work, work, 1});
}

static TH_NO_TSAN void submit_chain(th_worker *worker, th_chain *chain) {
    th_work_link(chain->last, NULL);
    append(worker, lane_of(worker->sched, chain->first, THRUM_HINT_NONE), *chain);
}

static TH_NO_TSAN void submit_external(thrum_sched *sched, const th_chain *chain) {
    th_fifo *fifo = lane_of(sched, chain->first, THRUM_HINT_NONE);
    fire_due_external(sched);
    th_mpsc_push(&fifo->front, chain->first, chain->count);
    /* seq: pushed before the park word is read; th_park announces, then looks */
    uint64_t word = th_load_seq(&sched->xpark);
    if (th_park_anyone(word) && !th_park_searchers(word)) {
        th_wake_one(sched, NULL, TH_WAKE_SUBMIT);
    }
}

/* ---- the combiner's place ---- */

static inline bool has_unready(const th_fifo *fifo) {
    /* relaxed: a guess, or ordered by the caller's fence */
    return !th_mpsc_is_empty(&fifo->front) || th_load_relaxed(&fifo->xrest);
}

/* The work that is left for others in a lane. */
static uint64_t left_in(const th_fifo *fifo) {
    return th_mcsp_size(&fifo->ready) + (has_unready(fifo) ? 1 : 0);
}

/*
 * After the combiner gave its place up: wakes as many workers as there is work left for. It wakes
 * them all itself: a wake takes its waker some 20 us, and in a chain of wakes one late worker stops
 * it.
 */
static void wake_others(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    /* seq: work published and the combiner's place given up before the park word is read; th_park
     * announces, looks and signals */
    th_fence_seq();
    uint64_t word = th_load_relaxed(&sched->xpark); /* relaxed: ordered by the fence */
    if (!th_park_anyone(word)) {
        return;
    }
    uint64_t left = left_in(&sched->fifo_ready) + left_in(&sched->fifo);
    uint64_t coming = th_park_searchers(word) - (worker->searching ? 1u : 0u);
    if (left > coming) {
        th_wake_many(sched, worker, left - coming, TH_WAKE_CHAIN);
    }
}

static TH_NO_TSAN void push_due(th_fifo *fifo, th_chain chain) {
    if (chain.first) {
        th_tsan_release(&fifo->front.xtop); /* the push is not shown */
        th_mpsc_push(&fifo->front, chain.first, chain.count);
    }
}

static TH_NO_TSAN void submit_due(thrum_sched *sched, th_chain *chain) {
    th_chain begun = {0};
    th_chain rest = {0};
    for (th_work *work; (work = th_chain_take(chain));) {
        th_chain_append(th_is_ready(work, THRUM_HINT_NONE) ? &begun : &rest, work);
    }
    push_due(&sched->fifo_ready, begun);
    push_due(&sched->fifo, rest);
}

/* The caller takes one of them, or sees to it that another worker does (pick). */
static void notify_due(th_worker *worker, uint64_t count) {
    thrum_sched *sched = worker->sched;
    worker->fifo.fired = true;
    /* relaxed: a guess; the worker that drains them wakes others for the rest (schedule) */
    if (count > 1 && th_park_anyone(th_load_relaxed(&sched->xpark))) {
        th_wake_many(sched, worker, count - 1, TH_WAKE_CHAIN);
    }
}

/* When nothing is ready: drains, publishes, wakes; returns the oldest work, or NULL. */
static th_work *schedule(th_worker *worker, th_fifo *fifo) {
    if (!has_unready(fifo)) {
        return NULL;
    }
    if (!th_combiner_take(&fifo->combiner)) {
        worker->turn_lost = true; /* its holder publishes very soon */
        return NULL;
    }
    th_work *work = NULL;
    refill(fifo);
    /* Only the combiner fills the ready queue: once empty, it stays empty. */
    if (!th_mcsp_size(&fifo->ready)) {
        work = th_chain_take(&fifo->rest);
    }
    bool more = th_mcsp_publish(&fifo->ready, &fifo->rest) != 0 || !work;
    more |= fifo->rest.first != NULL;
    /* relaxed: ordered before the combiner gives its place up; other threads guess by it, or have
     * fenced */
    th_store_relaxed(&fifo->xrest, fifo->rest.first ? 1u : 0u);
    work = work ? work : th_mcsp_take(&fifo->ready);
    if (th_combiner_give(&fifo->combiner) || more) {
        wake_others(worker);
    }
    return work;
}

/* ---- taking ---- */

static bool has_private(const th_worker *victim) {
    return th_batch_seen(&victim->batch) || th_batch_seen(&victim->fifo.outbox);
}

/*
 * Takes the victim's batch, and posts the work that the victim is about to post. Returns the first
 * of the batch; the rest becomes the batch of the rescuer, which has none.
 */
static TH_NO_TSAN th_work *rescue_private(th_worker *worker, th_worker *victim) {
    th_work *taken[TH_BATCH];
    th_work *posts[TH_BATCH];
    th_chain chain = {0};
    if (!th_afence_rescue_begin(&victim->fence, th_fence_heavy)) {
        return NULL;
    }
    uint64_t n = th_batch_rescue(&victim->batch, taken);
    uint64_t posted = th_batch_rescue(&victim->fifo.outbox, posts);
    th_tsan_acquire(&victim->fence); /* the victim's batches are not shown */
    th_afence_rescue_end(&victim->fence);
    for (uint64_t i = 0; i < posted; i++) {
        th_chain_append(&chain, posts[i]);
    }
    if (posted) {
        append(worker, &worker->sched->fifo, chain);
    }
    worker->fifo.batch_ready = false; /* if some of it is, it is no less ready than the rest */
    return th_batch_keep(&worker->batch, taken, n);
}

static th_work *rescue_any(th_worker *worker, bool *unsure) {
    return th_rescue_any(worker, unsure, has_private, rescue_private);
}

/*
 * Whether runs are so short that the work in a batch never waits long. Also sets `look` when it is
 * time to look at the batches of other workers. The clock is read once in TH_BATCH takes while runs
 * are short, else each time.
 */
static inline bool is_brisk(th_worker *worker) {
    if (worker->picks.brisk && worker->picks.clock_skips) {
        worker->picks.clock_skips--;
        return true;
    }
    uint64_t now = th_os_ticks();
    unsigned takes = worker->picks.brisk ? TH_BATCH : 1;
    worker->picks.brisk = th_os_ticks_ns(now - worker->picks.clock_at) < BRISK_NS * takes;
    worker->picks.clock_at = now;
    worker->picks.clock_skips = TH_BATCH - 1;
    if (th_os_ticks_ns(now - worker->fifo.looked_at) > LOOK_NS) {
        worker->fifo.looked_at = now;
        worker->fifo.look = true;
    }
    return worker->picks.brisk;
}

/*
 * Takes the oldest ready work; several at once when there is plenty for all workers, and runs are
 * short: each take moves a cache line from worker to worker, which takes as long as ten short runs.
 */
static th_work *take_published(th_worker *worker, th_fifo *fifo) {
    th_mcsp *ready = &fifo->ready;
    uint64_t size = th_mcsp_size(ready);
    if (!size) {
        return NULL;
    }
    bool brisk = is_brisk(worker);
    if (th_unlikely(worker->fifo.look)) {
        worker->fifo.look = false;
        bool unsure;
        th_work *work = rescue_any(worker, &unsure);
        if (work) {
            th_notify(worker, false); /* the rest is in this batch now */
            return work;
        }
    }
    uint64_t share = size / (2 * worker->sched->workers_regular);
    if (!brisk || share < 2) {
        return th_mcsp_take(ready);
    }
    th_work *taken[TH_BATCH];
    uint64_t n = th_mcsp_take_many(ready, taken, share < TH_BATCH ? share : TH_BATCH);
    worker->picks.clock_skips = 0;
    worker->fifo.batch_ready = fifo == &worker->sched->fifo_ready;
    th_tsan_release(&worker->fence); /* for a rescuer */
    return th_batch_keep(&worker->batch, taken, n);
}

static inline bool is_any_in(const th_fifo *fifo) {
    return th_mcsp_size(&fifo->ready) || has_unready(fifo);
}

/* Only this one, past the batch. */
static th_work *take_one(th_worker *worker, th_fifo *fifo) {
    th_work *work = th_mcsp_take(&fifo->ready);
    return work ? work : schedule(worker, fifo);
}

static inline th_work *take_from(th_worker *worker, th_fifo *fifo) {
    th_work *work = take_published(worker, fifo);
    return work ? work : schedule(worker, fifo);
}

static th_work *take_of_many(th_worker *worker, bool new_first) {
    thrum_sched *sched = worker->sched;
    th_work *work = NULL;
    if (new_first && worker->fifo.batch_ready) {
        work = take_one(worker, &sched->fifo); /* the batch goes on afterwards */
    }
    work = work ? work : th_batch_take(&worker->batch, &worker->fence);
    if (work) {
        return work;
    }
    if (th_batch_any(&worker->fifo.outbox)) {
        append(worker, &sched->fifo, (th_chain){0});
    }
    if (!new_first && th_unlikely(is_any_in(&sched->fifo_ready))) {
        work = take_from(worker, &sched->fifo_ready);
    }
    work = work ? work : take_from(worker, &sched->fifo);
    return work || !new_first ? work : take_from(worker, &sched->fifo_ready);
}

static TH_NO_TSAN th_work *take_sole(th_fifo *fifo) {
    if (!fifo->rest.first) {
        refill(fifo);
    }
    return th_chain_take(&fifo->rest);
}

static th_work *take_sole_of(thrum_sched *sched, bool new_first) {
    th_work *work = take_sole(new_first ? &sched->fifo : &sched->fifo_ready);
    return work ? work : take_sole(new_first ? &sched->fifo_ready : &sched->fifo);
}

static inline th_work *take_first(th_worker *worker, bool new_first) {
    thrum_sched *sched = worker->sched;
    th_work *work =
        is_sole(sched) ? take_sole_of(sched, new_first) : take_of_many(worker, new_first);
    if (work) {
        worker->picks.pinned_runs = 0;
        th_count(&worker->counters.xruns_inject, 1);
    }
    return work;
}

/* ---- picking ---- */

static th_work *take(th_worker *worker) {
    return take_first(worker, false);
}

static th_work *take_new(th_worker *worker) {
    return take_first(worker, true);
}

static th_work *take_ready(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    th_fifo *fifo = &sched->fifo_ready;
    th_work *work = is_sole(sched) ? take_sole(fifo) : take_one(worker, fifo);
    if (work) {
        th_count(&worker->counters.xruns_inject, 1);
    }
    return work;
}

/*
 * The picked work may take long, and the work whose deadlines this worker has just fired comes
 * behind it: another worker must be there to come for that.
 */
static th_work *pick(th_worker *worker) {
    th_work *work = th_pick_of_one(worker, take, take_new, take_ready);
    if (th_unlikely(worker->fifo.fired)) {
        thrum_sched *sched = worker->sched;
        worker->fifo.fired = false;
        if (work && (is_any_in(&sched->fifo_ready) || is_any_in(&sched->fifo))) {
            th_watch_now(sched, worker);
        }
    }
    return work;
}

/* The combiner looks after the front and the rest: it is signalled. */
static bool pending_in(const thrum_sched *sched, th_fifo *fifo) {
    if (is_sole(sched)) {
        return fifo->rest.first || !th_mpsc_is_empty(&fifo->front);
    }
    return th_mcsp_size(&fifo->ready) ||
           (has_unready(fifo) && !th_combiner_signal(&fifo->combiner));
}

static bool pending(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    return !th_inject_is_empty(&worker->inbox) || pending_in(sched, &sched->fifo_ready) ||
           pending_in(sched, &sched->fifo) || th_priority_pending(worker);
}

static th_work *help(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    if (is_sole(sched)) {
        return NULL; /* all work is the only worker's */
    }
    th_work *work = take_one(worker, &sched->fifo_ready);
    return work ? work : take_one(worker, &sched->fifo);
}

static th_work *rescue(th_worker *worker, bool *unsure) {
    th_work *work = is_sole(worker->sched) ? NULL : rescue_any(worker, unsure);
    if (work) {
        th_count(&worker->counters.xruns_stolen, 1);
    }
    return work;
}

/* The batch is run first: its work comes before everything posted now. */
static bool hand_over(th_worker *worker) {
    if (th_batch_any(&worker->batch)) {
        return false;
    }
    if (th_batch_any(&worker->fifo.outbox)) {
        append(worker, &worker->sched->fifo, (th_chain){0});
    }
    return true;
}

const th_policy th_policy_fifo = {
    .submit = submit,
    .submit_chain = submit_chain,
    .submit_external = submit_external,
    .pick = pick,
    .steal = th_steal_none,
    .pending = pending,
    .holds = has_private,
    .help = help,
    .submit_due = submit_due,
    .notify_due = notify_due,
    .rescue = rescue,
    .hand_over = hand_over,
};
