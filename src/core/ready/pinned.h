/*
 * pinned.h: work that only one worker may run: from its inbox, and pinned fibers that yielded.
 */
#ifndef TH_PINNED_H
#define TH_PINNED_H

#include "core/state/worker.h"

/*
 * Moves the inbox's work behind the pinned work that the owner has; a bound thread's own wake comes
 * before all of it. The owner only.
 */
void th_pinned_collect(th_worker *worker);

/* A bound thread's wait is over: it goes on before all pinned work. The owner only. */
void th_pinned_put_root(th_worker *worker);
static inline bool th_pinned_root_is_next(const th_worker *worker) {
    return worker->pinned.first == &worker->home.work;
}

/* The oldest pinned work, or NULL. The owner only. */
th_work *th_pinned_take_some(th_worker *worker);
static inline th_work *th_pinned_take(th_worker *worker) {
    bool any = worker->pinned.first || !th_inject_is_empty(&worker->inbox);
    return th_unlikely(any) ? th_pinned_take_some(worker) : NULL;
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

/*
 * Whether all work that was there when the oldest pinned fiber yielded has been taken. The owner
 * only.
 */
static inline bool th_pinned_yield_due(const th_worker *worker) {
    return worker->pinned_yields.first &&
           (int)(worker->picks.pinned_taken - worker->picks.pinned_end) >= 0;
}

/* The oldest pinned fiber that yielded, due or not, or NULL. The owner only. */
th_work *th_pinned_take_yielded(th_worker *worker);

#endif
