/*
 * timer.c: see timer.h.
 */
#include "core/due/timer.h"

#include "base/check.h"
#include "core/ready/bound_wake.h"
#include "core/due/poll.h"
#include "core/ready/priority.h"
#include "core/ready/submit.h"
#include "core/ready/task_due.h"
#include "core/ready/waiter.h"
#include "core/ready/wake.h"
#include "core/state/self_id.h"
#include "core/state/worker.h"
#include "platform/platform.h"
#include "thrum/task.h"

/*
 * FIRE_MAX are fired at a time, so that their stacks are still in the cache when they run. TURN_MAX
 * are moved within the wheel before the lock is released for a moment.
 */
#define FIRE_MAX TH_LIMIT(64u, 2u)
#define TURN_MAX TH_LIMIT(256u, 2u)

_Static_assert(sizeof(th_timed) <= sizeof(thrum_task) &&
                   offsetof(th_timed, kind) == offsetof(thrum_task, reserved_kind) &&
                   offsetof(th_timed, xmark) == offsetof(thrum_task, reserved_mark) &&
                   offsetof(th_timed, xword) == offsetof(thrum_task, reserved_word) &&
                   offsetof(th_timed, timer) == offsetof(thrum_task, reserved),
               "a task can stand in timers");

void th_timers_init(th_timers *timers, thrum_sched *sched, th_worker *owner) {
    *timers = (th_timers){.xearliest = INT64_MAX,
                          .sched = sched,
                          .owner = owner,
                          .special = sched->policy->submit_due ? TH_TIMERS_IN_ORDER : 0};
    th_lock_init(&timers->lock);
    th_wheel_init(&timers->wheel, th_os_now());
}

th_timers *th_timers_of(thrum_sched *sched, th_worker *here) {
    if (here) {
        return here->timers;
    }
    if (th_unlikely(!sched->workers_count)) {
        return &sched->loose_timers;
    }
    /* By the thread's id, not its address: the simulator's seed must determine the run. */
    return sched->workers[th_self_id() % sched->workers_regular].timers;
}

/* With the lock. */
static void set_earliest(th_timers *timers) {
    /* A worker that is about to sleep reads it behind a fence, or is notified. */
    /* pairs: is_any_due; entries that were fired have been pushed before */
    th_store_release(&timers->xearliest, th_wheel_earliest(&timers->wheel));
}

/* With the lock. The rest of the mark belongs to the entry's owner, which does not write it now. */
static void mark_in(th_timed *timed, bool in) {
    uint32_t mark = th_load_relaxed(&timed->xmark); /* relaxed: under the lock */
    /* relaxed: as above */
    th_store_relaxed(&timed->xmark, in ? mark | TH_TIMED_IN : mark & ~TH_TIMED_IN);
}

bool th_timers_insert(th_timers *timers, th_timed *timed, int64_t deadline) {
    bool *xtimed = &timers->sched->xtimed;
    if (th_unlikely(!th_load_relaxed(xtimed))) { /* relaxed: a hint for th_timers_help */
        th_store_relaxed(xtimed, true);          /* relaxed: as above */
    }
    th_wheel_insert(&timers->wheel, &timed->timer, deadline);
    timed->timers = timers;
    mark_in(timed, true);
    int64_t before = th_load_relaxed(&timers->xearliest); /* relaxed: under the lock */
    if (deadline < before) {
        th_store_relaxed(&timers->xearliest, deadline); /* relaxed: see set_earliest */
    }
    return deadline < before;
}

void th_timers_tell(th_timers *timers) {
    th_worker *here = th_here();
    thrum_sched *sched = timers->sched;
    if (!timers->owner) {
        th_bound_wake(sched, 1);
        return;
    }
    /* fences: the deadline before the sleep word and the park word are read */
    if (timers->owner == here || !th_wake_worker(timers->owner)) {
        if (!timers->owner->bound) {
            /* relaxed: behind the fence */
            th_watch_from(sched, here && here->sched == sched ? here : NULL,
                          th_load_relaxed(&timers->xearliest));
        }
    }
}

