/*
 * poll.c: see poll.h.
 */
#include "core/due/poll.h"

#include <errno.h>

#include "core/ready/alarm.h"
#include "core/ready/bound_wake.h"
#include "core/ready/priority.h"
#include "core/ready/submit.h"
#include "core/ready/waiter.h"
#include "core/ready/wake.h"
#include "core/trace/trace_notes.h"
#include "core/state/poller.h"
#include "platform/platform.h"

/* ---- adding ---- */

static int open_set(th_poller *poller, th_poll_fn event) {
    TH_LOCKED(&poller->lock);
    int code = 0;
    if (!poller->xopen) { /* written with the lock held */
        code = th_os_pollset_open(&poller->set);
        if (!code) {
            poller->event = event;
            if (poller->owner && !th_is_spare(poller->owner)) {
                th_alarm_join(poller->sched, &poller->set);
            }
            /* relaxed: for looks of others, as of about now */
            th_store_relaxed(&poller->xlooked_at, th_os_ticks());
            /* pairs: th_poller_is_open; the set */
            th_store_release(&poller->xopen, 1u);
        }
    }
    return code;
}

/*
 * The set is open, and its owner may sleep by its futex, where no event wakes it: then it is woken,
 * and sleeps in the set from then on. If it does not sleep yet, it sees that the set is open.
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
        return; /* bound threads notice through their own sets, which contain this one */
    }
    /* seq: the member before the sleep word and the park word are read; a worker that goes busy
     * changes these, fences, and looks for members (th_went_busy) */
    th_fence_seq();
    /* relaxed: ordered by the fence */
    if ((th_load_relaxed(&owner->xsleep) & asleep) != asleep) {
        th_watch_from(poller->sched, here, th_os_now() + TH_POLL_HELP_NS);
    }
}

/*
 * The set has not taken the descriptor. If that is open, the program has closed the set, whose
 * number may be something else's by now.
 */
static void check_refusal(const th_poller *poller, int fd, int code) {
    th_os_kind kind;
    th_os_identity identity;
    if ((code == -EBADF || code == -EINVAL) && th_os_io_kind(fd, &kind, &identity) == 0) {
        th_poller_refuse(poller->sched);
    }
}

/* `was_open`: the set was, before this call. */
static int add(th_poller *poller, bool was_open, int fd, uint64_t key) {
    th_worker *here = th_here();
    here = here && here->sched == poller->sched ? here : NULL;
    /* another thread may not have notified it */
    if (!was_open || (here && poller->owner == here)) {
        tell_owner(poller, here);
    }
    /* relaxed: a hint for helpers, counted before there can be an event */
    if (th_add_relaxed(&poller->xmembers, 1u) == 0) {
        tell_sentinel(poller, here);
    }
    const int code = th_os_pollset_add(&poller->set, fd, key);
    if (code) {
        th_poll_gone(poller);
        check_refusal(poller, fd, code);
    }
    return code;
}

/* The set of the worker with this number; without workers the bound threads' shared set. */
static th_poller *poller_of(thrum_sched *sched, unsigned worker) {
    return sched->workers_count ? &sched->workers[worker % sched->workers_regular].poller
                                : &sched->loose_poller;
}

/* A spare, and a bound thread, take the set of a worker that stays. */
static unsigned number_here(const thrum_sched *sched) {
    const th_worker *here = th_here();
    return here && here->sched == sched ? here->index : 0;
}

int th_poll_open(thrum_sched *sched, th_poll_fn event) {
    th_poller *poller = poller_of(sched, number_here(sched));
    int code = th_poller_is_open(poller) ? 0 : open_set(poller, event);
    if (!code) {
        tell_owner(poller, th_here());
    }
    return code;
}

int th_poll_add(thrum_sched *sched, int fd, uint64_t key, th_poll_fn event, th_poller **out) {
    return th_poll_add_at(sched, number_here(sched), fd, key, event, out);
}

int th_poll_add_at(thrum_sched *sched, unsigned worker, int fd, uint64_t key, th_poll_fn event,
                   th_poller **out) {
    th_poller *poller = poller_of(sched, worker);
    const bool was_open = th_poller_is_open(poller);
    int code = was_open ? 0 : open_set(poller, event);
    code = code ? code : add(poller, was_open, fd, key);
    *out = code ? NULL : poller;
    return code;
}

