/*
 * found.c: bugs that were found by reading (docs/history/found.md): those that show when stacks are
 * short.
 */
#include "core/state/worker.h"
#include "platform/faults.h"
#include "support/support.h"

static void refuse_maps(bool on) {
    th_os_fail(TH_OS_FAULT_MAP, 0, on ? UINT32_MAX : 0);
}

static uint32_t refused(void) {
    return UINT32_MAX - th_os_fails_left(TH_OS_FAULT_MAP);
}

static void wait_parked(const rig *r, unsigned parked) {
    SPIN_UNTIL(th_park_parked(th_load_acquire(&r->sched->xpark)) == parked);
}

/* ---- pinned tasks ---- */

#define BLOCKERS 300
#define TIED 200

typedef struct shortage {
    thrum_sem sem;
    atomic_int begun;
    atomic_int ran;
    thrum_task tied[TIED];
} shortage;

static shortage sh;

static int block(void *arg) {
    (void)arg;
    atomic_fetch_add(&sh.begun, 1);
    return thrum_sem_wait(&sh.sem);
}

static void run_tied(thrum_task *self, void *arg) {
    (void)self;
    CHECK_EQ(thrum_worker_id(), (intptr_t)arg);
    atomic_fetch_add(&sh.ran, 1);
}

static void check_tied(thrum_policy policy) {
    rig r;
    memset(&sh, 0, sizeof(sh));
    thrum_sem_init(&sh.sem, 0);
    rig_init(&r);
    r.config.workers = 2;
    r.config.policy = policy;
    rig_start(&r);
    refuse_maps(true);
    for (int i = 0; i < BLOCKERS; i++) {
        rig_go(&r, block, NULL);
    }
    SPIN_UNTIL(refused() > 0);
    for (int i = 0; i < TIED; i++) {
        thrum_task_init(&sh.tied[i], run_tied, (void *)(intptr_t)(i % 2));
        thrum_task_set_worker(&sh.tied[i], i % 2);
        CHECK_EQ(thrum_task_post(r.sched, &sh.tied[i]), 0);
    }
    /* what has no stack by now waits for one */
    SPIN_UNTIL((int)th_load_acquire(&r.sched->xdeferred) + atomic_load(&sh.begun) +
                   atomic_load(&sh.ran) ==
               BLOCKERS + TIED);
    refuse_maps(false);
    for (int i = 0; i < BLOCKERS; i++) {
        thrum_sem_post(&sh.sem);
    }
    rig_stop(&r);
    CHECK_EQ(atomic_load(&sh.ran), TIED);
}

TEST(pinned_tasks_that_waited_for_a_stack_run_on_their_worker) {
    /* They run there whichever worker gets a stack first, from a task that ends or by a mapping. */
    for (int i = 0; i < 10; i++) {
        check_tied(THRUM_SHARDED);
        check_tied(THRUM_GLOBAL);
    }
}

/* ---- spare stacks elsewhere ---- */

typedef struct wanderer {
    thrum_task busy, task, last;
    thrum_sem sem;
    atomic_bool in, go;
    atomic_bool over;
    atomic_int began_on, ended_on;
} wanderer;

static void spin_then_wake(thrum_task *self, void *arg) {
    wanderer *w = arg;
    (void)self;
    atomic_store(&w->in, true);
    SPIN_UNTIL(atomic_load(&w->go));
    thrum_sem_post(&w->sem); /* the other one is resumed here, and ends here */
}

static void wait_and_end(thrum_task *self, void *arg) {
    wanderer *w = arg;
    (void)self;
    atomic_store(&w->began_on, thrum_worker_id());
    CHECK_EQ(thrum_sem_wait(&w->sem), 0);
    atomic_store(&w->ended_on, thrum_worker_id());
}

static void end_last(thrum_task *self, void *arg) {
    (void)self;
    atomic_store(&((wanderer *)arg)->over, true);
}

/*
 * Returns whether the fiber moved, so that one worker has no spare stack and the other has two;
 * then more tasks are run, for any worker or for the one that has none.
 */
static bool run_short(bool tied) {
    rig r;
    gate g;
    wanderer w = {.sem = THRUM_SEM_INIT(0)};
    rig_init(&r);
    r.config.workers = 2;
    r.config.workers_spare = 0;      /* idle spares count as parked */
    r.config.stack_size = 32u << 20; /* such stacks are mapped one by one */
    rig_start(&r);
    /*
     * A body that waits: no task is given up, however long it gets no stack. Under the thread
     * sanitizer, where each task takes a stack of its own, none would be left for the last tasks.
     */
    if (!UNDER_TSAN) {
        gate_begin(&r, &g);
    }
    thrum_task_init(&w.busy, spin_then_wake, &w);
    thrum_task_set_worker(&w.busy, 1);
    CHECK_EQ(thrum_task_post(r.sched, &w.busy), 0);
    SPIN_UNTIL(atomic_load(&w.in));
    thrum_task_init(&w.task, wait_and_end, &w);
    CHECK_EQ(thrum_task_post(r.sched, &w.task), 0);
    wait_parked(&r, 1);
    refuse_maps(true);
    atomic_store(&w.go, true);
    wait_parked(&r, 2);
    for (int i = 0; i < 4; i++) {
        atomic_store(&w.over, false);
        thrum_task_init(&w.last, end_last, &w);
        thrum_task_set_worker(&w.last, tied ? atomic_load(&w.began_on) : -1);
        CHECK_EQ(thrum_task_post(r.sched, &w.last), 0);
        SPIN_UNTIL(atomic_load(&w.over));
        wait_parked(&r, 2);
    }
    refuse_maps(false);
    if (!UNDER_TSAN) {
        gate_open(&g);
    }
    rig_stop(&r);
    return atomic_load(&w.began_on) != atomic_load(&w.ended_on);
}

TEST(worker_without_a_stack_leaves_its_work_to_one_with_spares) {
    /* No mapping works any more; the woken worker has no stack, the sleeping one has. */
    int moved = 0;
    for (int i = 0; i < 10; i++) {
        moved += run_short(false);
    }
    if (moved == 0) {
        CHECK_SKIP("the fiber stayed on its worker");
    }
}

TEST(work_tied_to_a_worker_without_a_stack_gets_another_ones) {
    /* Only worker 0 may run the task, and only worker 1 has a stack to spare. */
    int moved = 0;
    for (int i = 0; i < 10; i++) {
        moved += run_short(true);
    }
    if (moved == 0) {
        CHECK_SKIP("the fiber stayed on its worker");
    }
}