void th_timers_take_out(th_timers *timers, th_timed *timed) {
    th_wheel_remove(&timers->wheel, &timed->timer);
    mark_in(timed, false);
    set_earliest(timers);
}

void th_timed_remove(th_timed *timed) {
    th_timers *timers = timed->timers;
    TH_LOCKED(&timers->lock); /* a thread that was firing it has finished then */
    if (th_load_relaxed(&timed->xmark) & TH_TIMED_IN) { /* relaxed: under the lock */
        th_timers_take_out(timers, timed);
    }
}

/* ---- firing ---- */

/* Whether the entry is a bound thread's own wait, which is no run of a task (BOUND.md). */
static bool is_root(const th_timed *timed) {
    return timed->kind == TH_WORK_WAIT && ((const th_fiber *)timed->of[1])->root;
}

/*
 * With the lock: takes up to FIRE_MAX due entries and appends their work to the chain. An entry
 * that something else has made due meanwhile is left to the thread that did so (th_timed_remove).
 */
static unsigned take_due(th_timers *timers, int64_t now, th_chain *due) {
    th_timed *popped[FIRE_MAX];
    unsigned n = 0;
    th_timer *timer;
    timers->roots = 0;
    while (n < FIRE_MAX && (timer = th_wheel_pop(&timers->wheel, now))) {
        th_timed *timed = th_timed_of(timer);
        mark_in(timed, false);
        if (timed->kind == TH_WORK_WAIT) { /* its stack is cold: fetch up to 64 at once */
            __builtin_prefetch(timed->of[0], 1);
            __builtin_prefetch(timed->of[1], 1);
        }
        popped[n++] = timed;
    }
    for (unsigned i = 0; i < n; i++) {
        th_timed *timed = popped[i];
        bool root = is_root(timed); /* read now: afterwards the entry may be gone */
        timers->fired = NULL;
        if (timed->kind == TH_WORK_WAIT) {
            th_waiter_time_out(timed->of[0], &timers->fired);
        } else {
            th_task_expire((thrum_task *)(void *)timed, &timers->fired);
        }
        if (timers->fired) {
            timers->roots += root;
            th_chain_append(due, timers->fired);
        }
    }
    return n;
}

/* Moves pinned work to its worker's inbox; the rest stays in the chain. `by`: a worker, or NULL. */
static TH_NO_TSAN void submit_pinned_due(thrum_sched *sched, th_worker *by, th_chain *due) {
    th_chain rest = {0};
    th_work *work;
    while ((work = th_chain_take(due))) {
        if (work->worker < 0) {
            th_chain_append(&rest, work);
        } else if (by) {
            th_submit(by, work, th_due_hint(work));
        } else {
            th_submit_external(sched, work);
        }
    }
    *due = rest;
}

/* Counts the taken work, without roots, as readied: before it is published. */
static void count_readied(th_worker *by, const th_chain *due, uint32_t roots) {
    th_count(&by->activity.xreadied, due->count - roots); /* relaxed: as th_activity_began */
}

/* With the lock: queues work in the order of its deadlines, if the policy has one order. */
static uint64_t submit_in_order(th_worker *by, th_chain *due, uint32_t roots) {
    const th_policy *policy = by->sched->policy;
    if (!policy->submit_due || !due->first) {
        return 0;
    }
    count_readied(by, due, roots);
    submit_pinned_due(by->sched, by, due);
    uint64_t count = due->count;
    if (count) {
        policy->submit_due(by->sched, due);
    }
    *due = (th_chain){0};
    return count;
}

static void lock_and_turn(th_timers *timers, int64_t now) {
    th_lock_acquire(&timers->lock);
    while (th_wheel_turn(&timers->wheel, now, TURN_MAX)) {
        th_lock_release(&timers->lock);
        th_lock_acquire(&timers->lock);
    }
}

void th_timers_fire_external(th_timers *timers, int64_t now) {
    th_chain *due = &timers->loose;
    lock_and_turn(timers, now);
    take_due(timers, now, due);
    if (due->first) {
        th_count(&timers->xreadied, due->count - timers->roots); /* relaxed: as th_activity_began */
        submit_pinned_due(timers->sched, NULL, due);
    }
    if (due->first) {
        timers->sched->policy->submit_due(timers->sched, due);
    }
    *due = (th_chain){0};
    set_earliest(timers);
    th_lock_release(&timers->lock);
}

