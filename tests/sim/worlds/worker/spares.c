/*
 * spares.c: spares that take over for workers that are held up (core/worker/SPARES.md). A task
 * holds its worker up by sleeping with the thread; only another task lets it go on, and no regular
 * worker is left to run that one. So a spare that does not come, or a monitor that rests for ever,
 * is a deadlock of the world.
 */
#include "spares.h"

#include "base/atomic.h"
#include "core/state/thread.h"
#include "core/state/worker.h"
#include "platform/faults.h"
#include "platform/platform.h"
#include "platform/sim/controller.h"

thrum_sched *spares_sched;
whole_gate spares_gate;
whole_gate spares_passed;

thrum_config spares_config(unsigned workers, unsigned spares, thrum_policy policy) {
    thrum_config config = whole_config(workers);
    config.policy = policy;
    config.workers_spare = spares;
    config.stall_rescue_ms = SPARES_MS;
    config.rescue_ns = SPARES_MS * 1000000ll; /* few looks of the sentinel's in that time */
    return config;
}

void spares_begin(unsigned workers, unsigned spares, thrum_policy policy) {
    thrum_config config = spares_config(workers, spares, policy);
    spares_sched = whole_start(&config);
}

/* ---- when all threads sleep ---- */

static unsigned ends_seen; /* ends of sleeps at which all was idle, one after the other */

/* No worker is free, so the monitor looks. Nothing runs when nothing runs. */
SIM_UNSEEN void spares_asleep(void) {
    const thrum_sched *s = spares_sched;
    if (!s || s->xexit) {
        return;
    }
    uint64_t word = s->xpark;
    unsigned parked = (unsigned)(word >> TH_PARK_PARKED_SHIFT) & TH_PARK_FIELD;
    if (s->spare_set.has_monitor && parked <= s->spare_set.xidle_spares) {
        const th_worker *w = &s->workers[s->spare_set.xmonitor];
        sim_check(w->xsleep & TH_SLEEP_MONITOR);
        sim_check(sim_sleeps_until(&w->xsleep) != INT64_MAX);
    }
    for (unsigned i = 0; i < s->workers_count; i++) {
        sim_check(!(s->workers[i].xsleep & TH_SLEEP_NOTIFIED));
    }
    ends_seen = parked == s->workers_count ? ends_seen + 1 : 0;
    sim_check(ends_seen < SPARES_IDLE_ENDS);
}

/* ---- tasks ---- */

void spares_sleep(int64_t ns) {
    static uint32_t xnever;
    int64_t end = th_os_now() + ns;
    while (th_os_now() < end) {
        th_os_futex_wait(&xnever, 0, end);
    }
}

/*
 * Each run on a worker begins with a pick: looks at it would else take it for the run before, and
 * reports of stalls count the time that the worker slept.
 */
static SIM_UNSEEN void picked(void) {
    static uint64_t ticks[8]; /* of each worker's latest run */
    const th_worker *worker = th_here();
    sim_check(worker->index < sizeof ticks / sizeof ticks[0]);
    sim_check(worker->xtick != ticks[worker->index]);
    ticks[worker->index] = worker->xtick;
}

void spares_holds(thrum_task *self, void *arg) {
    (void)arg;
    picked();
    whole_count(self, NULL);
    whole_pass(&spares_gate);
    whole_open(&spares_passed);
}

void spares_opens(thrum_task *self, void *arg) {
    (void)arg;
    picked();
    whole_count(self, NULL);
    whole_open(&spares_gate);
}

/* ---- work that a held-up worker leaves waiting ---- */

/* Held up while a task waits that came from outside, or another worker has it in its batch. */
static void posted(unsigned workers, unsigned spares, thrum_policy policy) {
    spares_begin(workers, spares, policy);
    for (unsigned i = 0; i < workers; i++) {
        whole_post(spares_sched, i, spares_holds, NULL);
    }
    if (sim_pick(2)) {
        spares_sleep(SPARES_NS * 4); /* it is found held up before anything waits */
    }
    whole_post(spares_sched, workers, spares_opens, NULL);
    whole_stop(spares_sched);
    whole_ran_once(0, workers + 1);
}

