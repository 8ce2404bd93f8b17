/*
 * poll.c: see poll.h.
 */
#include "core/ready/poll.h"

#include "core/ready/bound_wake.h"
#include "core/ready/submit.h"
#include "core/ready/wake.h"
#include "core/ready/waiter.h"
#include "platform/platform.h"

/* ---- adding ---- */

static int open_set(th_poller *poller, th_poll_fn event) {
    th_lock_acquire(&poller->lock);
    int code = 0;
    if (!poller->xopen) { /* written with the lock held */
        code = th_os_pollset_open(&poller->set);
        if (!code) {
            poller->event = event;
            /* relaxed: for looks of others, as of about now */
            th_store_relaxed(&poller->xlooked_at, th_os_ticks());
            /* pairs: th_poller_is_open; the set */
            th_store_release(&poller->xopen, 1u);
        }
    }
    th_lock_release(&poller->lock);
    return code;
}

/*
 * The set is open, and its owner may sleep by its futex, where no event wakes it: then it is woken,
 * and sleeps in the set from then on. Where it does not sleep yet, it sees that the set is open.
 */
static TH_NO_TSAN void tell_owner(th_poller *poller, th_worker *here) {
    th_worker *owner = poller->owner;
    if (!owner) {
        th_bound_wake(poller->sched, UINT64_MAX); /* a fence, and then the same for each of them */
        return;
    }
    if (owner == here) {
        owner->polls = true;
        owner->picks.quick = NULL;
        return;
    }
    /* seq: the set is open before the sleep word is read; th_park announces, then looks */
    th_fence_seq();
    /* relaxed: ordered by the fence */
    uint32_t word = th_load_relaxed(&owner->xsleep);
    if ((word & TH_SLEEP_PARKED) && !(word & TH_SLEEP_POLLING)) {
        (void)th_wake_worker(owner);
    }
}

/*
 * The set has got its first descriptor. If its owner runs, others look at it meanwhile, for which a
 * sentinel is needed. If it goes on after this, it sees that it has a descriptor.
 */
static TH_NO_TSAN void tell_sentinel(th_poller *poller, th_worker *here) {
    const uint32_t asleep = TH_SLEEP_PARKED | TH_SLEEP_POLLING;
    th_worker *owner = poller->owner;
    if (!owner) {
        return; /* bound threads are told by their own sets, in which this one is */
    }
    /* seq: the member before the sleep word and the park word are read; a worker that goes busy
     * changes these, fences, and looks for members (th_went_busy) */
    th_fence_seq();
    /* relaxed: ordered by the fence */
    if ((th_load_relaxed(&owner->xsleep) & asleep) != asleep) {
        th_watch_timers(poller->sched, here);
    }
}

int th_poll_add(thrum_sched *sched, int fd, uint64_t key, th_poll_fn event, th_poller **out) {
    const th_worker *here = th_here();
    /* A spare, and a bound thread, take the set of a worker that stays. */
    unsigned worker = here && here->sched == sched ? here->index : 0;
    return th_poll_add_at(sched, worker, fd, key, event, out);
}

int th_poll_add_at(thrum_sched *sched, unsigned worker, int fd, uint64_t key, th_poll_fn event,
                   th_poller **out) {
    th_worker *here = th_here();
    here = here && here->sched == sched ? here : NULL;
    th_poller *poller = sched->workers_count
                            ? &sched->workers[worker % sched->workers_regular].poller
                            : &sched->loose_poller;
    const bool was_open = th_poller_is_open(poller);
    int code = was_open ? 0 : open_set(poller, event);
    if (code) {
        return code;
    }
    if (!was_open) {
        tell_owner(poller, here);
    }
    /* relaxed: a hint for those that help, counted before there can be an event */
    if (th_add_relaxed(&poller->xmembers, 1u) == 0) {
        tell_sentinel(poller, here);
    }
    code = th_os_pollset_add(&poller->set, fd, key);
    if (code) {
        th_poll_gone(poller);
        return code;
    }
    *out = poller;
    return 0;
}

void th_poll_gone(th_poller *poller) {
    th_sub_relaxed(&poller->xmembers, 1u); /* relaxed: a hint, as above */
}

/* ---- handing out ---- */

void th_poll_wake(th_worker *by, th_waiter *waiter) {
    th_waiter *whole = th_waiter_whole(waiter);
    th_fiber *fiber = whole->fiber; /* afterwards the waiter may be gone */
    if (!fiber || fiber->sched != by->sched) {
        th_waiter_let_go(waiter);
        return;
    }
    uint32_t old;
    if (whole->timed) {
        whole->value = waiter->value;
        /* pairs: released, th_wait_commit; as th_waiter_wake */
        old = th_or_acq_rel(&whole->xword, TH_WAIT_RELEASED);
    } else {
        /* pairs: released, th_wait_commit; as th_waiter_wake */
        old = th_xchg_acq_rel(&whole->xword, TH_WAIT_WOKEN | TH_WAIT_RELEASED);
    }
    if (old & TH_WAIT_PARKED) { /* else the fiber sees it itself, or its committer queues it */
        if (!fiber->root) {
            th_activity_began(&by->activity.xreadied);
        }
        th_chain_append(&by->due, &fiber->work);
    }
}

/*
 * Queues by->due: what is tied to a thread one by one, the rest at once, from by->posting: a post
 * may fire deadlines first (fifo), for which by->due must be empty.
 */
static TH_NO_TSAN void submit_due(th_worker *by) {
    th_chain rest = {0};
    th_work *work;
    while ((work = th_chain_take(&by->due))) {
        if (work->worker < 0) {
            th_chain_append(&rest, work);
        } else {
            th_submit(by, work, THRUM_HINT_NONE);
        }
    }
    by->posting = rest;
    if (by->posting.first) {
        th_submit_chain(by, &by->posting);
        by->posting = (th_chain){0};
    }
}

