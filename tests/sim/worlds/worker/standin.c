/*
 * standin.c: spares that stand in for workers that are held up (core/worker/STANDIN.md). A task
 * holds its worker up by sleeping with the thread; only what another task does lets it go on, and
 * no regular worker is left to run that one. So a spare that does not come, or a lookout that
 * rests for ever, is a deadlock of the world.
 */
#include "standin.h"

#include "base/atomic.h"
#include "core/state/thread.h"
#include "core/state/worker.h"
#include "platform/faults.h"
#include "platform/platform.h"
#include "platform/sim/controller.h"

thrum_sched *standin_sched;
whole_gate standin_gate;
whole_gate standin_passed;

thrum_config standin_config(unsigned workers, unsigned spares, thrum_policy policy) {
    thrum_config config = whole_config(workers);
    config.policy = policy;
    config.workers_spare = spares;
    config.stall_rescue_ms = STANDIN_MS;
    config.rescue_ns = STANDIN_MS * 1000000ll; /* few looks of the sentinel's in that time */
    return config;
}

void standin_begin(unsigned workers, unsigned spares, thrum_policy policy) {
    thrum_config config = standin_config(workers, spares, policy);
    standin_sched = whole_start(&config);
}

/* ---- when all threads sleep ---- */

static unsigned ends_seen; /* ends of sleeps at which all was idle, one after the other */

/* No worker is free, so the lookout looks. Nothing runs when nothing runs. */
SIM_UNSEEN void standin_asleep(void) {
    const thrum_sched *s = standin_sched;
    if (!s || s->xexit) {
        return;
    }
    uint64_t word = s->xpark;
    unsigned parked = (unsigned)(word >> TH_PARK_PARKED_SHIFT) & TH_PARK_FIELD;
    if (s->bench.has_lookout && parked <= s->bench.xbenched) {
        const th_worker *w = &s->workers[s->bench.xlookout];
        sim_check(w->xsleep & TH_SLEEP_LOOKOUT);
        sim_check(sim_sleeps_until(&w->xsleep) != INT64_MAX);
    }
    for (unsigned i = 0; i < s->workers_count; i++) {
        sim_check(!(s->workers[i].xsleep & TH_SLEEP_NOTIFIED));
    }
    ends_seen = parked == s->workers_count ? ends_seen + 1 : 0;
    sim_check(ends_seen < STANDIN_IDLE_ENDS);
}

/* ---- tasks ---- */

