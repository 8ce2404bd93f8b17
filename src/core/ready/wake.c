/*
 * wake.c: see wake.h. core/worker/PARKING.md has the states, the rules and the races they prevent.
 */
#include "core/ready/wake.h"

#include "core/ready/alarm.h"
#include "core/trace/trace_notes.h"
#include "core/state/poller.h"
#include "platform/platform.h"

/*
 * Notifies a sleeper by its own word. Returns the word as it was to the one thread that does, and 0
 * otherwise: by value, for the thread sanitizer (base/annotate.h). Clears the bits `clear` in any
 * case, and sets `give` on success.
 */
static uint32_t notify_sleeper(th_worker *target, uint32_t clear, uint32_t give) {
    uint32_t word = th_load_relaxed(&target->xsleep); /* relaxed: the exchange decides */
    for (;;) {
        uint32_t want = word & ~clear;
        if (word & TH_SLEEP_PARKED) {
            want = (want & ~TH_SLEEP_PARKED) | TH_SLEEP_NOTIFIED | give;
        } else if (want == word) {
            return 0;
        }
        /* lock-free: the word changes a bounded number of times while its worker goes to sleep */
        /*
         * pairs: th_park_announce, th_park_unannounce; the pop, and the cause of the worker's wake
         * pairs: th_park_announce, announce; the set in which the worker sleeps
         */
        if (th_cas_acq_rel(&target->xsleep, &word, want)) {
            return word & TH_SLEEP_PARKED ? word : 0;
        }
    }
}

/* Wakes a sleeper that was notified where it sleeps: `before` is the word as it was. */
static void wake_where_it_sleeps(th_worker *target, uint32_t before) {
    if (th_unlikely((before & TH_SLEEP_POLLING) != 0)) {
        if (th_unlikely(th_os_pollset_wake(&target->poller.set))) {
            th_poller_refuse(target->sched);
        }
    } else {
        th_os_futex_wake(&target->xsleep, 1);
    }
}

static void send_wake(th_worker *target, uint32_t before, th_worker *by, thrum_sched *sched) {
    const unsigned polling = (before & TH_SLEEP_POLLING) != 0;
    if (by) {
        th_count(&by->counters.xfutex_wakes, 1);
        th_count(&by->counters.xwakes_polling, polling);
        if (th_is_traced(by)) {
            th_trace_notes(by, TH_TRACED_WOKE, target->index + 1);
        }
    } else {
        /* relaxed: a figure to look at; several threads add to it */
        th_add_relaxed(&sched->externals.counters.xfutex_wakes, 1u);
        if (polling) {
            /* relaxed: as above */
            th_add_relaxed(&sched->externals.counters.xwakes_polling, 1u);
        }
    }
    wake_where_it_sleeps(target, before);
}

static void count_wake(thrum_sched *sched, th_worker *by, th_wake_cause cause) {
    if (!by) {
        /* relaxed: a figure to look at; several threads add to it */
        th_add_relaxed(&sched->externals.counters.xwakes_submit, 1u);
    } else if (cause == TH_WAKE_SUBMIT) {
        th_count(&by->counters.xwakes_submit, 1);
    } else {
        th_count(&by->counters.xwakes_chain, 1);
    }
}

/*
 * Takes a sleeper off the stack, else the sentinel, and grants the search token in the same
 * exchange. The entry may be stale (its worker went on by itself): then the token is given back
 * before the next try. A thread that submits meanwhile sees a searcher that is none and relies on
 * it, so giving the token back without reading the word again would lose that thread's wake. False
 * when no worker sleeps or, unless `anyway`, a searcher is there already. With `lone`, for a single
 * task, a sentinel that sleeps long is woken even if others sleep or search: from then on it comes
 * round again.
 */
static bool wake_next(thrum_sched *sched, th_worker *by, th_wake_cause cause, bool anyway,
                      bool lone) {
    unsigned leaving = 0; /* a sentinel that was about to go on by itself: it will look itself */
    for (;;) {
        /* pairs: th_park_announce; publishes the links and words of the workers in the stack */
        uint64_t word = th_load_acquire(&sched->xpark);
        bool deep = lone && th_park_long(word);
        unsigned top = deep ? 0 : th_park_top(word);
        unsigned which = top ? top : th_park_sentinel(word);
        if ((th_park_searchers(word) && !anyway && !deep) || !which) {
            return false; /* there is a searcher already, or no sleeper */
        }
        th_worker *target = &sched->workers[which - 1];
        /*
         * relaxed: the park word was read before. If the sentinel parked again meanwhile, it may
         * have looked before another thread published and relied on this token: then it is tried
         * again. Otherwise it is still to look.
         */
        if (!top && which == leaving && !(th_load_relaxed(&target->xsleep) & TH_SLEEP_PARKED)) {
            return false;
        }
        uint64_t want = word + TH_PARK_SEARCHER_ONE;
        if (top) {
            /* relaxed: the tag in the exchange shows whether it is still the top's link */
            want = th_park_with_top(want, th_load_relaxed(&target->xidle_next));
        } else {
            want |= TH_PARK_WATCH;
        }
        /* lock-free: it fails only when another change of the word succeeded; ABA: parkword.h */
        /* relaxed: one order of all changes of the word; notify_sleeper publishes it */
        if (!th_cas_relaxed(&sched->xpark, &word, want)) {
            continue;
        }
        uint32_t before = notify_sleeper(target, top ? TH_SLEEP_LISTED : 0, TH_SLEEP_TOKEN);
        if (before) {
            count_wake(sched, by, cause);
            send_wake(target, before, by, sched);
            return true;
        }
        leaving = top ? leaving : which;
        /* relaxed: the loop reads the same word again, so not an older value */
        th_sub_relaxed(&sched->xpark, TH_PARK_SEARCHER_ONE);
    }
}

