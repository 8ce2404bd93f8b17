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
/* The oldest pinned fiber that yielded: it comes behind everything else. */
th_work *th_pinned_take_yielded(th_worker *worker);

#endif
