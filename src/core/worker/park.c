/*
 * park.c: see park.h. core/worker/PARKING.md has the states, the rules and the races prevented.
 */
#include "core/worker/park.h"

#include <errno.h>

#include "base/check.h"
#include "base/usdt.h"
#include "core/fiber/reclaim.h"
#include "core/fiber/trim.h"
#include "core/ready/alarm.h"
#include "core/ready/deferred.h"
#include "core/ready/priority.h"
#include "core/due/fork_slots.h"
#include "core/due/poll.h"
#include "core/ready/quiesce_sum.h"
#include "core/due/timer.h"
#include "core/ready/wake.h"
#include "core/worker/sentinel.h"
#include "core/trace/trace_notes.h"
#include "platform/platform.h"

#define PAUSE_MAX TH_LIMIT(128u, 1u) /* of let_others_change: some microseconds */

/* Whether there is work that no other worker is sure to take, or that a thief could help with. */
static bool pending(th_worker *worker) {
    return worker->sched->policy->pending(worker) || th_forks_seen(worker);
}

/* ---- searching ---- */

static unsigned searchers_max(const thrum_sched *sched, uint64_t word) {
    if (sched->searchers_max) {
        return sched->searchers_max;
    }
    unsigned parked = th_park_parked(word);
    unsigned busy = sched->workers_count > parked ? sched->workers_count - parked : 0;
    return busy > 3 ? busy / 2 : 1;
}

bool th_search_begin(th_worker *worker) {
    if (worker->searching) {
        return true;
    }
    thrum_sched *sched = worker->sched;
    uint64_t word = th_load_relaxed(&sched->xpark); /* relaxed: the exchange decides */
    if (th_park_searchers(word) >= searchers_max(sched, word)) {
        return false;
    }
    /* relaxed: a decision based on a token relies on the look after its end (th_went_busy) */
    if (!th_cas_relaxed(&sched->xpark, &word, word + TH_PARK_SEARCHER_ONE)) {
        /*
         * Of many that begin at once each would make all others fail. One more look, then it adds;
         * so those may together pass the limit.
         */
        if (th_park_searchers(word) >= searchers_max(sched, word)) {
            return false;
        }
        th_add_relaxed(&sched->xpark, TH_PARK_SEARCHER_ONE); /* relaxed: as above */
    }
    worker->searching = true;
    return true;
}

/* Searches regardless of the limit: the worker has seen something. */
static void search_anyway(th_worker *worker) {
    if (!worker->searching) {
        worker->searching = true;
        /* relaxed: as in th_search_begin */
        th_add_relaxed(&worker->sched->xpark, TH_PARK_SEARCHER_ONE);
    }
}

/* Whether another worker runs while others sleep and none is the sentinel. */
static bool sentinel_missing(const thrum_sched *sched, uint64_t word) {
    return !th_park_sentinel(word) && th_park_top(word) &&
           th_park_parked(word) + 1 < sched->workers_count;
}

/*
 * When others have to see to its deadlines or its descriptors, if it runs until then; TH_FOREVER:
 * it has none.
 */
static int64_t wanted_at(const th_worker *worker) {
    /* relaxed: ordered by the fence; a thread that adds a timer fences, then looks which worker is
     * awake */
    int64_t at = th_load_relaxed(&worker->own_timers.xearliest);
    if (th_poll_added(worker)) {
        int64_t help = th_os_now() + TH_POLL_HELP_NS;
        at = help < at ? help : at;
    }
    return at;
}

/* Sees to it that another worker looks after these; the caller has fenced. */
static void have_watched(th_worker *worker) {
    int64_t at = wanted_at(worker);
    if (at != TH_FOREVER) {
        th_watch_from(worker->sched, worker, at);
    }
}

/* Whether it has taken more than it is about to run, and no other worker looks after the rest. Its
 * own token kept it from waking one for that. */
static bool rest_unwatched(const th_worker *worker, uint64_t word) {
    return !th_park_sentinel(word) &&
           (th_ring_size(&worker->ring) || th_ring_size(&worker->ready) ||
            th_batch_any(&worker->batch));
}