/*
 * The worker goes on with the first of them: no other worker is woken for that one. Hidden from the
 * thread sanitizer: it reads memory that another worker may run and free next (base/annotate.h).
 */
static TH_NO_TSAN void keep_first(th_worker *by, th_chain *due) {
    if (due->first->worker < 0 && !by->handoff && by->policy->runs_events_first &&
        !th_priority_any(by->sched)) {
        by->handoff = th_chain_take(due);
        th_count(&by->xtick, 1); /* it has slept in this tick: see tick_marks.h */
    }
}

/* Without workers. Work of another priority than normal has queues of its own. */
static TH_NO_TSAN void submit_loose(th_worker *by, th_chain *due) {
    th_chain normal = {0};
    for (th_work *work; (work = th_chain_take(due));) {
        if (th_likely(work->worker < 0)) {
            th_chain_append(&normal, work);
        } else {
            th_submit_external(by->sched, work);
        }
    }
    if (normal.first) {
        th_bound_due(by, &normal);
    }
}

bool th_timers_fire(th_worker *by, th_timers *timers, int64_t now, bool next) {
    th_chain *due = &by->due;
    lock_and_turn(timers, now);
    unsigned n = take_due(timers, now, due);
    uint32_t roots = timers->roots;
    bool any = due->first != NULL;
    uint64_t ordered = submit_in_order(by, due, roots);
    if (due->first) { /* with the lock: a thread that finds no deadline sees it (DEADLOCK.md) */
        count_readied(by, due, roots);
    }
    set_earliest(timers);
    th_lock_release(&timers->lock);
    if (ordered) {
        by->sched->policy->notify_due(by, ordered);
    }
    if (due->first && !timers->owner) {
        submit_loose(by, due);
    }
    if (due->first && next) {
        keep_first(by, due);
    }
    while (due->first) {
        th_work *work = th_chain_take(due);
        th_submit(by, work, th_due_hint(work));
    }
    if (n == FIRE_MAX) {
        by->timer_look.skip = FIRE_MAX / 2; /* fire the rest when half of these have run */
    }
    return any;
}

void th_timers_poll_slow(th_worker *worker, bool next) {
    int64_t now = th_os_now();
    worker->timer_look.skip = TH_TIMER_SKIPS_MAX;
    worker->timer_look.ticks = th_os_ticks();
    /* relaxed: a deadline that is not seen yet was inserted just now */
    if (th_load_relaxed(&worker->timers->xearliest) <= now) {
        th_timers_fire(worker, worker->timers, now, next);
    }
    if (th_unlikely(worker->polls)) {
        (void)th_poll_own(worker, false);
    }
}

bool th_timers_help(th_worker *worker, bool next) {
    thrum_sched *sched = worker->sched;
    if (!th_load_relaxed(&sched->xtimed)) { /* relaxed: a hint; the owner fires them anyway */
        return false;
    }
    int64_t now = th_os_now();
    bool any = false;
    for (unsigned i = 0; i < sched->workers_regular; i++) {
        th_timers *timers = &sched->workers[i].own_timers;
        if (th_load_relaxed(&timers->xearliest) <= now) { /* relaxed: a hint, as above */
            any = th_timers_fire(worker, timers, now, next) || any;
        }
    }
    return any;
}

int64_t th_timers_sleep_until(const th_worker *worker, bool sentinel) {
    /* relaxed: behind the parker's fence; an earlier deadline inserted later wakes the worker
     * (th_timers_tell) */
    int64_t until = th_load_relaxed(&worker->own_timers.xearliest);
    const thrum_sched *sched = worker->sched;
    for (unsigned i = 0; sentinel && i < sched->workers_regular; i++) {
        /* relaxed: a hint */
        int64_t theirs = th_load_relaxed(&sched->workers[i].own_timers.xearliest);
        until = theirs < until ? theirs : until;
    }
    return until;
}
