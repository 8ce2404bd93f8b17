/*
 * wake.h: waking sleepers for queued work. core/worker/PARKING.md has the argument.
 */
#ifndef TH_WAKE_H
#define TH_WAKE_H

#include "base/atomic.h"
#include "core/basis/parkword.h"
#include "core/state/worker.h"
#include "platform/asymmetric.h"

/* The cause of a wake, which selects its counter. */
typedef enum { TH_WAKE_SUBMIT, TH_WAKE_CHAIN } th_wake_cause;

/* Wakes one sleeper, with a search token, unless a searcher is coming already. */
void th_wake_one(thrum_sched *sched, th_worker *by, th_wake_cause cause);

/*
 * The slow half of th_notify and its like: a worker sleeps, and the queued work is not left to a
 * sentinel that comes round soon. `word` is the park word as it was read.
 */
void th_notify_somebody(th_worker *worker, uint64_t word);

/* Wakes up to n sleepers, with a search token each, even if there are searchers already. */
void th_wake_many(thrum_sched *sched, th_worker *by, uint64_t n, th_wake_cause cause);

/*
 * Wakes this worker, if it sleeps, for work that only it can run; true: it was woken. Contains a
 * full fence. Any thread.
 */
bool th_wake_worker(th_worker *target);

/*
 * A worker that runs has something that others are to see to: if there is no sentinel, and none is
 * about to be, wakes a worker that becomes it. The caller's change of the park word, or its fence,
 * came before.
 */
void th_watch_now(thrum_sched *sched, th_worker *by);
/* By a worker that the alarm has woken: if the sentinel sleeps long, it comes round again. */
void th_watch_again(th_worker *worker);
/*
 * As th_watch_now, for work that begins at this time: the alarm may be enough, which wakes a worker
 * then.
 */
void th_watch_from(thrum_sched *sched, th_worker *by, int64_t at);

#define TH_WATCH_LONG_NS 4000000 /* how long a sentinel sleeps when nothing happens */

/*
 * The longest sleep of a sentinel that makes rounds. Work queued right after a look is seen by the
 * next look, and the one after that sees that its owner has not come round: a quarter of the bound
 * is left.
 */
static inline int64_t th_watch_ns(const thrum_sched *sched) {
    const int64_t ns = sched->config.rescue_ns / 8 * 3;
    return ns < TH_WATCH_LONG_NS ? ns : TH_WATCH_LONG_NS;
}

/*
 * By a worker that goes on, and whose change of the park word made it `word`: if that leaves no
 * worker free, the monitor is dormant no longer.
 */
void th_rouse_monitor(thrum_sched *sched, uint64_t word);
/* Makes an idle spare look from time to time. */
void th_appoint_monitor(th_worker *spare);
/* Wakes a spare that takes over, if it sleeps as workers do: it asks whether it is still wanted. */
void th_wake_spare(th_worker *spare);

/* Wakes all workers, for stop. */
void th_wake_all(thrum_sched *sched);

/* Whether work that a worker has queued is left to the sentinel or to a searcher. */
static inline bool th_park_left(uint64_t word, bool backlog) {
    return !th_park_anyone(word) ||
           ((word & TH_PARK_WATCH) && (!backlog || th_park_searchers(word)));
}

/*
 * Decides whether to wake a worker, after work was queued in the caller's own queue, from which all
 * may take. `backlog`: by this push the queue has got two or more. As long as it has, no worker
 * falls asleep over it, so later pushes need not look. For a single one the sentinel's next round
 * is soon enough, provided there is a sentinel that comes round. Costs one load, and with `backlog`
 * a fence before it.
 */
static inline void th_notify(th_worker *worker, bool backlog) {
    if (backlog) {
        /* seq: the push before the park word is read; th_park announces, then looks */
        th_fence_seq();
    } else {
        /* the light side; the sentinel has the heavy one before it sleeps long (D10) */
        th_fence_light();
    }
    /* relaxed: ordered as described above; otherwise the sentinel makes up for a stale word */
    uint64_t word = th_load_relaxed(&worker->sched->xpark);
    if (th_likely(th_park_left(word, backlog && !(word & TH_PARK_BACKOFF)))) {
        return;
    }
    th_notify_somebody(worker, word);
}

/* After any thread queued work in an inject queue: wakes a worker if need be. */
static inline void th_notify_shared(thrum_sched *sched, th_worker *by, th_wake_cause cause) {
    th_fence_seq(); /* seq: the push before the park word is read; th_park announces, then looks */
    /* relaxed: ordered by the fence */
    uint64_t word = th_load_relaxed(&sched->xpark);
    if (th_park_anyone(word) && !th_park_searchers(word)) {
        th_wake_one(sched, by, cause);
    }
}

#endif