void th_went_busy_alone(th_worker *worker) {
    /*
     * seq: awake, before its deadlines are read; a thread that adds one (th_timers_tell) fences
     * before it reads the park word
     */
    th_fence_seq();
    have_watched(worker);
}

void th_went_busy(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    bool last = false;
    uint64_t word;
    if (worker->sentinel) {
        worker->sentinel = false;
        word = th_load_relaxed(&sched->xpark); /* relaxed: the exchange decides */
        /* lock-free: it fails only when another change of the word succeeded */
        /* relaxed: a worker that parks after it in the order of the word takes the role */
        while (!th_cas_relaxed(&sched->xpark, &word, th_park_with_sentinel(word, 0))) {
        }
        word = th_park_with_sentinel(word, 0);
        last = !worker->searching;
    }
    if (worker->searching) {
        worker->searching = false;
        /* relaxed: the fence below orders it before the queues are read */
        word = th_sub_relaxed(&sched->xpark, TH_PARK_SEARCHER_ONE) - TH_PARK_SEARCHER_ONE;
        last = true;
    }
    if (!last || th_park_searchers(word) || !th_park_anyone(word)) {
        return;
    }
    /*
     * seq: no searcher any longer, before the queues are read: a submitter that still saw a
     * searcher, and so woke no worker, had published before (th_notify, th_notify_shared)
     */
    th_fence_seq();
    if (rest_unwatched(worker, word) || sentinel_missing(sched, word) || pending(worker)) {
        th_wake_one(sched, worker, TH_WAKE_CHAIN);
    } else {
        have_watched(worker);
    }
}

/* ---- parking ---- */

/*
 * Others have changed the park word meanwhile, so a worker that is about to sleep gives them time:
 * the more often they did, the longer. If many workers parked at once, each would make all others
 * fail and fetch the word's line once more. Returns the word afterwards.
 */
static uint64_t let_others_change(const thrum_sched *sched, unsigned *pause) {
    for (unsigned i = 0; i < *pause; i++) {
        th_os_relax();
    }
    *pause = *pause < PAUSE_MAX ? 2 * *pause : *pause;
    return th_load_relaxed(&sched->xpark); /* relaxed: the exchange decides */
}

bool th_park_announce(th_worker *worker, bool idle_spare) {
    thrum_sched *sched = worker->sched;
    unsigned me = worker->index + 1;
    /* A short sleep, and an idle one, is by the futex. */
    bool polls = worker->polls && !idle_spare && !worker->backoff.ns;
    uint32_t parked = TH_SLEEP_PARKED | (polls ? TH_SLEEP_POLLING : 0);
    /* pairs: notify_sleeper; without LISTED its entry was popped before
     * pairs: notify_sleeper; the set, which another thread may have opened */
    uint32_t old = th_or_acq_rel(&worker->xsleep, parked);
    bool entry = (old & TH_SLEEP_LISTED) != 0; /* left behind earlier: it serves again */
    bool listed = false;
    bool backoff;
    bool sentinel;
    bool push;
    bool all;
    unsigned pause = 1;
    uint64_t word = th_load_relaxed(&sched->xpark); /* relaxed: the exchange decides */
    for (;;) {
        all = th_park_parked(word) + 1 >= sched->workers_count;
        backoff = worker->backoff.ns && !(word & TH_PARK_BACKOFF);
        sentinel = !all && !idle_spare && (worker->sentinel || !th_park_sentinel(word));
        push = !sentinel && !entry && !idle_spare;
        if (push && !listed) {
            listed = true;
            /* relaxed: published by the exchange, before the entry can be popped */
            th_or_relaxed(&worker->xsleep, TH_SLEEP_LISTED);
        }
        uint64_t want = word + TH_PARK_PARKED_ONE;
        want -= worker->searching ? TH_PARK_SEARCHER_ONE : 0;
        want |= backoff ? TH_PARK_BACKOFF : 0;
        if (sentinel || worker->sentinel) {
            want = th_park_with_sentinel(want, sentinel ? me : 0);
        }
        if (push) {
            /* relaxed: published by the exchange */
            th_store_relaxed(&worker->xidle_next, th_park_top(word));
            want = th_park_with_top(want, me);
        }
        /* lock-free: it fails only when another change of the word succeeded; ABA: parkword.h */
        /* pairs: th_wake_one, th_rouse_monitor; link and LISTED of the entry, and how many
         * spares are idle. The fence in th_park orders the rest */
        if (th_cas_release(&sched->xpark, &word, want)) {
            break;
        }
        word = let_others_change(sched, &pause);
    }
    if (listed && !push) {
        /* relaxed: there is no entry after all, so no other thread clears it */
        th_and_relaxed(&worker->xsleep, ~TH_SLEEP_LISTED);
    }
    worker->searching = false;
    worker->backing_off = worker->backoff.ns != 0;
    worker->backoff_bit = backoff;
    worker->sentinel = sentinel;
    return all;
}

