/*
 * park.c: which workers sleep and which are woken (core/worker/PARKING.md), on a bare scheduler:
 * its workers are plain threads. At each moment when all threads sleep, `whole_asleep` checks
 * whether one of them should not.
 */
#include "whole.h"

#include "base/atomic.h"

static thrum_sched *sched;
static whole_gate gates[4];

static void begin(unsigned workers) {
    thrum_config config = whole_config(workers);
    sched = whole_start_bare(&config);
}

static void end(unsigned tasks) {
    whole_stop(sched);
    whole_ran_once(0, tasks);
}

static void post_two(void *arg) {
    unsigned first = *(const unsigned *)arg;
    whole_post(sched, first, whole_count, NULL);
    whole_post(sched, first + 1, whole_count, NULL);
}

/* D1, D7: one worker; posts against its look before it sleeps. */
SIM_WORLD(park_post_1, .asleep = whole_asleep) {
    begin(1);
    post_two(&(unsigned){0});
    end(2);
}

/* D1 to D4 with a second worker: tokens, the last searcher's look, the sentinel. */
SIM_WORLD(park_post_2, .asleep = whole_asleep) {
    begin(2);
    post_two(&(unsigned){0});
    whole_post(sched, 2, whole_count, NULL);
    end(3);
}

/* D2: two posters, one worker: a token given back while the other poster relies on it. */
SIM_WORLD(park_two_posters, .asleep = whole_asleep) {
    begin(1);
    static const unsigned first = 2;
    int t = sim_spawn(post_two, (void *)(uintptr_t)&first);
    post_two(&(unsigned){0});
    sim_join(t);
    end(4);
}

/* The same with two workers. */
SIM_WORLD(park_two_posters_2, .asleep = whole_asleep) {
    begin(2);
    static const unsigned first = 2;
    int t = sim_spawn(post_two, (void *)(uintptr_t)&first);
    post_two(&(unsigned){0});
    sim_join(t);
    end(4);
}

/* ---- entries left behind ---- */

static void post_pinned(unsigned i, int worker) {
    thrum_task_init(&whole_tasks[i], whole_count, NULL);
    thrum_task_set_worker(&whole_tasks[i], worker);
    sim_check(thrum_task_post(sched, &whole_tasks[i]) == 0);
}

static void pinned_twice(void *arg) {
    (void)arg;
    post_pinned(0, 0);
    post_pinned(1, 0);
}

/* D5: pinned work wakes its worker by its own word. */
SIM_WORLD(park_pinned, .asleep = whole_asleep) {
    begin(2);
    int t = sim_spawn(pinned_twice, NULL);
    post_pinned(2, 1);
    sim_join(t);
    end(3);
}

/* Lazy leaving: a worker that pinned work woke has left its entry in the stack; posts meet it. */
SIM_WORLD(park_stale_entry, .asleep = whole_asleep) {
    begin(2);
    int t = sim_spawn(pinned_twice, NULL);
    whole_post(sched, 2, whole_count, NULL);
    whole_post(sched, 3, whole_count, NULL);
    sim_join(t);
    end(4);
}

/* The same with a third worker, so that one is the sentinel and two are in the stack. */
SIM_WORLD(park_stale_entry_3, .asleep = whole_asleep) {
    begin(3);
    int t = sim_spawn(pinned_twice, NULL);
    whole_post(sched, 2, whole_count, NULL);
    whole_post(sched, 3, whole_count, NULL);
    sim_join(t);
    end(4);
}

/* ---- work behind tasks that hold their thread ---- */

/* Holds its thread until all `arg` of them have begun: so each needs a worker of its own. */
static uint32_t xbegun;
static void meet(thrum_task *self, void *arg) {
    whole_count(self, NULL);
    unsigned all = (unsigned)(uintptr_t)arg;
    /* relaxed: it orders nothing */
    if (th_add_relaxed(&xbegun, 1u) + 1 == all) {
        whole_open(&gates[0]);
    }
    whole_pass(&gates[0]);
}

/* D4: as many posts as workers; each must get one, whichever worker searched first. */
SIM_WORLD(park_meet_2, .asleep = whole_asleep_shared) {
    begin(2);
    whole_post(sched, 0, meet, (void *)2);
    whole_post(sched, 1, meet, (void *)2);
    end(2);
}

static void post_one_meet(void *arg) {
    (void)arg;
    whole_post(sched, 1, meet, (void *)2);
}

/* Rule T: one poster meets the leaving sentinel, the other relies on his token meanwhile. */
SIM_WORLD(park_meet_posters, .asleep = whole_asleep_shared) {
    begin(2);
    int t = sim_spawn(post_one_meet, NULL);
    whole_post(sched, 0, meet, (void *)2);
    sim_join(t);
    end(2);
}

SIM_WORLD(park_meet_3, .asleep = whole_asleep_shared) {
    begin(3);
    for (unsigned i = 0; i < 3; i++) {
        whole_post(sched, i, meet, (void *)3);
    }
    end(3);
}

