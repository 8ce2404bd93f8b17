/*
 * bound_sleep.c: the loop of a bound thread that waits: it runs the work that it finds, and sleeps
 * until it is woken or a deadline passes (core/bound/BOUND.md).
 */
#include "core/fiber/trim.h"
#include "core/ready/bound_wake.h"
#include "core/ready/deferred.h"
#include "core/ready/pinned.h"
#include "core/ready/priority.h"
#include "core/due/fork_slots.h"
#include "core/due/poll.h"
#include "core/ready/quiesce_sum.h"
#include "core/due/timer.h"
#include "core/wait/switch.h"
#include "core/bound/bound.h"
#include "core/trace/trace_notes.h"
#include "platform/platform.h"

/*
 * A thread that slept has found something, and no longer serves loose work: wakes another sleeping
 * thread to do that.
 */
static void hand_over(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    worker->woken = false;
    if (sched->workers_count) {
        return;
    }
    /* relaxed: the put that woke us was acquired in `sleep`; other puts wake other threads */
    int64_t first = th_load_relaxed(&sched->loose_timers.xearliest);
    if (!th_inject_is_empty(&sched->inject) || th_priority_any(sched)) {
        th_bound_wake(sched, 1);
    } else if (first != INT64_MAX) {
        th_bound_wake_unless(sched, 1, first);
    }
}

static int64_t earliest(const th_worker *worker) {
    int64_t own = th_load_relaxed(&worker->own_timers.xearliest); /* relaxed: behind the fence */
    int64_t loose = INT64_MAX;
    if (!worker->sched->workers_count) {
        loose = th_load_relaxed(&worker->sched->loose_timers.xearliest); /* relaxed: as above */
    }
    return own < loose ? own : loose;
}

/* Whether the root, which waits for no wake, can go on. */
static bool may_go_on(const th_worker *worker) {
    if (worker->tie.leaving) {
        /*
         * relaxed: we see deferred work that is tied to us; others may take the work that they
         * deferred
         */
        return !worker->tie.held && !th_load_relaxed(&worker->sched->xdeferred);
    }
    /* relaxed: the lock that the root takes orders it (quiesce.c) */
    return worker->tie.awaits &&
           (th_load_relaxed(worker->tie.awaits) || worker->tie.awaits_until <= th_os_now());
}

static void sleep_until(th_worker *worker, uint32_t word, int64_t until) {
    th_count(&worker->counters.xfutex_waits, 1);
    const th_watch *watch = until == TH_FOREVER ? worker->sched->watch : NULL;
    if (th_unlikely(watch)) {
        watch->sleeps(worker);
    }
    if (th_is_traced(worker)) {
        th_trace_parks(worker);
    }
    if (th_unlikely((word & TH_SLEEP_POLLING) != 0)) {
        th_poller *poller = &worker->poller;
        th_count(&worker->counters.xpolls, 1);
        int n = th_os_pollset_wait(&poller->set, poller->events, TH_POLL_EVENTS, until);
        poller->got = n > 0 ? (unsigned)n : 0;
    } else {
        th_os_futex_wait(&worker->xsleep, word, until);
    }
    if (th_is_traced(worker)) {
        th_trace_unparks(worker);
    }
    if (th_unlikely(watch)) {
        watch->wakes(worker);
    }
}

/*
 * Announces that the thread sleeps, or that it is in somebody else's loop, and looks again. False:
 * there is something to do. *until: the time at which there will be.
 */
static bool announce(th_worker *worker, int64_t *until) {
    thrum_sched *sched = worker->sched;
    *until = TH_FOREVER;
    const bool was_open = th_poller_is_open(&sched->loose_poller);
    const bool polls = th_poll_nests(worker, until);
    th_store_relaxed(&worker->xuntil, TH_FOREVER); /* relaxed: the fence orders it */
    /* pairs: notify_sleeper; the set, which this thread or an earlier one has opened */
    th_or_release(&worker->xsleep, TH_SLEEP_PARKED | (polls ? TH_SLEEP_POLLING : 0));
    /*
     * seq: announced before the queues, and the deadlines, are read; the other side is
     * th_wake_worker, th_bound_wake_unless
     */
    th_fence_seq();
    if (th_load_relaxed(&sched->xquiesce_waiters)) { /* relaxed: ordered by the fence */
        th_quiesce_notify(sched);
    }
    bool deferred = th_load_relaxed(&sched->xdeferred) != 0; /* relaxed: a hint, as in th_park */
    int64_t again = deferred ? th_os_now() + TH_DEFER_NS : TH_FOREVER;
    *until = again < *until ? again : *until;
    if (worker->tie.awaits && worker->tie.awaits_until < *until) {
        *until = worker->tie.awaits_until;
    }
    /* Another thread may have opened the set before it could see that this one sleeps. */
    const bool opened = !was_open && th_poller_is_open(&sched->loose_poller);
    if (opened || worker->policy->pending(worker) || may_go_on(worker)) {
        return false;
    }
    int64_t first = earliest(worker);
    *until = first < *until ? first : *until;
    th_store_relaxed(&worker->xuntil, *until); /* relaxed: it is true from now on */
    return *until > th_os_now();
}

/* It runs again; the cause of its wake, and its events, are its own. */
static void unannounce(th_worker *worker) {
    /* pairs: notify_sleeper; the cause of its wake, part of which it may leave to others */
    th_and_acquire(&worker->xsleep,
                   ~(TH_SLEEP_PARKED | TH_SLEEP_NOTIFIED | TH_SLEEP_TOKEN | TH_SLEEP_POLLING));
    worker->woken = true;
    if (th_unlikely(worker->poller.got != 0)) {
        (void)th_poll_awake(worker);
    }
}