void th_wake_one(thrum_sched *sched, th_worker *by, th_wake_cause cause) {
    wake_next(sched, by, cause, false, false);
}

void th_notify_somebody(th_worker *worker, uint64_t word) {
    if (th_park_searchers(word) && !th_park_long(word)) {
        return;
    }
    /* relaxed: th_park_unannounce acquires it; an older one means that the worker came round */
    th_store_relaxed(&worker->xlone_tick, th_load_relaxed(&worker->xtick));
    wake_next(worker->sched, worker, TH_WAKE_SUBMIT, false, true);
}

/*
 * Each woken worker has a token, so each looks, or hands the duty on (rule T). A searcher is no
 * reason to leave the others asleep: there is work for all.
 */
void th_wake_many(thrum_sched *sched, th_worker *by, uint64_t n, th_wake_cause cause) {
    while (n-- && wake_next(sched, by, cause, true, false)) {
    }
}

bool th_wake_worker(th_worker *target) {
    /* seq: the push before the sleep word is read; announce, then the inbox is read */
    th_fence_seq();
    /* relaxed: ordered by the fence */
    if (!(th_load_relaxed(&target->xsleep) & TH_SLEEP_PARKED)) {
        return false;
    }
    uint32_t before = notify_sleeper(target, 0, 0);
    if (before) {
        th_worker *by = th_here();
        if (by && by->sched == target->sched) {
            th_count(&by->counters.xwakes_pinned, 1);
        } else {
            by = NULL;
            /* relaxed: a figure to look at; several threads add to it */
            th_add_relaxed(&target->sched->externals.counters.xwakes_pinned, 1u);
        }
        send_wake(target, before, by, target->sched);
    }
    return before != 0;
}

void th_wake_spare(th_worker *spare) {
    uint32_t before = notify_sleeper(spare, 0, 0);
    if (before) {
        wake_where_it_sleeps(spare, before);
    }
}

static bool is_unwatched(uint64_t word) {
    return th_park_anyone(word) &&
           (th_park_long(word) || (!th_park_searchers(word) && !th_park_sentinel(word)));
}

void th_watch_now(thrum_sched *sched, th_worker *by) {
    /* relaxed: ordered by the caller. A worker that parks after that word sees that not all sleep,
     * and takes the sentinel's role */
    if (is_unwatched(th_load_relaxed(&sched->xpark))) {
        wake_next(sched, by, TH_WAKE_SUBMIT, false, true);
    }
}

void th_watch_again(th_worker *worker) {
    /* relaxed: it has left the word itself. A sentinel that begins its long sleep later than that
     * knows that all have parked */
    if (!worker->sentinel && th_park_long(th_load_relaxed(&worker->sched->xpark))) {
        wake_next(worker->sched, worker, TH_WAKE_SUBMIT, false, true);
    }
}

/* Whether there is a sentinel that sleeps long and wakes by this time, or as late as in rounds. */
static bool comes_by_then(const thrum_sched *sched, uint64_t word, int64_t at) {
    if (!th_park_long(word)) {
        return false;
    }
    const th_worker *sentinel = &sched->workers[th_park_sentinel(word) - 1];
    /* relaxed: behind the caller's fence, or its going on (begin_long_sleep) */
    const int64_t comes = th_load_relaxed(&sentinel->xlong_sleep);
    return comes != TH_FOREVER && comes - th_watch_ns(sched) <= at;
}

void th_watch_from(thrum_sched *sched, th_worker *by, int64_t at) {
    uint64_t word = th_load_relaxed(&sched->xpark); /* relaxed: as above */
    if (is_unwatched(word) && !comes_by_then(sched, word, at) &&
        !th_alarm_request(sched, word, at)) {
        wake_next(sched, by, TH_WAKE_SUBMIT, false, true);
    }
}

void th_rouse_monitor(thrum_sched *sched, uint64_t word) {
    /* relaxed: as of the caller's word, which it has acquired; a spare that begins to take part
     * meanwhile compares later */
    if (th_park_parked(word) > th_load_relaxed(&sched->spare_set.xidle_spares)) {
        return; /* another worker is free */
    }
    /* pairs: go_dormant; the monitor's writes before it was dormant */
    if (th_and_acquire(&sched->xpark, ~TH_PARK_DORMANT) & TH_PARK_DORMANT) {
        /* relaxed: behind the acquire */
        th_appoint_monitor(&sched->workers[th_load_relaxed(&sched->spare_set.xmonitor)]);
    }
}

void th_appoint_monitor(th_worker *spare) {
    th_or_relaxed(&spare->xsleep, TH_SLEEP_MONITOR); /* relaxed: see sleep_as_idle_spare */
    th_os_futex_wake(&spare->xsleep, 1);
}

void th_wake_all(thrum_sched *sched) {
    for (unsigned i = 0; i < sched->workers_count; i++) {
        th_worker *target = &sched->workers[i];
        uint32_t before = notify_sleeper(target, 0, 0);
        if (before) {
            wake_where_it_sleeps(target, before);
        }
    }
}
