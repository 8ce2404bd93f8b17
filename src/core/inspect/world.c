/*
 * world.c: see world.h.
 */
#include "core/inspect/world.h"

#include "core/basis/task_word.h"

static const th_world *xworld;

void th_world_register(const th_world *world) {
    th_store_relaxed(&xworld, world); /* relaxed: always the same constant */
}

const th_world *th_world_known(void) {
    return th_load_relaxed(&xworld); /* relaxed: as above */
}

/* ---- tasks ---- */

/* With the lock of its timers: false if the timed is no task that is listed. */
static bool see(th_listed *out, th_timed *timed) {
    /* relaxed: under the list's lock it is known whether it is still there */
    const uint32_t word = timed->kind == TH_WORK_WAIT ? 0 : th_load_relaxed(&timed->xword);
    if (!(word & TH_TASK_PLACE)) {
        return false;
    }
    const thrum_task *task = (const thrum_task *)(const void *)timed;
    /* relaxed: set before the first task has a place */
    const th_task_place_fn place = th_load_relaxed(&th_task_xplace);
    *out =
        (th_listed){.task = task, .fn = (uintptr_t)timed->of[0], .deadline = timed->timer.deadline};
    out->direction = place(task, word, &out->turn);
    return out->direction != NULL;
}

static unsigned visit(th_timers *timers, th_listed_cursor *at, th_listed out[], unsigned max) {
    uint64_t seen = 0;
    unsigned n = 0;
    TH_LOCKED(&timers->lock);
    for (th_timer *t = th_wheel_next(&timers->wheel, NULL); t && n < max;
         t = th_wheel_next(&timers->wheel, t)) {
        n += seen++ >= at->passed && see(&out[n], th_timed_of(t));
    }
    at->passed = seen;
    return n;
}

unsigned th_world_listed(thrum_sched *sched, th_listed_cursor *at, th_listed out[], unsigned max) {
    unsigned n = 0;
    while (n < max && at->timers <= sched->workers_count) {
        th_timers *timers =
            at->timers ? &sched->workers[at->timers - 1].own_timers : &sched->loose_timers;
        n += visit(timers, at, out + n, max - n);
        if (n < max) {
            *at = (th_listed_cursor){.timers = at->timers + 1};
        }
    }
    return n;
}
