/*
 * sched.c: a whole scheduler: started, used, stopped.
 */
#include <thrum.h>

#include "sim.h"

static thrum_task tasks[4];
static unsigned ran[4];

static void body(thrum_task *self, void *arg) {
    (void)arg;
    ran[self - tasks]++;
}

static thrum_sched *start(unsigned workers, thrum_policy policy) {
    thrum_config config;
    thrum_sched *sched = NULL;
    thrum_config_init(&config);
    config.workers = workers;
    config.policy = policy;
    config.local_capacity = 2;
    config.stack_size = 16384;
    sim_check(thrum_sched_start(&sched, &config) == 0);
    return sched;
}

/* Tasks from outside, then stop: each ran once. */
static void outside(unsigned workers, thrum_policy policy) {
    thrum_sched *sched = start(workers, policy);
    for (unsigned i = 0; i < 3; i++) {
        thrum_task_init(&tasks[i], body, NULL);
        sim_check(thrum_task_post(sched, &tasks[i]) == 0);
    }
    sim_check(thrum_sched_stop(sched) == 0);
    for (unsigned i = 0; i < 3; i++) {
        sim_check(ran[i] == 1);
    }
}

SIM_WORLD(sched_outside_2, .heavy = true) {
    outside(2, THRUM_SHARDED);
}

SIM_WORLD(sched_outside_3, .heavy = true) {
    outside(3, THRUM_SHARDED);
}

SIM_WORLD(sched_outside_global, .heavy = true) {
    outside(2, THRUM_GLOBAL);
}