bool th_park_leave(th_worker *worker) {
    /* relaxed: the word decides; th_park_unannounce acquires an earlier notifier's writes */
    return (th_and_relaxed(&worker->xsleep, ~TH_SLEEP_PARKED) & TH_SLEEP_PARKED) != 0;
}

void th_park_unannounce(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    /* pairs: notify_sleeper; the notifier's earlier writes */
    uint32_t old =
        th_and_acquire(&worker->xsleep, ~(TH_SLEEP_NOTIFIED | TH_SLEEP_TOKEN | TH_SLEEP_POLLING));
    worker->searching = (old & TH_SLEEP_TOKEN) != 0;
    worker->woken = true;
    uint64_t change = TH_PARK_PARKED_ONE + (worker->backoff_bit ? TH_PARK_BACKOFF : 0);
    worker->backing_off = false;
    worker->backoff_bit = false;
    worker->backoff.ns = 0;
    worker->rounds.long_sleep = false;
    /* pairs: begin_long_sleep; xlong_sleep, for th_watch_from
     * pairs: th_park_announce, go_dormant; the number of idle spares, for th_rouse_monitor */
    uint64_t word = th_sub_acquire(&sched->xpark, change) - change;
    if (th_unlikely(word & TH_PARK_DORMANT)) {
        th_rouse_monitor(sched, word);
    }
}

/*
 * By the sentinel, when all are parked: from now on it sleeps long, until the deadlines of others
 * are overdue. False if one has gone on meanwhile.
 */
static bool begin_long_sleep(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    const int64_t first = th_timers_sleep_until(worker, true);
    uint64_t word = th_load_relaxed(&sched->xpark); /* relaxed: the exchange decides */
    if (th_park_long(word)) {
        /* It comes round if it does not begin the long sleep: xlong_sleep is not valid then. */
        word = th_or_relaxed(&sched->xpark, TH_PARK_WATCH) | TH_PARK_WATCH; /* relaxed: as above */
    }
    const int64_t after = th_watch_ns(sched);
    /* relaxed: published by the exchange */
    th_store_relaxed(&worker->xlong_sleep, first < TH_FOREVER - after ? first + after : TH_FOREVER);
    while (th_park_parked(word) == sched->workers_count) {
        /* lock-free: it fails only when another change of the word succeeded */
        /*
         * pairs: th_park_unannounce; xlong_sleep. All were parked at this point of the word's
         * order; a worker that goes on after it sees that the sentinel sleeps long
         */
        if (th_cas_release(&sched->xpark, &word, word & ~TH_PARK_WATCH)) {
            worker->rounds.long_sleep = true;
            return true;
        }
    }
    return false;
}

/* Its time has come: it comes round again. */
static void end_long_sleep(th_worker *worker) {
    worker->rounds.long_sleep = false;
    /* relaxed: only the sentinel takes the bit away */
    th_or_relaxed(&worker->sched->xpark, TH_PARK_WATCH);
    (void)th_sentinel_begin(worker, false);
}