void standin_sleep(int64_t ns) {
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

void standin_holds(thrum_task *self, void *arg) {
    (void)arg;
    picked();
    whole_count(self, NULL);
    whole_pass(&standin_gate);
    whole_open(&standin_passed);
}

void standin_opens(thrum_task *self, void *arg) {
    (void)arg;
    picked();
    whole_count(self, NULL);
    whole_open(&standin_gate);
}

/* ---- what a held-up worker leaves waiting ---- */

/* Held up while a task waits that came from outside, or another worker has it in its batch. */
static void posted(unsigned workers, unsigned spares, thrum_policy policy) {
    standin_begin(workers, spares, policy);
    for (unsigned i = 0; i < workers; i++) {
        whole_post(standin_sched, i, standin_holds, NULL);
    }
    if (sim_pick(2)) {
        standin_sleep(STANDIN_NS * 4); /* it is found held up before anything waits */
    }
    whole_post(standin_sched, workers, standin_opens, NULL);
    whole_stop(standin_sched);
    whole_ran_once(0, workers + 1);
}

SIM_WORLD(standin_one, .heavy = true, .asleep = standin_asleep) {
    posted(1, 1, THRUM_SHARDED);
}

SIM_WORLD(standin_two, .heavy = true, .asleep = standin_asleep) {
    posted(2, 1, THRUM_SHARDED);
}

SIM_WORLD(standin_two_2, .heavy = true, .asleep = standin_asleep) {
    posted(2, 2, THRUM_SHARDED);
}

SIM_WORLD(standin_fifo, .heavy = true, .asleep = standin_asleep) {
    posted(1 + sim_pick(2), 1, THRUM_FIFO);
}

SIM_WORLD(standin_global, .heavy = true, .asleep = standin_asleep) {
    posted(1 + sim_pick(2), 1, THRUM_GLOBAL);
}

/* Its threads' times are not known, so a held-up worker counts as computing: one spare in all. */
SIM_WORLD(standin_computes, .heavy = true, .asleep = standin_asleep) {
    th_os_fail_ran(0, UINT32_MAX);
    posted(1 + sim_pick(2), 2, THRUM_SHARDED);
}

/* More are held up than there are workers: the second spare comes as well. */
SIM_WORLD(standin_another, .heavy = true, .asleep = standin_asleep) {
    standin_begin(1, 2, sim_pick(2) ? THRUM_FIFO : THRUM_SHARDED);
    for (unsigned i = 0; i < 2; i++) {
        whole_post(standin_sched, i, standin_holds, NULL);
    }
    whole_post(standin_sched, 2, standin_opens, NULL);
    whole_pass(&standin_passed);
    whole_stop(standin_sched);
    whole_ran_once(0, 3);
}

static int opens_call(void *arg) {
    (void)arg;
    picked();
    whole_open(&standin_gate);
    return 7;
}

static int opens_fiber(void *arg) {
    thrum_yield();
    return opens_call(arg);
}

/* What it leaves is its own: in the slot, the ring, the yields, a fork, a deadline. */
static void leaves(thrum_task *self, void *arg) {
    thrum_fork fork;
    unsigned what = (unsigned)(uintptr_t)arg;
    whole_count(self, NULL);
    thrum_task_init(&whole_tasks[1], standin_opens, NULL);
    if (what < 2) {
        thrum_hint hint = what ? THRUM_HINT_NEXT : THRUM_HINT_NONE;
        sim_check(thrum_task_post_hint(standin_sched, &whole_tasks[1], hint) == 0);
    } else if (what == 2) {
        sim_check(thrum_task_post_after(standin_sched, &whole_tasks[1], 1000) == 0);
    } else if (what == 3) {
        thrum_fork_start(&fork, opens_call, NULL);
    }
    whole_pass(&standin_gate);
    if (what == 3) {
        sim_check(thrum_fork_join(&fork) == 7);
    }
}

static void left(unsigned what, thrum_policy policy) {
    standin_begin(1, 1, policy);
    whole_post(standin_sched, 0, leaves, (void *)(uintptr_t)what);
    whole_stop(standin_sched);
    whole_ran_once(0, what < 3 ? 2 : 1);
}

SIM_WORLD(standin_left, .heavy = true, .asleep = standin_asleep) {
    left(sim_pick(2), THRUM_SHARDED);
}

SIM_WORLD(standin_left_fork, .heavy = true, .asleep = standin_asleep) {
    left(3, THRUM_SHARDED);
}

SIM_WORLD(standin_timer, .heavy = true, .asleep = standin_asleep) {
    left(2, (thrum_policy)sim_pick(3));
}

SIM_WORLD(standin_left_fifo, .heavy = true, .asleep = standin_asleep) {
    left(sim_pick(2), THRUM_FIFO);
}

static int xleft_by; /* the number of the worker that is held up */

static void leaves_and_tells(thrum_task *self, void *arg) {
    th_store_relaxed(&xleft_by, thrum_worker_id()); /* relaxed: the gate orders it */
    whole_open(&standin_passed);
    leaves(self, arg);
}

/* The only spare finds a task from outside as well, which would hold it up: this comes first. */
SIM_WORLD(standin_left_first, .heavy = true, .asleep = standin_asleep) {
    standin_begin(1, 1, THRUM_SHARDED);
    whole_post(standin_sched, 0, leaves_and_tells, (void *)(uintptr_t)sim_pick(2));
    whole_pass(&standin_passed);
    /* The worker may have come so late that the spare stands in for it already. */
    whole_post(standin_sched, 2, th_load_relaxed(&xleft_by) ? whole_count : standin_holds, NULL);
    whole_stop(standin_sched);
    whole_ran_once(0, 3);
}

/* Two tasks take turns until the gate is open; there is always one of them in the queue. */
static void takes_turns(thrum_task *self, void *arg) {
    static unsigned turns;
    thrum_task *other = &whole_tasks[self == &whole_tasks[2] ? 3 : 2];
    (void)arg;
    sim_check(++turns < 100);
    if (!th_load_relaxed(&standin_gate.xopen)) {
        standin_sleep(1000000);
        thrum_task_init(other, takes_turns, NULL);
        sim_check(thrum_task_post(standin_sched, other) == 0);
    }
}

/* There are no spares, and the other worker always finds something: it looks all the same. */
SIM_WORLD(standin_left_to_busy, .heavy = true) {
    thrum_config config = standin_config(2, 0, THRUM_SHARDED);
    config.global_interval = 3;
    standin_sched = whole_start(&config);
    whole_post(standin_sched, 0, leaves_and_tells, (void *)(uintptr_t)sim_pick(3));
    whole_pass(&standin_passed);
    whole_post(standin_sched, 2, takes_turns, NULL);
    whole_stop(standin_sched);
    whole_ran_once(0, 2);
}

static int holds_fiber(void *arg) {
    thrum_yield();
    whole_pass(&standin_gate);
    whole_open(&standin_passed);
    return *(int *)arg;
}

/* Two fibers yield to each other; then one holds the worker up. */
SIM_WORLD(standin_yields, .heavy = true, .asleep = standin_asleep) {
    int zero = 0;
    thrum_attr attr = THRUM_ATTR_INIT;
    standin_begin(1, 1, THRUM_SHARDED);
    attr.sched = standin_sched;
    sim_check(thrum_go_with(&attr, holds_fiber, &zero) == 0);
    sim_check(thrum_go_with(&attr, opens_fiber, &zero) == 0);
    whole_stop(standin_sched);
}

/* ---- resting ---- */

/*
 * The lookout rests while a worker is free, or all are. Then the last free one is held up as well,
 * at any moment of its coming to rest.
 */
static void rested(unsigned workers, unsigned spares, int64_t ns) {
    standin_begin(workers, spares, THRUM_SHARDED);
    for (unsigned i = 0; i + 1 < workers; i++) {
        whole_post(standin_sched, i, standin_holds, NULL);
    }
    standin_sleep(ns);
    whole_post(standin_sched, workers - 1, standin_holds, NULL);
    whole_post(standin_sched, workers, standin_opens, NULL);
    whole_stop(standin_sched);
    whole_ran_once(0, workers + 1);
}

SIM_WORLD(standin_rest_all, .heavy = true, .asleep = standin_asleep) {
    rested(1, 1 + sim_pick(2), STANDIN_NS / 2 + sim_pick(2) * STANDIN_NS);
}

SIM_WORLD(standin_rest, .heavy = true, .asleep = standin_asleep) {
    rested(2, 1, STANDIN_NS / 2 * (2 + sim_pick(2)));
}

static void gets_held(void *arg) {
    whole_post(standin_sched, (unsigned)(uintptr_t)arg, standin_holds, NULL);
}

/* Two free workers are taken away at the same time: one of them leaves no one free. */
SIM_WORLD(standin_rest_two, .heavy = true, .asleep = standin_asleep) {
    standin_begin(2, 1, THRUM_SHARDED);
    standin_sleep(STANDIN_NS / 2);
    int t = sim_spawn(gets_held, (void *)1);
    gets_held((void *)0);
    sim_join(t);
    whole_post(standin_sched, 2, standin_opens, NULL);
    whole_stop(standin_sched);
    whole_ran_once(0, 3);
}
