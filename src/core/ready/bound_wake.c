/*
 * bound_wake.c: see bound_wake.h; core/bound/BOUND.md.
 */
#include "core/ready/bound_wake.h"

#include "platform/platform.h"

static bool is_asleep(const th_worker *worker) {
    return (th_load_relaxed(&worker->xsleep) & TH_SLEEP_PARKED) != 0; /* relaxed: a hint */
}

/* With the lock: whether a bound thread sleeps until the deadline at the latest. */
static bool is_watched(const thrum_sched *sched, int64_t deadline) {
    const th_worker *w = sched->bound;
    /* relaxed: if it is that of an earlier sleep, the thread sees the deadline first (BOUND.md) */
    while (w && !(is_asleep(w) && th_load_relaxed(&w->xuntil) <= deadline)) {
        w = w->bound_next;
    }
    return w != NULL;
}

void th_bound_wake_unless(thrum_sched *sched, uint64_t n, int64_t deadline) {
    /* seq: the push, or the look at the deadline, before the sleep words are read; a thread that
     * falls asleep does it the other way round */
    th_fence_seq();
    TH_LOCKED(&sched->bound_lock);
    th_worker *w = is_watched(sched, deadline) ? NULL : sched->bound;
    for (; w && n; w = w->bound_next) {
        n -= is_asleep(w) && th_wake_worker(w);
    }
}

void th_bound_wake(thrum_sched *sched, uint64_t n) {
    th_bound_wake_unless(sched, n, INT64_MIN);
}

void th_bound_due(th_worker *by, th_chain *due) {
    thrum_sched *sched = by->sched;
    uint64_t others = due->count - by->woken; /* a woken thread takes one, or hands over */
    th_inject_push(&sched->inject, due->first, due->count);
    *due = (th_chain){0};
    if (others) {
        th_bound_wake(sched, others);
    }
}