static void loose_is_ready(th_worker *by, uint64_t key, uint32_t bits);

/* Not shown to the thread sanitizer, nor is look: the events lie on the stack of a task. */
static TH_NO_TSAN bool hand_out(th_worker *by, th_poller *poller, const th_os_event events[],
                                unsigned n) {
    unsigned found = 0;
    for (unsigned i = 0; i < n; i++) {
        if (events[i].key != TH_OS_WAKE) {
            (poller->nested ? loose_is_ready : poller->event)(by, events[i].key, events[i].bits);
            found += !poller->nested;
        } else if (poller->owner == by) {
            th_os_pollset_wake_take(&poller->set);
        }
    }
    th_count(&by->counters.xpoll_events, found);
    if (!by->due.first) {
        return false;
    }
    submit_due(by);
    return true;
}

static TH_NO_TSAN bool look(th_worker *by, th_poller *poller) {
    th_os_event events[TH_POLL_EVENTS];
    /* relaxed: for looks of others, as of about now */
    th_store_relaxed(&poller->xlooked_at, th_os_ticks());
    th_count(&by->counters.xpolls, 1);
    int n = th_os_pollset_wait(&poller->set, events, TH_POLL_EVENTS, 0);
    return n > 0 && hand_out(by, poller, events, (unsigned)n);
}

/* In the set of a bound thread there is only the shared one. */
static void loose_is_ready(th_worker *by, uint64_t key, uint32_t bits) {
    (void)key;
    (void)bits;
    (void)look(by, &by->sched->loose_poller);
}

bool th_poll_own(th_worker *worker) {
    return th_poll_any(worker) && look(worker, &worker->poller);
}

void th_poll_awake(th_worker *worker) {
    unsigned n = worker->poller.got;
    worker->poller.got = 0;
    (void)hand_out(worker, &worker->poller, worker->poller.events, n);
}

/* ---- without workers ---- */

bool th_poll_loose(th_worker *worker) {
    th_poller *poller = &worker->sched->loose_poller;
    if (th_likely(!th_poller_is_open(poller))) {
        return false;
    }
    /* relaxed: a figure; two that look at the same time do no harm */
    uint64_t at = th_load_relaxed(&poller->xlooked_at);
    return th_os_ticks_ns(th_os_ticks() - at) >= TH_POLL_LOOK_NS && look(worker, poller);
}

TH_NO_TSAN int th_poll_visit(th_worker *worker) {
    th_poller *poller = &worker->poller;
    int code = poller->xopen ? 0 : th_os_pollset_open(&poller->set);
    if (!code) {
        /* relaxed: only its own thread looks, and the end of the scheduler */
        th_store_relaxed(&poller->xopen, 1u);
        worker->polls = true;
    }
    return code;
}

/* Makes the thread's own set, with the shared one in it. */
static bool nest(th_worker *worker) {
    th_poller *poller = &worker->poller;
    if (poller->nested) { /* the record's thread may have been another one */
        return true;
    }
    if (th_poll_visit(worker)) {
        return false;
    }
    poller->nested = th_os_pollset_add_set(&poller->set, &worker->sched->loose_poller.set, 0) == 0;
    return poller->nested;
}

bool th_poll_nests(th_worker *worker, int64_t *until) {
    thrum_sched *sched = worker->sched;
    if (th_poller_is_open(&sched->loose_poller) && !nest(worker)) {
        int64_t soon = th_os_now() + TH_POLL_HELP_NS; /* it looks between two short sleeps */
        *until = soon < *until ? soon : *until;
    }
    return worker->polls;
}

/* ---- the sets of others ---- */

/* Whether the worker runs, or is about to, and so does not wait for its set. */
static bool is_running(const th_worker *worker) {
    /* relaxed: a guess, made again soon */
    return (th_load_relaxed(&worker->xsleep) & (TH_SLEEP_PARKED | TH_SLEEP_POLLING)) !=
           (TH_SLEEP_PARKED | TH_SLEEP_POLLING);
}

static bool has_members(const th_worker *worker) {
    return th_poller_is_open(&worker->poller) &&
           th_load_relaxed(&worker->poller.xmembers) != 0; /* relaxed: a hint, as above */
}

bool th_poll_help(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    bool any = false;
    for (unsigned i = 0; i < sched->workers_regular; i++) {
        th_worker *other = &sched->workers[i];
        if (other == worker || !has_members(other) || !is_running(other)) {
            continue;
        }
        /* relaxed: a figure; two that look at the same time do no harm */
        uint64_t at = th_load_relaxed(&other->poller.xlooked_at);
        if (th_os_ticks_ns(th_os_ticks() - at) >= TH_POLL_HELP_NS) {
            any = look(worker, &other->poller) || any;
        }
    }
    return any;
}

bool th_poll_waits(const th_worker *worker) {
    const th_poller *poller = &worker->poller;
    return has_members(worker) && is_running(worker) &&
           /* relaxed: a figure, as above */
           th_os_ticks_ns(th_os_ticks() - th_load_relaxed(&poller->xlooked_at)) >=
               TH_POLL_HELP_NS &&
           th_os_pollset_is_ready(&poller->set);
}

bool th_poll_watched(const thrum_sched *sched) {
    for (unsigned i = 0; i < sched->workers_regular; i++) {
        const th_worker *worker = &sched->workers[i];
        if (has_members(worker) && is_running(worker)) {
            return true;
        }
    }
    return false;
}
