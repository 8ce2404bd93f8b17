/*
 * ready.c: fibers that are ready while the task that woke them keeps its worker: another worker
 * comes for them, from its queue of ready fibers, from the shared one, from fifo's first lane.
 * `whole_asleep_shared` checks that none is slept over; at the end all have gone on.
 */
#include <thrum/event.h>

#include "base/atomic.h"
#include "whole.h"

#define MOST 7 /* more than a small queue of ready fibers and the slot hold */

static thrum_sched *sched;
static thrum_event go_on;
static whole_gate gate;
static unsigned fibers;
static uint32_t xwaiting;
static uint32_t xgone;

static int waits(void *arg) {
    (void)arg;
    th_add_relaxed(&xwaiting, 1u);
    sim_check(thrum_event_wait(&go_on) == 0);
    if (th_add_relaxed(&xgone, 1u) + 1 == fibers) {
        whole_open(&gate);
    }
    return 0;
}

/* Wakes all, and keeps its thread until they have gone on. */
static void wakes(thrum_task *self, void *arg) {
    (void)arg;
    whole_count(self, NULL);
    thrum_event_signal(&go_on);
    whole_pass(&gate);
}

/* Keeps its thread; a plain thread wakes them. */
static void holds(thrum_task *self, void *arg) {
    (void)arg;
    whole_count(self, NULL);
    whole_pass(&gate);
}

static void wait_in_fibers(thrum_policy policy, unsigned workers, unsigned n) {
    thrum_config config = whole_config(workers);
    thrum_attr attr = THRUM_ATTR_INIT;
    config.policy = policy;
    fibers = n;
    thrum_event_init(&go_on, THRUM_EVENT_MANUAL, false);
    sched = whole_start(&config);
    attr.sched = sched;
    for (unsigned i = 0; i < n; i++) {
        sim_check(thrum_go_with(&attr, waits, NULL) == 0);
    }
    sim_check(thrum_sched_wait_idle(sched, THRUM_FOREVER) == 0);
    sim_check(xwaiting == n);
}

static void end(void) {
    whole_stop(sched);
    whole_ran_once(0, 1);
    sim_check(xgone == fibers);
}

static void woken_by_a_task(thrum_policy policy, unsigned workers, unsigned n) {
    wait_in_fibers(policy, workers, n);
    whole_post(sched, 0, wakes, NULL);
    end();
}

static void woken_by_a_thread(thrum_policy policy, unsigned workers, unsigned n) {
    wait_in_fibers(policy, workers, n);
    whole_post(sched, 0, holds, NULL);
    thrum_event_signal(&go_on);
    end();
}

SIM_WORLD(ready_slot_and_one, .heavy = true, .asleep = whole_asleep_shared) {
    woken_by_a_task(THRUM_SHARDED, 2, 2);
}

SIM_WORLD(ready_backlog, .heavy = true, .asleep = whole_asleep_shared) {
    woken_by_a_task(THRUM_SHARDED, 2, 3);
}

SIM_WORLD(ready_overflow, .heavy = true, .asleep = whole_asleep_shared) {
    woken_by_a_task(THRUM_SHARDED, 2, MOST);
}

SIM_WORLD(ready_external, .heavy = true, .asleep = whole_asleep_shared) {
    woken_by_a_thread(THRUM_SHARDED, 2, 3);
}

SIM_WORLD(ready_external_3, .heavy = true, .asleep = whole_asleep_shared) {
    woken_by_a_thread(THRUM_SHARDED, 3, 3);
}

SIM_WORLD(ready_lane, .heavy = true, .asleep = whole_asleep_shared) {
    woken_by_a_task(THRUM_FIFO, 2, 3);
}

SIM_WORLD(ready_lane_external, .heavy = true, .asleep = whole_asleep_shared) {
    woken_by_a_thread(THRUM_FIFO, 2, 3);
}

SIM_WORLD(ready_global, .heavy = true, .asleep = whole_asleep_shared) {
    woken_by_a_task(THRUM_GLOBAL, 2, 3);
}
