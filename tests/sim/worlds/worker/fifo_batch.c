/*
 * fifo_batch.c: a worker of the fifo policy that does not come round, and rescues from it: the
 * batch that it has taken, and work that it is about to post again.
 */
#include "base/atomic.h"
#include "core/state/worker.h"
#include "whole.h"

#define TASKS 10u

static thrum_sched *sched;
static thrum_task tasks[TASKS];
static unsigned ran[TASKS]; /* plain: its runs come one after the other */
static unsigned holder;
static uint32_t xdone;
static whole_gate fence;

/* Each posts itself again once; one of them holds its worker until all others have run twice. */
static void body(thrum_task *self, void *arg) {
    unsigned i = (unsigned)(self - tasks);
    (void)arg;
    if (ran[i]++ == 0) {
        if (i == holder) {
            whole_pass(&fence);
        }
        sim_check(thrum_task_post(sched, self) == 0);
    } else if (th_add_relaxed(&xdone, 1u) + 1 == TASKS - 1) { /* relaxed: it orders nothing */
        whole_open(&fence);
    }
}

static void batches(unsigned workers) {
    thrum_config config = whole_config(workers);
    thrum_task *list[TASKS];
    config.policy = THRUM_FIFO;
    config.fifo_block = 16;
    sched = whole_start_bare(&config);
    holder = sim_pick(TASKS);
    for (unsigned i = 0; i < TASKS; i++) {
        list[i] = &tasks[i];
        thrum_task_init(list[i], body, NULL);
    }
    sim_check(thrum_task_post_batch(sched, list, TASKS) == 0);
    whole_stop(sched);
    for (unsigned i = 0; i < TASKS; i++) {
        sim_check(ran[i] == 2);
    }
}

/* Both are rescued from the task that holds its worker: its batch, and its own posts. */
SIM_WORLD(fifo_batchs) {
    batches(2);
}

SIM_WORLD(fifo_batchs_3) {
    batches(3);
}

SIM_WORLD(fifo_batchs_shut) {
    whole_afences_shut = true;
    batches(2);
}
