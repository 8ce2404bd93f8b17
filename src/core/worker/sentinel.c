/*
 * sentinel.c: see sentinel.h.
 *
 * While something happens, it makes its rounds so often that nothing queued behind a long run waits
 * for longer than the config's bound. When nothing has happened for a while, it sleeps long, and a
 * worker that queues something wakes it: the park word has a bit for that (TH_PARK_WATCH).
 */
#include "core/worker/sentinel.h"

#include "core/ready/alarm.h"
#include "core/ready/deferred.h"
#include "core/due/fork_slots.h"
#include "core/due/poll.h"
#include "core/due/timer.h"
#include "core/ready/wake.h"
#include "core/trace/trace_notes.h"
#include "core/trace/tick_marks.h"
#include "platform/asymmetric.h"
#include "platform/platform.h"

#define FIRST_NS 50000 /* the most for its first sleep */
/* After so long without a pick or a queued task, it sleeps long. */
#define QUIET_NS TH_LIMIT(2000000, 100000)
int64_t th_sentinel_begin(th_worker *worker, bool deferred) {
    int64_t most = th_watch_ns(worker->sched);
    int64_t first = deferred ? TH_DEFER_NS : FIRST_NS;
    worker->rounds.sleep_ns = first < most ? first : most;
    worker->rounds.second_look = false;
    worker->rounds.quiet_since = INT64_MAX;
    return worker->rounds.sleep_ns;
}

/* How often all have picked: the same sum as before means that none has. */
static uint64_t all_ticks(const thrum_sched *sched) {
    uint64_t sum = 0;
    for (unsigned i = 0; i < th_workers_end(sched); i++) {
        sum += th_load_relaxed(&sched->workers[i].xtick); /* relaxed: only whether it moves */
    }
    return sum;
}

/* Whether anything is queued that another worker than its owner could run. */
static bool anything_queued(th_worker *worker) {
    const thrum_sched *sched = worker->sched;
    const th_policy *policy = sched->policy;
    for (unsigned i = 0; policy->holds && i < th_workers_end(sched); i++) {
        if (i != worker->index && policy->holds(&sched->workers[i])) {
            return true;
        }
    }
    return policy->pending(worker) || th_forks_left(worker);
}

/*
 * Announces that it sleeps long, and checks again. A worker that queues something is seen, or sees
 * that the sentinel is to be woken, although it pushes and reads the park word without a fence: on
 * every running thread the barrier falls between the two (PARKING.md, D10). False: rounds go on.
 */
static bool go_long(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    if (!sched->can_order) {
        return false;
    }
    /* relaxed: the barrier orders it; nobody relies on a time that it comes */
    th_store_relaxed(&worker->xlong_sleep, TH_FOREVER);
    /* relaxed: the barrier orders it; only the sentinel takes the bit away, and this is it */
    th_and_relaxed(&sched->xpark, ~TH_PARK_WATCH);
    if (th_fence_heavy() && !anything_queued(worker) && !th_poll_watched(sched) &&
        all_ticks(sched) == worker->rounds.ticks) {
        return true;
    }
    /* The next try is not made at once: a barrier costs others. */
    worker->rounds.quiet_since = INT64_MAX;
    /* relaxed: a thread that wakes it sets the bit too */
    th_or_relaxed(&sched->xpark, TH_PARK_WATCH);
    return false;
}

/* Whether nothing has happened for QUIET_NS: by the clock, since rounds may come late. */
static bool is_quiet(th_worker *worker) {
    uint64_t ticks = all_ticks(worker->sched);
    int64_t now = th_os_now();
    if (ticks != worker->rounds.ticks || anything_queued(worker)) {
        worker->rounds.ticks = ticks;
        worker->rounds.quiet_since = now;
    } else if (worker->rounds.quiet_since > now) {
        worker->rounds.quiet_since = now; /* it has just parked */
    }
    return now - worker->rounds.quiet_since >= QUIET_NS;
}

bool th_sentinel_may_rest(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    bool any = false;
    for (unsigned i = 0; i < sched->workers_regular && !any; i++) {
        any = th_poller_is_open(&sched->workers[i].poller);
    }
    th_tick_marks_note(sched, th_os_now()); /* perhaps the last one for long */
    return !any || th_alarm_is_ready(sched) || is_quiet(worker);
}

/*
 * A worker that has work and has not picked anything since the last look has not come round. If it
 * has picked, a second look follows after the same time, and then the sleeps grow again.
 */
th_round th_sentinel_round(th_worker *worker, int64_t *sleep_ns) {
    thrum_sched *sched = worker->sched;
    worker->look_unsure = false;
    th_tick_marks_note(sched, th_os_now());
    const bool fired = th_timers_help(worker, false);
    if (th_poll_help(worker) || fired) {
        return TH_ROUND_WORK;
    }
    const bool watches = th_poll_watched(sched);
    worker->handoff = sched->policy->rescue(worker, &worker->look_unsure);
    if (!worker->handoff && (worker->handoff = th_forks_rescue(worker))) {
        th_count(&worker->counters.xrescues, 1);
        th_count(&worker->counters.xruns_stolen, 1);
    }
    if (worker->handoff) {
        th_count(&worker->xtick, 1); /* it has slept in this tick: see tick_marks.h */
        if (th_is_traced(worker)) {
            th_trace_notes(worker, TH_TRACED_RESCUED, 0);
        }
        return TH_ROUND_WORK;
    }
    /* relaxed: a guess, made again in the next round */
    uint64_t word = th_load_relaxed(&sched->xpark);
    /* a submitter that saw a searcher left it to that one */
    if (!th_park_searchers(word) && (sched->policy->pending(worker) || th_forks_seen(worker))) {
        return TH_ROUND_PENDING;
    }
    /* relaxed: a hint; a worker that deferred a task looks again itself */
    if (th_load_relaxed(&sched->xdeferred)) {
        return TH_ROUND_WORK;
    }
    if (!watches && (th_park_long(word) || (is_quiet(worker) && go_long(worker)))) {
        *sleep_ns = TH_WATCH_LONG_NS;
        return TH_ROUND_NOTHING;
    }
    worker->rounds.second_look = worker->look_unsure && !worker->rounds.second_look;
    if (!worker->rounds.second_look) {
        int64_t most = th_watch_ns(worker->sched);
        worker->rounds.sleep_ns =
            2 * worker->rounds.sleep_ns < most ? 2 * worker->rounds.sleep_ns : most;
    }
    if (watches && !worker->polls && th_poll_begin_watch(worker)) {
        return TH_ROUND_WORK;
    }
    if (watches && worker->rounds.sleep_ns > TH_POLL_HELP_NS) {
        worker->rounds.sleep_ns = TH_POLL_HELP_NS;
    }
    *sleep_ns = worker->rounds.sleep_ns;
    return TH_ROUND_NOTHING;
}