int th_poll_add_open(thrum_sched *sched, int fd, uint64_t key, th_poller **out) {
    for (unsigned i = 0; i < sched->workers_regular; i++) {
        th_poller *poller = &sched->workers[i].poller;
        if (th_poller_is_open(poller)) {
            const int code = add(poller, true, fd, key);
            *out = code ? NULL : poller;
            return code;
        }
    }
    return -EMFILE;
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
 * Queues by->due: work tied to a thread one by one, the rest at once, from by->posting: a post may
 * fire deadlines first (fifo), for which by->due must be empty. With `next` the worker has nothing
 * else to do, and goes on with the first: no other worker is woken for that one.
 */
static TH_NO_TSAN void submit_due(th_worker *by, bool next) {
    th_chain rest = {0};
    th_work *work;
    next = next && by->policy->runs_events_first && !by->handoff && !th_priority_any(by->sched);
    while ((work = th_chain_take(&by->due))) {
        if (work->worker < 0 && next) {
            by->handoff = work;
            th_count(&by->xtick, 1);
            next = false;
        } else if (work->worker < 0) {
            th_chain_append(&rest, work);
        } else {
            th_submit(by, work, TH_HINT_READY);
        }
    }
    by->posting = rest;
    if (by->posting.first) {
        th_submit_chain(by, &by->posting);
        by->posting = (th_chain){0};
    }
}

static bool look(th_worker *by, th_poller *poller, bool next);

/* Not shown to the thread sanitizer, nor is look, which may run on the stack of a task. */
static TH_NO_TSAN bool hand_out(th_worker *by, th_poller *poller, const th_os_event events[],
                                unsigned n, bool next) {
    unsigned found = 0;
    bool loose = false;
    for (unsigned i = 0; i < n; i++) {
        if (events[i].key == TH_OS_ALARM) {
            continue; /* for a worker that sleeps */
        }
        if (events[i].key != TH_OS_WAKE) {
            loose = poller->nested; /* in the set of a bound thread there is only the shared one */
            if (!loose) {
                poller->event(by, events[i].key, events[i].bits);
                found++;
            }
        } else if (poller->owner == by) {
            th_os_pollset_wake_take(&poller->set);
        }
    }
    if (loose) {
        (void)look(by, &by->sched->loose_poller, false); /* into the same memory */
    }
    th_count(&by->counters.xpoll_events, found);
    if (found && th_is_traced(by)) {
        th_trace_notes(by, TH_TRACED_POLLED, found);
    }
    by->poller.found = found;
    if (!by->due.first) {
        return false;
    }
    submit_due(by, next);
    return true;
}

/*
 * An event put off while this runs is not lost. It is noted with the event's lock held, so the note
 * comes either before the event, which handles it, or after this function takes the note back.
 */
static TH_NO_TSAN void catch_up(th_worker *by, th_poller *poller) {
    const uint64_t key = th_load_relaxed(&poller->xput_off); /* relaxed: as th_poll_put_off */
    if (th_unlikely(key)) {
        th_store_relaxed(&poller->xput_off, 0); /* relaxed: as above */
        poller->event(by, key, 0);
    }
}

/* Looks at the code of a wait. */
static inline int check_open(const th_poller *poller, int n) {
    if (th_unlikely(n == -EBADF || n == -EINVAL)) {
        th_poller_refuse(poller->sched);
    }
    return n;
}

/* As hand_out: with `next` the worker has nothing else to do. */
static TH_NO_TSAN bool look(th_worker *by, th_poller *poller, bool next) {
    th_os_event *events = by->poller.events; /* a task's stack stays small */
    /* relaxed: for looks of others, as of about now */
    th_store_relaxed(&poller->xlooked_at, th_os_ticks());
    th_count(&by->counters.xpolls, 1);
    catch_up(by, poller);
    const int n = check_open(poller, th_os_pollset_wait(&poller->set, events, TH_POLL_EVENTS, 0));
    by->poller.found = 0;
    return (n > 0 || by->due.first) && hand_out(by, poller, events, n > 0 ? (unsigned)n : 0, next);
}

bool th_poll_own(th_worker *worker, bool next) {
    return th_poll_any(worker) && look(worker, &worker->poller, next);
}

/* ---- without workers ---- */

bool th_poll_loose(th_worker *worker, bool at_once) {
    th_poller *poller = &worker->sched->loose_poller;
    if (th_likely(!th_poller_is_open(poller))) {
        return false;
    }
    /* relaxed: a figure; two that look at the same time do no harm */
    uint64_t at = th_load_relaxed(&poller->xlooked_at);
    return (at_once || th_os_ticks_ns(th_os_ticks() - at) >= TH_POLL_LOOK_NS) &&
           look(worker, poller, false);
}

TH_NO_TSAN int th_poll_embed(th_worker *worker) {
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
    if (th_poll_embed(worker)) {
        return false;
    }
    poller->nested = th_os_pollset_add_set(&poller->set, &worker->sched->loose_poller.set, 0) == 0;
    return poller->nested;
}

bool th_poll_nests(th_worker *worker, int64_t *until) {
    thrum_sched *sched = worker->sched;
    /* A foreign loop that waits for this thread's set does not see events in the shared one. */
    const bool blind = worker->tie.passing && !th_os_pollset_shows();
    if (th_poller_is_open(&sched->loose_poller) && (!nest(worker) || blind)) {
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
        const uint64_t now = th_os_ticks();
        if (th_os_ticks_ns(now - at) >= TH_POLL_HELP_NS) {
            th_store_relaxed(&other->poller.xstill_at, now); /* relaxed: as above */
            any = look(worker, &other->poller, false) || any;
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
           /* relaxed: as th_poll_put_off */
           (th_load_relaxed(&poller->xput_off) || th_os_pollset_is_ready(&poller->set));
}

/* ---- watching workers that stand still ---- */

/*
 * Whether the worker runs and did not look at its set for a while, or not long ago, so that it is
 * waited for. Once such a wait has ended for nothing, as by a wake-up that comes late, it has to
 * have picked.
 */
static bool stands_still(th_worker *worker) {
    th_poller *poller = &worker->poller;
    if (!has_members(worker) || !is_running(worker)) {
        return false;
    }
    const uint64_t now = th_os_ticks();
    /* relaxed: figures, of as about now; a wrong guess costs a wake, or a round's time */
    if (th_os_ticks_ns(now - th_load_relaxed(&poller->xlooked_at)) >= TH_POLL_STILL_NS) {
        th_store_relaxed(&poller->xstill_at, now); /* relaxed: as above */
    }
    /* relaxed: as above */
    return th_os_ticks_ns(now - th_load_relaxed(&poller->xstill_at)) < TH_POLL_STILL_MEMORY_NS &&
           /* relaxed: as above */
           th_load_relaxed(&poller->xrefused_tick) != th_load_relaxed(&worker->xtick);
}

bool th_poll_begin_watch(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    for (unsigned i = 0; i < sched->workers_regular && !worker->polls; i++) {
        th_worker *other = &sched->workers[i];
        if (other != worker && stands_still(other)) {
            worker->polls = open_set(&worker->poller, other->poller.event) == 0;
            return worker->polls;
        }
    }
    return false;
}

/* The sets to wait in: the worker's own, and the sets of workers that stand still. */
static TH_NO_TSAN unsigned sets_of_interest(th_worker *worker, const th_os_pollset *sets[]) {
    thrum_sched *sched = worker->sched;
    unsigned n = 0;
    worker->poller.watched[n] = worker;
    sets[n++] = &worker->poller.set;
    for (unsigned i = 0; i < sched->workers_regular && n < TH_OS_SETS_MAX; i++) {
        th_worker *other = &sched->workers[i];
        if (other != worker && stands_still(other)) {
            worker->poller.watched[n] = other;
            sets[n++] = &other->poller.set;
        }
    }
    return n;
}

/*
 * Looks at the sets that had something; the first is the worker's own. A set with only a wake-up is
 * not waited in until its owner has picked. Whether they are open is checked again, since the
 * thread sanitizer does not see the first check (sets_of_interest).
 */
static void look_at_watched(th_worker *worker, unsigned which) {
    for (unsigned i = 1; which >> i; i++) {
        th_worker *other = worker->poller.watched[i];
        if ((which >> i & 1) && th_poller_is_open(&other->poller)) {
            uint64_t tick = th_load_relaxed(&other->xtick); /* relaxed: only whether it moves */
            (void)look(worker, &other->poller, true);
            /* relaxed: a figure, as above */
            th_store_relaxed(&other->poller.xrefused_tick, worker->poller.found ? 0 : tick);
        }
    }
}

/* As th_os_pollset_wait for its own set, and for the sets of workers that stand still. */
static TH_NO_TSAN int sleep_as_sentinel(th_worker *worker, int64_t *deadline) {
    const th_os_pollset *sets[TH_OS_SETS_MAX];
    unsigned n = sets_of_interest(worker, sets);
    if (n == 1) {
        return 1;
    }
    int which = th_os_pollset_wait_any(sets, n, *deadline);
    worker->poller.got_others = which > 0 ? (unsigned)which & ~1u : 0;
    *deadline = 0;
    return which > 0 ? which & 1 : which == 0 ? -ETIMEDOUT : which;
}

TH_NO_TSAN int th_poll_sleep(th_worker *worker, int64_t deadline) {
    th_poller *poller = &worker->poller;
    th_count(&worker->counters.xpolls, 1);
    int n =
        worker->sentinel && !worker->rounds.long_sleep ? sleep_as_sentinel(worker, &deadline) : 1;
    if (n > 0) {
        n = check_open(poller,
                       th_os_pollset_wait(&poller->set, poller->events, TH_POLL_EVENTS, deadline));
        poller->got = n > 0 ? (unsigned)n : 0;
        n = n == 0 ? -ETIMEDOUT : n;
    }
    return th_poll_has_got(worker) ? 1 : n;
}

/* Takes the alarm, if that is among its events. */
static bool take_alarm(th_worker *worker) {
    const th_poller *poller = &worker->poller;
    for (unsigned i = 0; i < poller->got; i++) {
        if (poller->events[i].key == TH_OS_ALARM) {
            th_alarm_take(worker->sched);
            return true;
        }
    }
    return false;
}

bool th_poll_awake(th_worker *worker) {
    th_poller *poller = &worker->poller;
    const unsigned n = poller->got;
    const unsigned others = poller->got_others;
    const bool alarmed = take_alarm(worker);
    poller->got = 0;
    poller->got_others = 0;
    if (n) {
        (void)hand_out(worker, poller, poller->events, n, true);
    }
    look_at_watched(worker, others);
    return alarmed;
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
