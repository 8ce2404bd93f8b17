/*
 * deadlock.c: see deadlock.h.
 */
#include "core/watch/deadlock.h"

#include <stdio.h>

#include "core/inspect/owners.h"
#include "core/inspect/print.h"
#include "core/report/report.h"
#include "core/inspect/snapshot.h"
#include "core/ready/external.h"
#include "core/ready/quiesce_sum.h"
#include "core/basis/parkword.h"
#include "core/basis/task_word.h"
#include "platform/platform.h"

#define SEEN_MAX TH_LIMIT(8u, 2u)

/* After so many looks a plain thread that runs is no longer waited for. */
#define LOOKS_MAX 20u

/* ---- the bound threads ---- */

typedef struct sleepers {
    bool all;         /* whether each of them sleeps */
    uint64_t sleeps;  /* sum of their xsleeps */
    uint64_t resumes; /* how often they, and work tied to them, have gone on */
    uint64_t binds;   /* the value of bound_binds */
} sleepers;

static sleepers count_sleepers(thrum_sched *sched) {
    TH_LOCKED(&sched->bound_lock);
    sleepers s = {.all = true, .binds = sched->bound_binds};
    for (const th_worker *w = sched->bound; w; w = w->bound_next) {
        if (w->gone) {
            continue;
        }
        /* relaxed: odd since it had deadlock_lock, as we have now: its wakes before that are
         * seen */
        uint64_t sleeps = th_load_relaxed(&w->xsleeps);
        s.sleeps += sleeps;
        /* relaxed: it does not change while the thread sleeps */
        s.resumes += th_load_relaxed(&w->counters.xfibers_resumed);
        /* relaxed: a wake by a thread that sleeps by now came before that thread's xsleeps */
        bool claimed = !(th_load_relaxed(&w->xsleep) & TH_SLEEP_PARKED);
        s.all = s.all && (sleeps & 1) && !claimed;
    }
    return s;
}

static void wakes(th_worker *worker) {
    /* relaxed: an old value only means that it slept, which was then true between the two sums */
    th_store_relaxed(&worker->xsleeps, worker->xsleeps + 1);
}

/* ---- deadlines ---- */

/* Whether a deadline is pending, or a task waits for something outside the process. */
static bool any_in(th_timers *timers) {
    /* A timer that was taken out and has begun is counted (th_timers_fire). */
    TH_LOCKED(&timers->lock);
    bool any = th_load_relaxed(&timers->xearliest) != INT64_MAX; /* relaxed: the lock is ours */
    for (th_timer *t = th_wheel_next(&timers->wheel, NULL); t && !any;
         t = th_wheel_next(&timers->wheel, t)) {
        const th_timed *timed = th_timed_of(t);
        any = timed->kind != TH_WORK_WAIT &&
              /* relaxed: a task that is made due at this moment is counted (th_task_is_due) */
              (th_load_relaxed(&timed->xword) & TH_TASK_PLACE) != 0;
    }
    return any;
}

static bool any_timer(thrum_sched *sched) {
    bool any = any_in(&sched->loose_timers);
    for (unsigned i = 0; i < sched->workers_count && !any; i++) {
        any = any_in(&sched->workers[i].own_timers);
    }
    TH_LOCKED(&sched->bound_lock);
    for (th_worker *w = sched->bound; w && !any; w = w->bound_next) {
        any = any_in(&w->own_timers);
    }
    return any;
}

/* ---- the fibers ---- */

/* Whether the waiting fibers are as many as they must be, and none of them is about to go on. */
static bool all_blocked(thrum_sched *sched, uint64_t fibers) {
    th_seen seen[SEEN_MAX];
    th_snapshot snapshot;
    th_owners plain = {.count = 0};
    uint64_t blocked = 0;
    uint64_t roots = 0;
    unsigned n;
    bool all = true;
    th_snapshot_begin(&snapshot, sched);
    snapshot.brief = true;
    while (all && (n = th_snapshot_some(&snapshot, seen, SEEN_MAX))) {
        for (unsigned i = 0; i < n; i++) {
            const th_seen *s = &seen[i];
            /* The world outside may end these. */
            bool helped = s->on == TH_ON_BLOCKING || s->on >= TH_ON_SCHED;
            bool waits = s->state == TH_SEEN_BLOCKED && !helped &&
                         th_owners_note(&plain, s->on, s->id, s->holder);
            /* a root that waits for no wake: see count_sleepers */
            bool other = s->root && (s->state == TH_SEEN_AWAITS || s->state == TH_SEEN_RUNNING);
            all = all && (waits || other);
            blocked += waits && !s->root;
            roots += waits && s->root;
        }
    }
    th_snapshot_end(&snapshot);
    return all && snapshot.held && blocked == fibers && blocked + roots > 0 &&
           th_owners_wait(sched, &plain);
}

static bool is_same(const th_activity *a, const th_activity *b) {
    return a->xcreated == b->xcreated && a->xreadied == b->xreadied &&
           a->xfinished == b->xfinished && a->xsuspended == b->xsuspended;
}

