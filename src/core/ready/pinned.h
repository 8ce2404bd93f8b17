/*
 * pinned.h: work that only one worker may run: from its inbox, and pinned fibers that yielded.
 */
#ifndef TH_PINNED_H
#define TH_PINNED_H

#include "core/state/worker.h"

/* Moves the inbox's work behind the pinned work that the owner has. The owner only. */
void th_pinned_collect(th_worker *worker);

/* The oldest pinned work, or NULL. The owner only. */
th_work *th_pinned_take_some(th_worker *worker);
static inline th_work *th_pinned_take(th_worker *worker) {
    bool any = worker->pinned.first || !th_inject_is_empty(&worker->inbox);
    return th_unlikely(any) ? th_pinned_take_some(worker) : NULL;
}

/* Queues a fiber that yields, and that only the owner may run, behind all pinned work so far. */
void th_pinned_yield(th_worker *worker, th_work *work);

/* Whether what was there when the oldest pinned fiber yielded has been taken. The owner only. */
static inline bool th_pinned_yield_due(const th_worker *worker) {
    return worker->pinned_yields.first &&
           (int)(worker->picks.pinned_taken - worker->picks.pinned_end) >= 0;
}

/* The oldest pinned fiber that yielded, due or not, or NULL. The owner only. */
th_work *th_pinned_take_yielded(th_worker *worker);

#endif
