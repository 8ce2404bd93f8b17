/*
 * park.h: workers that have nothing to do sleep, and are woken. core/PARKING.md has the argument.
 */
#ifndef TH_PARK_H
#define TH_PARK_H

#include "base/atomic.h"
#include "core/worker.h"

/* Why somebody is woken: which counter it goes to. */
typedef enum { TH_WAKE_SUBMIT, TH_WAKE_CHAIN } th_wake_cause;

/* Wakes one sleeper, with a search token, unless a searcher is on its way already. */
void th_wake_one(thrum_sched *sched, th_worker *by, th_wake_cause cause);

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

/*
 * Sleeps until woken. Returns at once when there is work after all. With k->nap_ns: backs off for
 * so long.
 */
void th_park(th_worker *worker);

/* Becomes a searcher if there are not too many. */
bool th_search_begin(th_worker *worker);
/*
 * It has work, so it searches no longer and is not the sentinel: the last one to go sees to it that
 * the rest is not forgotten.
 */
void th_went_busy(th_worker *worker);
/* The same for one that is neither, and was asleep: nobody may be looking after its deadlines. */
void th_went_busy_alone(th_worker *worker);

/*
 * After a worker queued something for everybody, in its own queue: whether to wake is decided here.
 * `backlog`: by this push it became two or more. While it is that, nobody falls asleep over it, so
 * later pushes need not look; and for a single one the sentinel's coming round is soon enough,
 * provided there is a sentinel. Costs one load, at the edge a fence before it.
 */
static inline void th_notify(th_worker *worker, bool backlog) {
    thrum_sched *sched = worker->sched;
    if (backlog) {
        /* seq: the push before the park word is read; th_park announces, then looks */
        th_fence_seq();
    }
    /* relaxed: ordered by the fence; without one a stale word is made good by the sentinel */
    uint64_t word = th_load_relaxed(&sched->xpark);
    if (!th_park_anyone(word) || th_park_searchers(word)) {
        return;
    }
    if (!th_park_sentinel(word) || (backlog && !(word & TH_PARK_NAP))) {
        th_wake_one(sched, worker, TH_WAKE_SUBMIT);
    }
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