static bool is_same_place(const th_deadlock_place *a, const th_deadlock_place *b) {
    return a->began == b->began && a->resumes == b->resumes;
}

/* Whether there is a deadlock that has not been reported yet, and when it began. With the lock. */
static bool is_deadlocked(thrum_sched *sched, th_deadlock_place *place) {
    th_activity before;
    th_activity after;
    sleepers s = count_sleepers(sched);
    th_quiesce_sum(sched, &before);
    *place = (th_deadlock_place){before.xcreated + before.xreadied, s.resumes};
    if (!s.all || place->began != before.xfinished + before.xsuspended ||
        is_same_place(place, &sched->deadlock_told)) {
        return false;
    }
    uint64_t fibers = before.xcreated - before.xfinished - (before.xdormant - before.xroused);
    if (any_timer(sched) || !all_blocked(sched, fibers) || th_quiesce_lets_go(sched)) {
        return false;
    }
    /* All of the above held at one moment if nothing has begun meanwhile, and none has woken up. */
    th_quiesce_sum(sched, &after);
    sleepers again = count_sleepers(sched);
    return is_same(&before, &after) && again.all && again.sleeps == s.sleeps &&
           again.binds == s.binds;
}

/* ---- plain threads ---- */

/* Whether a plain thread that has called the scheduler is running or runnable. */
static bool any_plain_runs(thrum_sched *sched) {
    const th_thread *self = th_thread_self();
    bool any = false;
    TH_LOCKED(&th_external_lock); /* no thread of a record ends meanwhile */
    for (const th_external *r = sched->externals.first; r && !any; r = r->next_of_sched) {
        any = r->thread != self && th_os_thread_runs(r->number);
    }
    return any;
}

/* ---- reporting ---- */

void th_deadlock_hand_over(th_text *text) {
    thrum_sched *sched = text->sched;
    const char *report = th_text_end(text);
    if (sched->config.deadlock) {
        sched->config.deadlock(sched->config.hook_ctx, report);
    } else {
        th_print_until(report, &sched->cycle_watcher.xpatience);
    }
    if (sched->config.on_deadlock == THRUM_DEADLOCK_ABORT) {
        th_os_abort();
    }
    th_text_free(text);
}

/* Waits in a cycle are reported with the others, and not again on their own. With the lock. */
static void word(thrum_sched *sched, const th_deadlock_place *place, th_text *text) {
    sched->deadlock_told = *place;
    th_cycles *cycles = th_cycles_find(sched);
    for (unsigned i = 0; i < th_cycles_count(cycles); i++) {
        (void)th_cycles_is_new(sched, th_cycles_at(cycles, i).key);
    }
    th_text_begin(text, sched);
    th_report_deadlock(text, cycles);
    th_cycles_end(sched, cycles);
}

bool th_deadlock_look(thrum_sched *sched, th_suspicion *suspicion) {
    th_deadlock_place place;
    th_text text;
    bool tells = false;
    th_lock_acquire(&sched->deadlock_lock);
    const bool is = is_deadlocked(sched, &place);
    if (!is) {
        suspicion->rested = 0; /* a thread has gone on: two looks in a row begin anew */
    } else {
        if (!is_same_place(&place, &suspicion->place)) {
            *suspicion = (th_suspicion){.place = place};
        }
        suspicion->looks++;
        suspicion->rested = any_plain_runs(sched) ? 0 : suspicion->rested + 1;
        tells = suspicion->rested == 2 || suspicion->looks == LOOKS_MAX;
    }
    if (tells) {
        word(sched, &place, &text);
    }
    th_lock_release(&sched->deadlock_lock);
    if (tells) {
        th_deadlock_hand_over(&text);
    }
    return is;
}

/* Whether there is no watcher: then a thread that goes to sleep looks itself, once. */
static bool is_unwatched(const thrum_sched *sched) {
    return !th_load_relaxed(&sched->cycle_watcher.xwatched); /* relaxed: see th_cycle_watch_start */
}

/* With the lock, which is waited for: the thread that has it may have looked too early. */
static void snapshot(thrum_sched *sched) {
    th_deadlock_place place;
    th_text text;
    if (is_unwatched(sched) && is_deadlocked(sched, &place)) {
        word(sched, &place, &text);
        th_deadlock_hand_over(&text); /* with the lock: reports come one at a time, in order */
    }
}

static void parked(thrum_sched *sched) {
    if (is_unwatched(sched)) {
        TH_LOCKED(&sched->deadlock_lock);
        snapshot(sched);
    }
}

static void sleeps(th_worker *worker) {
    TH_LOCKED(&worker->sched->deadlock_lock);
    th_store_relaxed(&worker->xsleeps, worker->xsleeps + 1); /* relaxed: published by the lock */
    snapshot(worker->sched);
}

static void leaves(th_worker *worker) {
    TH_LOCKED(&worker->sched->deadlock_lock);
    worker->gone = true;
    snapshot(worker->sched);
}

const th_watch th_deadlock_watch = {
    .parked = parked,
    .sleeps = sleeps,
    .wakes = wakes,
    .leaves = leaves,
};