SIM_WORLD(spares_one, .heavy = true, .asleep = spares_asleep) {
    posted(1, 1, THRUM_SHARDED);
}

SIM_WORLD(spares_two, .heavy = true, .asleep = spares_asleep) {
    posted(2, 1, THRUM_SHARDED);
}

SIM_WORLD(spares_two_2, .heavy = true, .asleep = spares_asleep) {
    posted(2, 2, THRUM_SHARDED);
}

SIM_WORLD(spares_fifo, .heavy = true, .asleep = spares_asleep) {
    posted(1 + sim_pick(2), 1, THRUM_FIFO);
}

SIM_WORLD(spares_global, .heavy = true, .asleep = spares_asleep) {
    posted(1 + sim_pick(2), 1, THRUM_GLOBAL);
}

/* Its threads' times are not known, so a held-up worker counts as computing: one spare in all. */
SIM_WORLD(spares_computes, .heavy = true, .asleep = spares_asleep) {
    th_os_fail(TH_OS_FAULT_RAN, 0, UINT32_MAX);
    posted(1 + sim_pick(2), 2, THRUM_SHARDED);
}

/* More are held up than there are workers: the second spare comes as well. */
SIM_WORLD(spares_another, .heavy = true, .asleep = spares_asleep) {
    spares_begin(1, 2, sim_pick(2) ? THRUM_FIFO : THRUM_SHARDED);
    for (unsigned i = 0; i < 2; i++) {
        whole_post(spares_sched, i, spares_holds, NULL);
    }
    whole_post(spares_sched, 2, spares_opens, NULL);
    whole_pass(&spares_passed);
    whole_stop(spares_sched);
    whole_ran_once(0, 3);
}

static int opens_call(void *arg) {
    (void)arg;
    picked();
    whole_open(&spares_gate);
    return 7;
}

static int opens_fiber(void *arg) {
    thrum_yield();
    return opens_call(arg);
}

/* The work that it leaves is its own: in the slot, the ring, the yields, a fork, a deadline. */
static void leaves(thrum_task *self, void *arg) {
    thrum_fork fork;
    unsigned what = (unsigned)(uintptr_t)arg;
    whole_count(self, NULL);
    thrum_task_init(&whole_tasks[1], spares_opens, NULL);
    if (what < 2) {
        thrum_hint hint = what ? THRUM_HINT_NEXT : THRUM_HINT_NONE;
        sim_check(thrum_task_post_hint(spares_sched, &whole_tasks[1], hint) == 0);
    } else if (what == 2) {
        sim_check(thrum_task_post_after(spares_sched, &whole_tasks[1], 1000) == 0);
    } else if (what == 3) {
        thrum_fork_start(&fork, opens_call, NULL);
    }
    whole_pass(&spares_gate);
    if (what == 3) {
        sim_check(thrum_fork_join(&fork) == 7);
    }
}

static void left(unsigned what, thrum_policy policy) {
    spares_begin(1, 1, policy);
    whole_post(spares_sched, 0, leaves, (void *)(uintptr_t)what);
    whole_stop(spares_sched);
    whole_ran_once(0, what < 3 ? 2 : 1);
}

SIM_WORLD(spares_left, .heavy = true, .asleep = spares_asleep) {
    left(sim_pick(2), THRUM_SHARDED);
}

SIM_WORLD(spares_left_fork, .heavy = true, .asleep = spares_asleep) {
    left(3, THRUM_SHARDED);
}

SIM_WORLD(spares_timer, .heavy = true, .asleep = spares_asleep) {
    left(2, (thrum_policy)sim_pick(3));
}

SIM_WORLD(spares_left_fifo, .heavy = true, .asleep = spares_asleep) {
    left(sim_pick(2), THRUM_FIFO);
}

static int xleft_by; /* the number of the worker that is held up */

static void leaves_and_tells(thrum_task *self, void *arg) {
    th_store_relaxed(&xleft_by, thrum_worker_id()); /* relaxed: the gate orders it */
    whole_open(&spares_passed);
    leaves(self, arg);
}

