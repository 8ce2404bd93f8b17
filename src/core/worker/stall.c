/*
 * stall.c: see stall.h.
 * A worker whose tick has not moved over several looks is in one task all the time. The thread's
 * processor time shows its state meanwhile: it does not advance while the thread waits for
 * something, and advances while the thread computes.
 */
#include "core/worker/stall.h"

#include "core/due/fork_slots.h"
#include "core/due/poll.h"
#include "core/due/timer.h"
#include "platform/platform.h"

#define LOOKS 2    /* looks in which the tick has not moved, before a worker counts as held up */
#define STILL 8    /* a thread that ran for less than this part of the time is blocked */
#define LATE 2     /* a look later than so many intervals is not conclusive */
#define WEIGHT 4   /* so many looks that are late count as one in time */
#define NEVER (-1) /* for times of processors */

static int64_t bound(const thrum_sched *sched) {
    return (int64_t)sched->config.stall_rescue_ms * 1000000;
}

int64_t th_stall_interval(const thrum_sched *sched) {
    return bound(sched) / LOOKS;
}

/*
 * Whether the thread waits for something, and not only for a processor. A late look does not know
 * for how long the thread could have run.
 */
static bool is_blocked(const th_worker *w, th_held *held, int64_t ran, int64_t span, bool late) {
    const th_spare_set *set = &w->sched->spare_set;
    uint64_t number = th_load_relaxed(&w->xtid); /* relaxed: written when the thread began */
    bool known = ran != NEVER && held->ran_ns != NEVER;
    int64_t could = late ? th_stall_interval(w->sched) : span;
    if (!known || ran - held->ran_ns >= could / STILL) {
        return false;
    }
    if (ran == held->blocked_at) {
        return true; /* it has not run at all since that was found out */
    }
    /* No more workers are awake than there are processors: none has to wait for one. */
    if ((!late && set->running <= set->cpus) || th_os_thread_waits(number)) {
        held->blocked_at = ran;
        return true;
    }
    return false;
}

static void forget(th_held *held, uint64_t tick, int64_t now) {
    *held =
        (th_held){.tick = tick, .since = now, .ran_ns = NEVER, .blocked_at = NEVER, .spare = -1};
}

static void look_at(thrum_sched *sched, const th_worker *w, int64_t now, int64_t span) {
    th_held *held = &sched->spare_set.held[w->index];
    uint64_t tick = th_load_relaxed(&w->xtick); /* relaxed: only whether it moves */
    bool late = span > LATE * th_stall_interval(sched);
    if (!held->since || tick != held->tick) {
        forget(held, tick, now);
        return;
    }
    int64_t ran = th_os_thread_ran(w->thread);
    held->looks += held->held ? 0 : late ? 1 : WEIGHT;
    if (held->looks >= LOOKS * WEIGHT && now - held->since >= bound(sched)) {
        if (!held->held) {
            held->held = true;
            /* relaxed: a figure to look at; a monitor may be in no column of the metrics */
            th_add_relaxed(&sched->externals.counters.xstalls, 1u);
        }
        held->blocked = is_blocked(w, held, ran, span, late);
    }
    held->ran_ns = ran;
}

/* Whether the worker has something, deadlines, or events that another one could look after. */
static bool leaves_waiting(const th_worker *w, int64_t now) {
    const th_policy *policy = w->sched->policy;
    /* relaxed: guesses */
    int64_t first = th_load_relaxed(&w->own_timers.xearliest);
    bool overdue = first != INT64_MAX && now - first >= th_stall_interval(w->sched);
    return overdue || th_poll_waits(w) || (policy->holds && policy->holds(w)) ||
           th_forks_left_at(w);
}

static unsigned count_running(const thrum_sched *sched) {
    unsigned n = 0;
    for (unsigned i = 0; i < th_workers_end(sched); i++) {
        n += !th_seems_parked(&sched->workers[i]);
    }
    return n;
}

void th_stall_look(th_worker *by, int64_t now) {
    thrum_sched *sched = by->sched;
    th_spare_set *set = &sched->spare_set;
    int64_t span = now - set->looked_at;
    bool waits = sched->policy->pending(by) ||
                 th_load_relaxed(&sched->xdeferred); /* relaxed: a guess, as all of this */
    bool all_held = true;
    bool leaves = false;
    set->running = count_running(sched);
    set->blocked = 0;
    set->computing = false;
    for (unsigned i = 0; i < th_workers_end(sched); i++) {
        const th_worker *w = &sched->workers[i];
        th_held *held = &set->held[i];
        if (w == by || th_seems_parked(w)) {
            /* relaxed: only whether it moves */
            forget(held, th_load_relaxed(&w->xtick), now);
            all_held = all_held && th_is_spare(w) && !w->stint.active; /* idle */
            continue;
        }
        look_at(sched, w, now, span);
        bool left = leaves_waiting(w, now);
        waits = waits || left;
        leaves = leaves || (left && held->held);
        all_held = all_held && held->held;
        set->blocked += held->held && held->blocked;
        set->computing = set->computing || (held->held && !held->blocked);
    }
    set->stuck = leaves || (all_held && waits);
    set->waiting_since = !waits                            ? INT64_MAX
                         : set->waiting_since == INT64_MAX ? now
                                                           : set->waiting_since;
    unsigned spares = sched->workers_count - sched->workers_regular;
    unsigned wanted = set->blocked + set->computing;
    set->wanted = wanted < spares ? wanted : spares;
    set->looked_at = now;
}

/*
 * For each blocked worker a spare takes over as soon as something waits: the processor is free. For
 * computing workers one spare is enough, since it only shares the processors with them, and only if
 * no other worker serves the waiting work.
 */
bool th_stall_calls(const thrum_sched *sched, int64_t now) {
    const th_spare_set *set = &sched->spare_set;
    if (set->waiting_since == INT64_MAX || set->active >= set->wanted) {
        return false;
    }
    return set->active < set->blocked || (set->stuck && now - set->waiting_since >= bound(sched));
}