/*
 * Sleeps until there is something to do, it is notified, or a deadline passes; it may wake
 * early.
 */
static void sleep(th_worker *worker) {
    int64_t until;
    if (announce(worker, &until)) {
        uint32_t word = th_load_relaxed(&worker->xsleep); /* relaxed: the kernel compares again */
        if (word & TH_SLEEP_PARKED) {
            sleep_until(worker, word, until);
        }
    }
    unannounce(worker);
}

/* `at_once`: looks at descriptors whenever the last look was. */
static void fire(th_worker *worker, bool at_once) {
    thrum_sched *sched = worker->sched;
    if (!sched->workers_count) {
        (void)th_poll_loose(worker, at_once);
    }
    if (th_likely(earliest(worker) == INT64_MAX)) {
        return;
    }
    int64_t now = th_os_now();
    /* relaxed: a timer inserted at this moment is seen at a later check */
    if (th_load_relaxed(&worker->own_timers.xearliest) <= now) {
        th_timers_fire(worker, &worker->own_timers, now, false);
    }
    /* relaxed: as above */
    if (!sched->workers_count && th_load_relaxed(&sched->loose_timers.xearliest) <= now) {
        th_timers_fire(worker, &sched->loose_timers, now, false);
    }
}

/* The root is about to go on: notifies threads that wait for the work that has ended. */
static void tell_idle(th_worker *worker) {
    th_fence_seq(); /* seq: our ends before the waiters are read; enlist has it the other way */
    if (th_load_relaxed(&worker->sched->xquiesce_waiters)) { /* relaxed: ordered by the fence */
        th_quiesce_notify(worker->sched);
    }
}

th_work *th_bound_look(th_worker *worker) {
    fire(worker, false);
    th_pinned_collect(worker); /* its own wake may be there, and does not wait for the rest */
    /* Not for the root itself when it is about to sleep: its loop handles that. */
    bool late = worker->tie.awaits && worker->current != &worker->home && may_go_on(worker);
    return late ? &worker->home.work : NULL;
}

TH_NO_TSAN void th_bound_catch_up(th_worker *worker) {
    int saved = *worker->errno_at;
    th_enter(worker);
    th_bound_come_back(worker);
    fire(worker, true);
    th_leave(worker);
    *worker->errno_at = saved;
}

/* Whether the root may go on, or a deadline has passed that this thread sees to. */
static bool is_due(const th_worker *worker) {
    int64_t first = earliest(worker);
    return may_go_on(worker) || (first != INT64_MAX && first <= th_os_now());
}

/* Whether there is something better to do than to look through stacks. */
static bool is_wanted(th_worker *worker) {
    return worker->policy->pending(worker) || is_due(worker) ||
           worker->sched->policy->pending(worker);
}

TH_NO_TSAN int64_t th_bound_pass(th_worker *worker) {
    th_poller *poller = &worker->poller;
    int saved = *worker->errno_at;
    if (th_forks_any(&worker->forks)) {
        th_forks_give_all(worker); /* fibers that run meanwhile have their own */
    }
    th_enter(worker);
    th_count(&worker->counters.xpolls, 1);
    int n = th_os_pollset_wait(&poller->set, poller->events, TH_POLL_EVENTS, 0);
    poller->got = n > 0 ? (unsigned)n : 0;
    worker->tie.announced = false;
    unannounce(worker);
    worker->tie.passing = true;
    th_suspend(&worker->home, TH_COMMIT_ROOT, NULL);
    worker->tie.passing = false;
    worker->tie.announced = true;
    th_leave(worker);
    *worker->errno_at = saved;
    return worker->tie.next;
}

void th_bound_come_back(th_worker *worker) {
    if (th_unlikely(worker->tie.announced)) {
        worker->tie.announced = false;
        unannounce(worker);
        hand_over(worker);
    }
}

/* Whether the root made a step, and there is nothing left to run. */
static bool is_step_over(th_worker *worker) {
    if (worker->tie.stepping) {
        th_store_relaxed(worker->tie.awaits, 1u); /* relaxed: only this thread reads it */
    }
    return worker->tie.stepping;
}

th_work *th_bound_find(th_worker *worker) {
    th_bound_come_back(worker); /* its root waits for something else now */
    for (;;) {
        th_work *work = worker->handoff;
        worker->handoff = NULL;
        if (!work) {
            work = th_bound_look(worker);
        }
        if (!work) {
            work = worker->policy->pick(worker);
        }
        if (!work) {
            work = th_deferred_take(worker);
        }
        if (!work && (may_go_on(worker) || is_step_over(worker))) {
            work = &worker->home.work;
        }
        if (work) {
            if (work == &worker->home.work) {
                tell_idle(worker);
            }
            if (worker->woken) {
                hand_over(worker);
            }
            return work;
        }
        tell_idle(worker); /* the end of all work, before time is spent on leftovers */
        if (th_unlikely(worker->tie.passing)) {
            if (announce(worker, &worker->tie.next)) {
                return &worker->home.work; /* it counts as asleep until it waits or comes again */
            }
            unannounce(worker);
        } else if (!may_go_on(worker)) {
            th_fiber_cache_trim(worker, is_wanted);
            sleep(worker);
        }
    }
}
