/*
 * barrier.c: a system that cannot order the processors of others: all gates are shut.
 */
/* matrix: policy workers */
/* matrix: quick 1 2 8 */
#include "support/support.h"

#include "platform/faults.h"

static int children(void *arg) {
    const int depth = (int)(intptr_t)arg;
    if (depth == 0) {
        return 1;
    }
    thrum_handle *handles[4];
    int sum = 0;
    int result = 0;
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(thrum_spawn(&handles[i], children, (void *)(intptr_t)(depth - 1)), 0);
    }
    thrum_yield();
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(thrum_join(handles[i], &result), 0);
        sum += result;
    }
    return sum;
}

static void begin_refused(rig *r) {
    th_os_fail_barrier(0, UINT32_MAX);
    rig_begin(r, 0);
    CHECK(th_os_fails_left(TH_OS_FAULT_BARRIER) < UINT32_MAX); /* it was asked for */
}

TEST(trees_grow_without_a_barrier) {
    /* Spawn, yield and join, with much to claim. */
    rig r;
    begin_refused(&r);
    CHECK_EQ(rig_run(&r, children, (void *)(intptr_t)7), 16384);
    rig_stop(&r);
}

typedef struct long_task {
    rig *r;
    thrum_task task;
    atomic_int ran;
} long_task;

static void run_behind(thrum_task *self, void *arg) {
    (void)self;
    atomic_fetch_add(&((long_task *)arg)->ran, 1);
}

static int post_and_spin(void *arg) {
    long_task *l = arg;
    thrum_task_init(&l->task, run_behind, l);
    CHECK_EQ(thrum_task_post_hint(l->r->sched, &l->task, THRUM_HINT_NEXT), 0);
    SPIN_UNTIL(atomic_load(&l->ran) == 1);
    return 0;
}

TEST(slot_is_rescued_without_a_barrier) {
    /* Others exchange what is in it; nobody calls for the barrier again. */
    rig r;
    if (check_env("THRUM_WORKERS", 2) < 2 || check_env("THRUM_PIN_ALL", 0) != 0) {
        CHECK_SKIP("nobody else may run it");
    }
    begin_refused(&r);
    const uint32_t left = th_os_fails_left(TH_OS_FAULT_BARRIER);
    for (int i = 0; i < SCALED(500); i++) {
        long_task l = {.r = &r};
        CHECK_EQ(rig_run(&r, post_and_spin, &l), 0);
    }
    CHECK_EQ(th_os_fails_left(TH_OS_FAULT_BARRIER), left);
    rig_stop(&r);
}
