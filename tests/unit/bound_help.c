/*
 * bound_help.c: bound threads that help (help_when_bound): where they find the workers' tasks.
 */
#include "support/support.h"

typedef struct queue_of_one {
    atomic_bool begun;
    atomic_int ran;
} queue_of_one;

static int counts_itself(void *arg) {
    atomic_fetch_add(&((queue_of_one *)arg)->ran, 1);
    return 0;
}

static int fills_its_queue(void *arg) {
    queue_of_one *q = arg;
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(thrum_go(counts_itself, q), 0);
    }
    atomic_store(&q->begun, true);
    SPIN_UNTIL(atomic_load(&q->ran) >=
               10); /* not all: some queues keep their newest to themselves */
    return 7;
}

TEST(a_helper_takes_from_a_workers_own_queue) {
    /* The only worker spins until others have run what it queued: the bound thread, as it joins. */
    rig r;
    queue_of_one q = {0};
    thrum_handle *handle = NULL;
    int result = 0;
    rig_init(&r);
    r.config.workers = 1;
    r.config.policy = THRUM_SHARDED;
    r.config.pin_all = false;
    r.config.help_when_bound = true;
    rig_start(&r);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    CHECK_EQ(thrum_spawn(&handle, fills_its_queue, &q), 0);
    SPIN_UNTIL(atomic_load(&q.begun));
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, 7);
    CHECK_EQ(thrum_sched_unbind(), 0);
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&q.ran), 20);
    rig_stop(&r);
}