/* The same from a batch: one wake, and each woken worker wakes the next. */
SIM_WORLD(park_meet_batch, .asleep = whole_asleep_shared) {
    begin(3);
    thrum_task *list[3];
    for (unsigned i = 0; i < 3; i++) {
        list[i] = &whole_tasks[i];
        thrum_task_init(list[i], meet, (void *)3);
    }
    sim_check(thrum_task_post_batch(sched, list, 3) == 0);
    end(3);
}

/* Posts two into the own queue, and holds the thread until they have met. */
static void spread(thrum_task *self, void *arg) {
    whole_count(self, NULL);
    whole_post(sched, 1, whole_count, NULL);
    whole_post(sched, 2, meet, (void *)1);
    whole_pass(&gates[0]);
    (void)arg;
}

/* The edge of a backlog: two in the own queue belong to every worker. */
SIM_WORLD(park_backlog, .asleep = whole_asleep_shared) {
    begin(2);
    whole_post(sched, 0, spread, NULL);
    end(3);
}

/* Overflows a ring of two: four go to the inject queue and the own one, and it holds the thread. */
static void overflow(thrum_task *self, void *arg) {
    whole_count(self, NULL);
    (void)arg;
    for (unsigned i = 1; i < 5; i++) {
        whole_post(sched, i, i == 4 ? meet : whole_count, (void *)1);
    }
    whole_pass(&gates[0]);
}

SIM_WORLD(park_overflow, .asleep = whole_asleep_shared) {
    begin(2);
    whole_post(sched, 0, overflow, NULL);
    end(5);
}

/* ---- the sentinel ---- */

static void single(thrum_task *self, void *arg) {
    whole_count(self, NULL);
    thrum_task_init(&whole_tasks[1], meet, (void *)1);
    thrum_hint hint = (thrum_hint)(uintptr_t)arg;
    sim_check(thrum_task_post_hint(sched, &whole_tasks[1], hint) == 0);
    whole_pass(&gates[0]);
}

/* Promise 2, invariant R: a single work in the ring behind a long task; the sentinel comes. */
SIM_WORLD(park_rescue_ring, .asleep = whole_asleep_shared) {
    begin(2);
    whole_post(sched, 0, single, (void *)THRUM_HINT_NONE);
    end(2);
}

/* The same in the slot. */
SIM_WORLD(park_rescue_slot, .asleep = whole_asleep_shared) {
    begin(2);
    whole_post(sched, 0, single, (void *)THRUM_HINT_NEXT);
    end(2);
}

/* A chain: a rescued task leaves a single work behind itself, too. */
static void chain(thrum_task *self, void *arg) {
    unsigned i = whole_number(self);
    whole_count(self, NULL);
    (void)arg;
    if (i == 2) {
        whole_open(&gates[0]);
        return;
    }
    thrum_task_init(&whole_tasks[i + 1], chain, NULL);
    thrum_hint hint = i == 0 ? THRUM_HINT_NEXT : THRUM_HINT_NONE;
    sim_check(thrum_task_post_hint(sched, &whole_tasks[i + 1], hint) == 0);
    whole_pass(&gates[0]);
}

/* Passing the role: the sentinel rescues, goes busy, and the third must be the next sentinel. */
SIM_WORLD(park_role_passes, .asleep = whole_asleep_shared) {
    begin(3);
    whole_post(sched, 0, chain, NULL);
    end(3);
}

/* The slot and the ring: the rescued work is more than one can run. */
static void slot_and_ring(thrum_task *self, void *arg) {
    (void)arg;
    whole_count(self, NULL);
    thrum_task_init(&whole_tasks[1], meet, (void *)2);
    thrum_task_init(&whole_tasks[2], meet, (void *)2);
    sim_check(thrum_task_post_hint(sched, &whole_tasks[1], THRUM_HINT_NEXT) == 0);
    sim_check(thrum_task_post_hint(sched, &whole_tasks[2], THRUM_HINT_NEXT) == 0);
    whole_pass(&gates[0]);
}

SIM_WORLD(park_rescue_both, .asleep = whole_asleep_shared) {
    begin(3);
    whole_post(sched, 0, slot_and_ring, NULL);
    end(3);
}

/* When all are parked the long sleep begins, and others go on in it: work, rest, work again from
 * external threads. */
SIM_WORLD(park_retire, .asleep = whole_asleep_shared) {
    begin(2);
    whole_post(sched, 0, single, (void *)THRUM_HINT_NONE);
    sim_check(thrum_sched_wait_idle(sched, THRUM_FOREVER) == 0);
    whole_post(sched, 2, whole_count, NULL);
    end(3);
}

/* A worker looks again for a while before it parks. */
SIM_WORLD(park_spin, .asleep = whole_asleep) {
    thrum_config config = whole_config(2);
    config.spin_ns = 300;
    sched = whole_start_bare(&config);
    post_two(&(unsigned){0});
    end(2);
}

/* One queue under one lock: every push wakes a worker. */
SIM_WORLD(park_global, .asleep = whole_asleep_shared) {
    thrum_config config = whole_config(2);
    config.policy = THRUM_GLOBAL;
    sched = whole_start_bare(&config);
    whole_post(sched, 0, spread, NULL);
    end(3);
}
