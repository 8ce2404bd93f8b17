/*
 * cycle_watch.c: see cycle_watch.h.
 */
#include "core/watch/cycle_watch.h"

#include <errno.h>
#include <stdio.h>

#include "base/text.h"
#include "core/report/chain.h"
#include "core/watch/deadlock.h"
#include "core/ready/quiesce_sum.h"
#include "platform/platform.h"

/* In the simulator there is no watcher. */
int64_t th_watch_interval = TH_LIMIT(500000000ll, 0ll);

/* A look is followed by a rest of as many times its own length, if that is longer. */
#define RESTS 20

/* Looks that are left out in a row while no work begins: bound threads wait uncounted. */
#define SKIPS_MAX 3u

/* The watcher's memory from one look to the next. */
typedef struct memory {
    th_activity activity;
    th_suspicion suspicion;
    bool suspects; /* the last look found that nothing can go on */
    unsigned skips;
    unsigned count;               /* cycles of the last look */
    uint64_t keys[TH_CYCLES_MAX]; /* their keys */
} memory;

static bool was_there(const memory *m, uint64_t key) {
    for (unsigned i = 0; i < m->count; i++) {
        if (m->keys[i] == key) {
            return true;
        }
    }
    return false;
}

static void tell(thrum_sched *sched, const th_cycles *cycles, unsigned i) {
    th_lock_acquire(&sched->deadlock_lock);
    const bool is_new = th_cycles_is_new(sched, th_cycles_at(cycles, i).key);
    th_lock_release(&sched->deadlock_lock);
    if (is_new) {
        th_text text;
        th_text_begin(&text, sched);
        th_report_cycle(&text, cycles, i);
        th_deadlock_hand_over(&text);
    }
}

/* A cycle is reported when two looks have seen it: a cancel that has begun may end it meanwhile. */
static void look_for_cycles(thrum_sched *sched, memory *m) {
    th_cycles *cycles = th_cycles_find(sched);
    memory now = *m;
    now.count = th_cycles_count(cycles);
    for (unsigned i = 0; i < now.count; i++) {
        now.keys[i] = th_cycles_at(cycles, i).key;
        if (was_there(m, now.keys[i])) {
            tell(sched, cycles, i);
        }
    }
    th_cycles_end(sched, cycles);
    *m = now;
}

/* Whether anything may have begun to wait since the last look. */
static bool is_worth_it(thrum_sched *sched, memory *m) {
    th_activity activity;
    th_quiesce_sum(sched, &activity);
    const bool same = activity.xcreated == m->activity.xcreated &&
                      activity.xreadied == m->activity.xreadied &&
                      activity.xsuspended == m->activity.xsuspended;
    m->activity = activity;
    m->skips = same ? m->skips + 1 : 0;
    return !same || m->count || m->suspects || m->skips > SKIPS_MAX;
}

static void watch(void *arg) {
    thrum_sched *sched = arg;
    uint32_t *xends = &sched->cycle_watcher.xends;
    const int64_t interval = th_watch_interval;
    memory m = {.skips = SKIPS_MAX};
    th_os_thread_reports();
    th_thread_self()->watches = sched; /* a stop in a hook would wait for this thread */
    for (;;) {
        const int64_t began = th_os_now();
        if (is_worth_it(sched, &m)) {
            m.suspects = th_deadlock_look(sched, &m.suspicion);
            look_for_cycles(sched, &m);
            m.skips = 0;
        }
        const int64_t now = th_os_now();
        const int64_t rest = RESTS * (now - began);
        const int64_t until = now + (rest > interval ? rest : interval);
        /* relaxed: the stopper's earlier writes do not matter here */
        while (!th_load_relaxed(xends) && th_os_futex_wait(xends, 0, until) != -ETIMEDOUT) {
        }
        if (th_load_relaxed(xends)) { /* relaxed: as above */
            return;
        }
    }
}

void th_cycle_watch_start(thrum_sched *sched) {
    th_cycle_watcher *watcher = &sched->cycle_watcher;
    char name[24]; /* the system keeps 15 bytes of it */
    if (!sched->watch || !th_watch_interval) {
        return;
    }
    snprintf(name, sizeof name, "%.*s/cycles", (int)th_text_cut(sched->name, 8), sched->name);
    /* relaxed: a thread that does not see it yet looks itself, which does no harm */
    th_store_relaxed(&watcher->xwatched,
                     th_os_thread_start(&watcher->thread, name, watch, sched) == 0);
}

void th_cycle_watch_stop(thrum_sched *sched, int64_t deadline) {
    th_cycle_watcher *watcher = &sched->cycle_watcher;
    th_store_relaxed(&watcher->xpatience, deadline); /* relaxed: a time, seen soon */
    if (th_load_relaxed(&watcher->xwatched)) {       /* relaxed: the start wrote it */
        th_store_relaxed(&watcher->xends, 1u);       /* relaxed: see watch */
        th_os_futex_wake(&watcher->xends, 1);
        th_os_thread_join(watcher->thread);
    }
}