static int64_t first_sleep(th_worker *worker) {
    /* relaxed: a worker that defers a task looks for it itself as well */
    bool deferred = th_load_relaxed(&worker->sched->xdeferred) != 0;
    if (worker->backing_off) {
        return worker->backoff.ns;
    }
    if (worker->sentinel) {
        return th_sentinel_begin(worker, deferred);
    }
    return deferred ? TH_DEFER_NS : TH_FOREVER;
}

/* The worker's own timers end any of its sleeps; the timers of all end the sentinel's. */
static int64_t with_timers(const th_worker *worker, int64_t deadline) {
    const bool rounds = worker->sentinel && !worker->rounds.long_sleep;
    int64_t first = th_timers_sleep_until(worker, rounds);
    int64_t due = rounds ? th_reclaim_due(worker) : TH_FOREVER;
    first = due < first ? due : first;
    return first < deadline ? first : deadline;
}

/*
 * Sleeps at the place in its word, until it is woken, a descriptor is ready, or the deadline
 * passes. The codes are those of the futex; 1: there are events, so it goes on regardless of the
 * word.
 */
static int sleep_once(th_worker *worker, uint32_t word, int64_t deadline) {
    th_count(&worker->counters.xfutex_waits, 1);
    if (th_likely(!(word & TH_SLEEP_POLLING))) {
        return th_os_futex_wait(&worker->xsleep, word, deadline);
    }
    return th_poll_sleep(worker, deadline);
}

/* `slack`: the timer slack of the thread before it was made exact for the sentinel, or 0. */
static void sleep_until_notified(th_worker *worker, unsigned long *slack) {
    thrum_sched *sched = worker->sched;
    int64_t ns = first_sleep(worker);
    int64_t deadline = ns == TH_FOREVER ? ns : th_os_now() + ns;
    for (;;) {
        /* relaxed: th_park_unannounce acquires the notifier's writes */
        uint32_t word = th_load_relaxed(&worker->xsleep);
        if (!(word & TH_SLEEP_PARKED)) {
            return;
        }
        int code = sleep_once(worker, word, with_timers(worker, deadline));
        if (code == 1) {
            th_park_leave(worker);
            return;
        }
        if (code != -ETIMEDOUT) {
            continue; /* notified, or an entry popped, or a spurious wake: the word decides */
        }
        th_count(&worker->counters.xwakes_timer, 1);
        if (worker->rounds.long_sleep) {
            end_long_sleep(worker);
        }
        bool timers_due = with_timers(worker, TH_FOREVER) <= th_os_now();
        if (worker->sentinel && !worker->backing_off && !timers_due) {
            *slack = *slack ? *slack : th_os_timer_slack(1);
            /* relaxed: a hint, and the exchange decides */
            if (!th_load_relaxed(&sched->xdeferred) && !pending(worker) &&
                th_park_parked(th_load_relaxed(&sched->xpark)) == sched->workers_count &&
                th_sentinel_may_rest(worker) && begin_long_sleep(worker)) {
                deadline = th_load_relaxed(&worker->xlong_sleep); /* relaxed: its own */
                continue;
            }
            th_round round = th_sentinel_round(worker, &ns);
            if (round == TH_ROUND_NOTHING) {
                deadline = th_os_now() + ns;
                continue;
            }
            if (round == TH_ROUND_PENDING) {
                search_anyway(worker);
            }
        }
        th_park_leave(worker);
        return;
    }
}

/* Sleeps until woken. Timers become exact after the first sleep, a short one and often the last. */
static void sleep_until_woken(th_worker *worker) {
    unsigned long slack = 0;
    sleep_until_notified(worker, &slack);
    if (slack) {
        th_os_timer_slack(slack);
    }
}

