/*
 * lone.c: one task is queued behind a computing one, while another worker sleeps (PARKING.md,
 * promise 2, D10): in less than the config's bound another worker comes for it, also when nothing
 * had happened for a while, so that the sentinel sleeps long, or is just about to.
 *
 * A worker that computes sleeps here with its thread, so the clock goes on. At each moment when all
 * threads sleep the hook looks: while something is queued the sentinel's sleep ends within three
 * eighths of the bound, and the second end of a sleep is the last.
 */
#include "base/atomic.h"
#include "core/basis/parkword.h"
#include "core/state/worker.h"
#include "platform/faults.h"
#include "platform/platform.h"
#include "platform/sim/controller.h"
#include "whole.h"

/* The sentinel's first two sleeps; afterwards it sleeps long. */
#define TWO_ROUNDS_NS 150000
#define RESCUE_NS 400000

static thrum_sched *sched;
static whole_gate gate;
static bool queued;        /* the lone task is queued, and not begun */
static unsigned ends_seen; /* ends of sleeps since then */
static unsigned ends_max = 2;

SIM_UNSEEN static void asleep(void) {
    whole_asleep_shared();
    if (!queued) {
        ends_seen = 0;
        return;
    }
    uint64_t word = sched->xpark;
    unsigned sentinel = (word >> TH_PARK_SENTINEL_SHIFT) & TH_PARK_FIELD;
    sim_check(sentinel && (word & TH_PARK_WATCH));
    const th_worker *w = &sched->workers[sentinel - 1];
    sim_check(sim_sleeps_until(&w->xsleep) - sim_now() <= RESCUE_NS / 8 * 3);
    sim_check(++ends_seen <= (sim_sees_late() ? 12 : ends_max));
}

/* ---- the lone one ---- */

/* It begins while its starter computes on. */
static void begun(void) {
    queued = false;
    whole_open(&gate);
}

static void other(thrum_task *self, void *arg) {
    (void)arg;
    whole_count(self, NULL);
    begun();
}

static int other_call(void *arg) {
    (void)arg;
    begun();
    return 7;
}

/* Keeps its thread for that long. */
static void compute(int64_t ns) {
    static uint32_t xnever;
    int64_t end = th_os_now() + ns;
    while (th_os_now() < end) {
        th_os_futex_wait(&xnever, 0, end);
    }
}

/* Computes not at all, or until about when the sentinel's long sleep begins, or beyond that. */
static void compute_first(void) {
    static const int64_t ns[] = {TWO_ROUNDS_NS - 200, TWO_ROUNDS_NS, TWO_ROUNDS_NS + 300, 0,
                                 2 * TWO_ROUNDS_NS};
    unsigned which = sim_pick(5);
    if (ns[which]) {
        compute(ns[which]);
    }
}

static void starts_task(thrum_task *self, void *arg) {
    whole_count(self, NULL);
    compute_first();
    thrum_task_init(&whole_tasks[1], other, NULL);
    queued = true;
    sim_check(thrum_task_post_hint(sched, &whole_tasks[1], (thrum_hint)(uintptr_t)arg) == 0);
    whole_pass(&gate);
}

static void starts_fork(thrum_task *self, void *arg) {
    thrum_fork fork;
    (void)arg;
    whole_count(self, NULL);
    compute_first();
    queued = true;
    thrum_fork_start(&fork, other_call, NULL);
    whole_pass(&gate);
    sim_check(thrum_fork_join(&fork) == 7);
}

static thrum_config config_of(unsigned workers, thrum_policy policy) {
    thrum_config config = whole_config(workers);
    config.policy = policy;
    config.rescue_ns = RESCUE_NS;
    return config;
}

static void lone(unsigned workers, thrum_policy policy, thrum_task_fn fn, thrum_hint hint) {
    thrum_config config = config_of(workers, policy);
    sched = fn == starts_fork ? whole_start(&config) : whole_start_bare(&config);
    whole_post(sched, 0, fn, (void *)(uintptr_t)hint);
    whole_stop(sched);
    whole_ran_once(0, fn == starts_task ? 2 : 1);
}

SIM_WORLD(lone_ring, .asleep = asleep) {
    lone(2, THRUM_SHARDED, starts_task, THRUM_HINT_NONE);
}

SIM_WORLD(lone_ring_3, .asleep = asleep) {
    lone(3, THRUM_SHARDED, starts_task, THRUM_HINT_NONE);
}

SIM_WORLD(lone_slot, .asleep = asleep) {
    lone(2, THRUM_SHARDED, starts_task, THRUM_HINT_NEXT);
}

SIM_WORLD(lone_fork, .heavy = true, .asleep = asleep) {
    lone(2, THRUM_SHARDED, starts_fork, THRUM_HINT_NONE);
}

SIM_WORLD(lone_fifo, .asleep = asleep) {
    lone(2, THRUM_FIFO, starts_task, THRUM_HINT_NONE);
}

SIM_WORLD(lone_fifo_3, .asleep = asleep) {
    lone(3, THRUM_FIFO, starts_task, THRUM_HINT_NONE);
}

SIM_WORLD(lone_global, .asleep = asleep) {
    lone(2, THRUM_GLOBAL, starts_task, THRUM_HINT_NONE);
}

/*
 * A third worker, called by a post, looks for work just then: it cannot take the work in the slot.
 */
SIM_WORLD(lone_searcher, .asleep = asleep) {
    thrum_config config = config_of(3, THRUM_SHARDED);
    sched = whole_start_bare(&config);
    ends_max = 4; /* the other sleeps of this thread and the end of the starter's come as well */
    whole_post(sched, 0, starts_task, (void *)THRUM_HINT_NEXT);
    compute_first();
    whole_post(sched, 2, whole_count, NULL);
    whole_stop(sched);
    whole_ran_once(0, 3);
}

/* The system refuses the barrier now and then: then the sentinel goes on coming round. */
SIM_WORLD(lone_refused_once, .refusals = 3, .asleep = asleep) {
    lone(2, THRUM_SHARDED, starts_task, THRUM_HINT_NONE);
}

/* If the system has no barrier no sentinel sleeps long. */
SIM_WORLD(lone_refused, .asleep = asleep) {
    whole_afences_shut = true;
    lone(2, THRUM_SHARDED, starts_task, sim_pick(2) ? THRUM_HINT_NEXT : THRUM_HINT_NONE);
}

SIM_WORLD(lone_refused_fifo, .asleep = asleep) {
    whole_afences_shut = true;
    lone(2, THRUM_FIFO, starts_task, THRUM_HINT_NONE);
}

SIM_WORLD(lone_refused_fork, .heavy = true, .asleep = asleep) {
    th_os_fail(TH_OS_FAULT_BARRIER, 0, UINT32_MAX);
    lone(2, THRUM_SHARDED, starts_fork, THRUM_HINT_NONE);
}