/* The only spare finds a task from outside as well, which would hold it up: this comes first. */
SIM_WORLD(spares_left_first, .heavy = true, .asleep = spares_asleep) {
    spares_begin(1, 1, THRUM_SHARDED);
    whole_post(spares_sched, 0, leaves_and_tells, (void *)(uintptr_t)sim_pick(2));
    whole_pass(&spares_passed);
    /* The worker may have come so late that the spare takes over for it already. */
    whole_post(spares_sched, 2, th_load_relaxed(&xleft_by) ? whole_count : spares_holds, NULL);
    whole_stop(spares_sched);
    whole_ran_once(0, 3);
}

/* Two tasks take turns until the gate is open; there is always one of them in the queue. */
static void takes_turns(thrum_task *self, void *arg) {
    static unsigned turns;
    thrum_task *other = &whole_tasks[self == &whole_tasks[2] ? 3 : 2];
    (void)arg;
    sim_check(++turns < 100);
    if (!th_load_relaxed(&spares_gate.xopen)) {
        spares_sleep(1000000);
        thrum_task_init(other, takes_turns, NULL);
        sim_check(thrum_task_post(spares_sched, other) == 0);
    }
}

/* There are no spares, and the other worker always finds something: it looks all the same. */
SIM_WORLD(spares_left_to_busy, .heavy = true) {
    thrum_config config = spares_config(2, 0, THRUM_SHARDED);
    config.global_interval = 3;
    spares_sched = whole_start(&config);
    whole_post(spares_sched, 0, leaves_and_tells, (void *)(uintptr_t)sim_pick(3));
    whole_pass(&spares_passed);
    whole_post(spares_sched, 2, takes_turns, NULL);
    whole_stop(spares_sched);
    whole_ran_once(0, 2);
}

static int holds_fiber(void *arg) {
    thrum_yield();
    whole_pass(&spares_gate);
    whole_open(&spares_passed);
    return *(int *)arg;
}

/* Two fibers yield to each other; then one holds the worker up. */
SIM_WORLD(spares_yields, .heavy = true, .asleep = spares_asleep) {
    int zero = 0;
    thrum_attr attr = THRUM_ATTR_INIT;
    spares_begin(1, 1, THRUM_SHARDED);
    attr.sched = spares_sched;
    sim_check(thrum_go_with(&attr, holds_fiber, &zero) == 0);
    sim_check(thrum_go_with(&attr, opens_fiber, &zero) == 0);
    whole_stop(spares_sched);
}

/* ---- resting ---- */

/*
 * The monitor rests while a worker is free, or all are. Then the last free one is held up as well,
 * at any moment of its coming to rest.
 */
static void rested(unsigned workers, unsigned spares, int64_t ns) {
    spares_begin(workers, spares, THRUM_SHARDED);
    for (unsigned i = 0; i + 1 < workers; i++) {
        whole_post(spares_sched, i, spares_holds, NULL);
    }
    spares_sleep(ns);
    whole_post(spares_sched, workers - 1, spares_holds, NULL);
    whole_post(spares_sched, workers, spares_opens, NULL);
    whole_stop(spares_sched);
    whole_ran_once(0, workers + 1);
}

SIM_WORLD(spares_rest_all, .heavy = true, .asleep = spares_asleep) {
    rested(1, 1 + sim_pick(2), SPARES_NS / 2 + sim_pick(2) * SPARES_NS);
}

SIM_WORLD(spares_rest, .heavy = true, .asleep = spares_asleep) {
    rested(2, 1, SPARES_NS / 2 * (2 + sim_pick(2)));
}

static void gets_held(void *arg) {
    whole_post(spares_sched, (unsigned)(uintptr_t)arg, spares_holds, NULL);
}

/* Two free workers are taken away at the same time: one of them leaves no one free. */
SIM_WORLD(spares_rest_two, .heavy = true, .asleep = spares_asleep) {
    spares_begin(2, 1, THRUM_SHARDED);
    spares_sleep(SPARES_NS / 2);
    int t = sim_spawn(gets_held, (void *)1);
    gets_held((void *)0);
    sim_join(t);
    whole_post(spares_sched, 2, spares_opens, NULL);
    whole_stop(spares_sched);
    whole_ran_once(0, 3);
}