/* Looks for work for a while before it parks. Off by default: it slowed all our benchmarks. */
static bool spin(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    int64_t until = thrum_after(sched->config.spin_ns);
    int64_t now;
    do {
        /* relaxed: a hint; th_park looks again */
        if (pending(worker) || th_load_relaxed(&sched->xexit)) {
            return true;
        }
        /* relaxed: a hint, as above; they wait for this worker to park */
        if (th_load_relaxed(&sched->xquiesce_waiters)) {
            return false;
        }
        th_os_relax();
        now = th_os_now();
        if (th_timers_sleep_until(worker, false) <= now) {
            return true; /* its own timers: it fires them itself */
        }
        if (th_timers_sleep_until(worker, true) <= now) {
            return false; /* of a worker that may be busy: they are for the sentinel */
        }
    } while (now < until);
    return false;
}

/* Whether there is something better to do than to look through stacks: work, or a deadline. */
static bool is_wanted(th_worker *worker) {
    const int64_t first = th_timers_sleep_until(worker, false);
    return worker->sched->policy->pending(worker) || (first != TH_FOREVER && first <= th_os_now());
}

void th_park_tell(thrum_sched *sched) {
    /* relaxed: ordered by the fence; a waiter announces itself, then sums */
    if (th_load_relaxed(&sched->xquiesce_waiters) &&
        /* relaxed: if several park at the same time, the last one sees all */
        th_park_parked(th_load_relaxed(&sched->xpark)) == sched->workers_count) {
        th_quiesce_notify(sched);
    }
    if (th_unlikely(sched->watch) &&
        /* relaxed: as above */
        th_park_parked(th_load_relaxed(&sched->xpark)) == sched->workers_count) {
        sched->watch->parked(sched);
    }
}

void th_park(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    if (!worker->backoff.ns) {
        if (sched->config.spin_ns > 0 && spin(worker)) {
            search_anyway(worker);
            return;
        }
        th_fiber_cache_trim(worker, is_wanted);
    }
    if (worker->woken) {
        worker->woken = false;
        th_count(&worker->counters.xwakes_empty, 1);
    }
    bool token = worker->searching;
    bool polls = worker->polls;
    const uint64_t requests = polls ? th_alarm_requests(sched) : 0;
    bool last = th_park_announce(worker, false);
    /* seq: announced before the queues are read; the other side is th_notify, th_wake_worker */
    th_fence_seq();
    th_park_tell(sched);
    if (th_unlikely(last && requests)) {
        th_alarm_call_off(sched, requests);
    }
    /* relaxed: ordered by the fence; stop sets it, then wakes all */
    bool look = !worker->backing_off || token;
    bool go_on = look ? th_load_relaxed(&sched->xexit) || pending(worker)
                      : th_priority_pending(worker); /* its back-off is about other work */
    /* relaxed: as above. Only now does it know that it is the last: th_fiber_cache_trim once
     * more */
    go_on |= last && !worker->backing_off && th_load_relaxed(&sched->xfibers_unmeasured);
    /* Another thread has opened its set meanwhile, and may not have seen that it parks. */
    worker->polls = polls || th_poller_is_open(&worker->poller);
    go_on |= worker->polls != polls;
    if (go_on) {
        th_park_leave(worker);
    } else {
        th_count(&worker->counters.xparks, 1);
        TH_USDT1(park, worker->index);
        if (th_is_traced(worker)) {
            th_trace_parks(worker);
        }
        sleep_until_woken(worker);
        if (th_is_traced(worker)) {
            th_trace_unparks(worker);
        }
    }
    bool anyway = worker->searching;
    th_park_unannounce(worker);
    if (th_unlikely(th_poll_has_got(worker)) && th_poll_awake(worker)) {
        th_watch_again(worker);
        search_anyway(worker); /* so it has another one look in its place, if it finds work */
    }
    if (anyway && worker->searching) {
        /* a token from the notifier, and one of its own: one is enough */
        /* relaxed: one order of all changes */
        th_sub_relaxed(&sched->xpark, TH_PARK_SEARCHER_ONE);
    } else if (anyway) {
        worker->searching = true;
    } else if (go_on) {
        worker->woken = false;
        search_anyway(worker);
    }
}
