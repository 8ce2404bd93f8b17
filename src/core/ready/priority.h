/*
 * priority.h: work of high and of low priority. docs/policies.md has the rules, PRIORITY.md the
 * argument.
 *
 * No policy sees such work: it has queues of its own under one lock, two that all workers share,
 * and two of each worker for pinned work. So one word tells each pick whether there is any.
 */
#ifndef TH_PRIORITY_H
#define TH_PRIORITY_H

#include "core/state/worker.h"

/* Queues work whose priority is not normal. `by`: the caller's worker, or NULL. */
void th_priority_put(thrum_sched *sched, th_worker *by, th_work *work, unsigned hint);

/* Whether there may be any, for any worker. */
static inline bool th_priority_any(const thrum_sched *sched) {
    /* relaxed: one that is about to park has fenced; else a later pick sees it */
    return th_unlikely(th_load_relaxed(&sched->xpriorities) != 0);
}

/* At each pick, if there is any: high work, or low work that has waited for long; or NULL. */
th_work *th_priority_take(th_worker *worker);

/* When there is nothing else: high work, or low work, or NULL. */
th_work *th_priority_take_some(th_worker *worker);
static inline th_work *th_priority_take_rest(th_worker *worker) {
    return th_priority_any(worker->sched) ? th_priority_take_some(worker) : NULL;
}

/* Whether there is some that this worker may take. */
bool th_priority_seen(const th_worker *worker);
static inline bool th_priority_pending(const th_worker *worker) {
    return th_priority_any(worker->sched) && th_priority_seen(worker);
}

/*
 * The worker goes on with work of this place. While its priority is not normal, the tasks that it
 * starts inherit it, and the worker has TH_EXTRA_PRIORITY.
 */
void th_priority_set(th_worker *worker, th_priority priority);
static TH_INLINE_NO_TSAN void th_priority_runs(th_worker *worker, int32_t place) {
    const th_priority priority = th_place_priority(place);
    /* relaxed: only the owner changes this bit */
    if (priority != TH_NORMAL || (th_load_relaxed(&worker->xextra) & TH_EXTRA_PRIORITY)) {
        th_priority_set(worker, priority);
    }
}

#endif
