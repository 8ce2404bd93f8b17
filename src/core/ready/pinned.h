/*
 * pinned.h: work that only one worker may run: from its inbox, and pinned fibers that yielded.
 *
 * The worker's list has ready fibers first, and behind them tasks that have not begun; each of the
 * two parts is in the order in which its work was queued. A bound thread's own wake comes before
 * all of it.
 */
#ifndef TH_PINNED_H
#define TH_PINNED_H

#include "core/state/worker.h"

/* All of these are called by the owner only. */

/* Puts the work into its part of the list. */
void th_pinned_put(th_worker *worker, th_work *work);
void th_pinned_put_chain(th_worker *worker, th_chain *chain);

/* Puts the inbox's work into the list. */
void th_pinned_collect(th_worker *worker);

static inline bool th_pinned_root_is_next(const th_worker *worker) {
    return worker->pinned.first == &worker->home.work;
}

static inline bool th_pinned_any(const th_worker *worker) {
    bool any = worker->pinned.first || !th_inject_is_empty(&worker->inbox);
    return th_unlikely(any);
}

/*
 * The first of the list, or NULL. If ready fibers have come before a task for long, that task comes
 * first for once.
 */
th_work *th_pinned_take_some(th_worker *worker);
static inline th_work *th_pinned_take(th_worker *worker) {
    return th_pinned_any(worker) ? th_pinned_take_some(worker) : NULL;
}

/* The same, but what `take_ready` returns, fibers that are not pinned, comes before tasks. */
th_work *th_pinned_take_some_after(th_worker *worker, th_work *(*take_ready)(th_worker *));
static inline th_work *th_pinned_take_after(th_worker *worker,
                                            th_work *(*take_ready)(th_worker *)) {
    return th_pinned_any(worker) ? th_pinned_take_some_after(worker, take_ready) : NULL;
}

/*
 * A fiber yields: the work that is in the worker's own queue comes first, also at the fair pick.
 * The mark moves only once it has been passed, or it would run away from the queue's head for ever
 * under a stream of yields.
 */
static inline void th_yields_mark(th_worker *worker) {
    if (th_batch_head(&worker->batch, &worker->ring) >= worker->sharded.yields_end) {
        worker->sharded.yields_end = th_ring_tail(&worker->ring);
    }
}

/* Queues a fiber that yields, and that only the owner may run, behind all pinned work so far. */
void th_pinned_yield(th_worker *worker, th_work *work);

/* Whether all work that was there when the oldest pinned fiber yielded has been taken. */
static inline bool th_pinned_yield_due(const th_worker *worker) {
    return worker->pinned_yields.first && !(worker->picks.marked_ready | worker->picks.marked_new);
}

/* The oldest pinned fiber that yielded, due or not, or NULL. */
th_work *th_pinned_take_yielded(th_worker *worker);

#endif
