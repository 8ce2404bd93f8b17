/*
 * wake.h: sleepers are woken for what was queued. core/worker/PARKING.md has the argument.
 */
#ifndef TH_WAKE_H
#define TH_WAKE_H

#include "base/atomic.h"
#include "core/state/parkword.h"
#include "core/state/worker.h"

/* Why somebody is woken: which counter it goes to. */
typedef enum { TH_WAKE_SUBMIT, TH_WAKE_CHAIN } th_wake_cause;

/* Wakes one sleeper, with a search token, unless a searcher is on its way already. */
void th_wake_one(thrum_sched *sched, th_worker *by, th_wake_cause cause);

/*
 * The slow half of th_notify, and of what is like it: somebody sleeps, and what was queued is not
 * left to a sentinel that comes round soon. `word` is what was read of the park word.
 */
void th_notify_somebody(th_worker *worker, uint64_t word);

/* Wakes up to n sleepers, with a search token each, whoever searches already. */
void th_wake_many(thrum_sched *sched, th_worker *by, uint64_t n, th_wake_cause cause);

/*
 * Wakes this worker for work that only it can run, if it sleeps: then true. Fences. Any thread.
 */
bool th_wake_worker(th_worker *target);

/*
 * Some worker runs and has deadlines: if nobody is the sentinel, or is about to be, wakes one who
 * becomes it. The caller's change of the park word, or its fence, came before.
 */
void th_watch_timers(thrum_sched *sched, th_worker *by);

/* Wakes them all: stop. */
void th_wake_all(thrum_sched *sched);

/* Whether something that a worker has queued is left to the sentinel, or to a searcher. */
static inline bool th_park_left(uint64_t word, bool backlog) {
    return !th_park_anyone(word) ||
           ((word & TH_PARK_WATCH) && (!backlog || th_park_searchers(word)));
}

/*
 * After a worker queued something for everybody, in its own queue: whether to wake is decided here.
 * `backlog`: by this push it became two or more. While it is that, nobody falls asleep over it, so
 * later pushes need not look; and for a single one the sentinel's coming round is soon enough,
 * provided there is a sentinel that does. Costs one load, at the edge a fence before it.
 */
static inline void th_notify(th_worker *worker, bool backlog) {
    if (backlog) {
        /* seq: the push before the park word is read; th_park announces, then looks */
        th_fence_seq();
    } else {
        /* for the processor the sentinel's barrier does it, before it sleeps long (D10) */
        th_fence_compiler();
    }
    /* relaxed: ordered as said above; else a stale word is made good by the sentinel */
    uint64_t word = th_load_relaxed(&worker->sched->xpark);
    if (th_likely(th_park_left(word, backlog && !(word & TH_PARK_NAP)))) {
        return;
    }
    th_notify_somebody(worker, word);
}

/* After anybody queued something in a shared queue. */
static inline void th_notify_shared(thrum_sched *sched, th_worker *by, th_wake_cause cause) {
    th_fence_seq(); /* seq: the push before the park word is read; th_park announces, then looks */
    /* relaxed: ordered by the fence */
    uint64_t word = th_load_relaxed(&sched->xpark);
    if (th_park_anyone(word) && !th_park_searchers(word)) {
        th_wake_one(sched, by, cause);
    }
}

#endif
