/*
 * stacks_kept.c: stacks of ended fibers are measured when all is quiet (core/fiber/fiber.c,
 * th_fiber_cache_trim). Regardless of which worker parks last, and of calls for another one
 * meanwhile: when all sleep nothing is left unmeasured, and stores are within their limits
 * (whole_asleep).
 */
#include "core/state/worker.h"
#include "platform/platform.h"
#include "whole.h"

#define CROWD 6

static thrum_sched *sched;
static thrum_event gate;

static int stays(void *arg) {
    (void)arg;
    return thrum_event_wait(&gate);
}

static void crowd(thrum_policy policy) {
    uint32_t xnever = 0;
    thrum_config config = whole_config(2);
    thrum_attr attr = THRUM_ATTR_INIT;
    config.policy = policy;
    sched = whole_start(&config);
    attr.sched = sched;
    thrum_event_init(&gate, THRUM_EVENT_MANUAL, false);
    for (unsigned i = 0; i < CROWD; i++) {
        sim_check(thrum_go_with(&attr, stays, NULL) == 0);
    }
    sim_check(thrum_sched_wait_idle(sched, THRUM_FOREVER) == 0);
    thrum_event_signal(&gate);
    if (sim_pick(2)) {
        whole_post(sched, 0, whole_count, NULL);
    }
    th_os_futex_wait(&xnever, 0, th_os_now() + 100000000); /* whole_asleep looks */
    whole_stop(sched);
}

/* Two workers go to sleep at about the same time; a post calls one back. */
SIM_WORLD(stacks_kept, .heavy = true, .asleep = whole_asleep) {
    crowd(THRUM_SHARDED);
}

SIM_WORLD(stacks_kept_global, .heavy = true, .asleep = whole_asleep) {
    crowd(THRUM_GLOBAL);
}
