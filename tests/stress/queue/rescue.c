/*
 * rescue.c: work behind a task that takes long is taken over by another worker.
 *
 * Each task here keeps its worker until another one has run: the test hangs when all other workers
 * sleep beside work that waits.
 */
/* matrix: policy workers */
/* variants: */
#include "support/support.h"

typedef struct long_task {
    rig *r;
    thrum_task task;
    thrum_hint hint;
    atomic_int ran;
    int wanted;
} long_task;

static void need_two_workers(void) {
    if (check_env("THRUM_WORKERS", 2) < 2) {
        CHECK_SKIP("one worker cannot help itself");
    }
    if (check_env("THRUM_PIN_ALL", 0) != 0) {
        CHECK_SKIP("tasks that are tied to a busy worker have to wait");
    }
}

static void run_behind(thrum_task *self, void *arg) {
    (void)self;
    atomic_fetch_add(&((long_task *)arg)->ran, 1);
}

static int post_and_spin(void *arg) {
    long_task *l = arg;
    thrum_task_init(&l->task, run_behind, l);
    CHECK_EQ(thrum_task_post_hint(l->r->sched, &l->task, l->hint), 0);
    SPIN_UNTIL(atomic_load(&l->ran) == 1);
    return 0;
}

static void check_rescue(thrum_hint hint) {
    rig r;
    need_two_workers();
    rig_begin(&r, 0);
    for (int i = 0; i < SCALED(2000); i++) {
        long_task l = {.r = &r, .hint = hint};
        CHECK_EQ(rig_run(&r, post_and_spin, &l), 0);
    }
    rig_stop(&r);
}

TEST(task_in_the_lifo_slot) {
    /* A push into the slot wakes no worker, yet what is in it does not starve. */
    check_rescue(THRUM_HINT_NEXT);
}

TEST(task_in_the_ring) {
    /* A single task in the ring of a busy worker does not starve. */
    check_rescue(THRUM_HINT_NONE);
}

TEST(task_posted_behind_all) {
    /* A single task on its way to the inject queue does not starve. */
    check_rescue(THRUM_HINT_YIELD);
}

/* ---- beside workers that only poll ---- */

static atomic_bool polled_enough;

static int poll_on(void *arg) {
    (void)arg;
    YIELD_UNTIL(atomic_load(&polled_enough));
    return 0;
}

static void check_rescue_by_pollers(thrum_hint hint) {
    rig r;
    need_two_workers();
    rig_begin(&r, 0);
    for (unsigned i = 1; i < thrum_sched_parallelism(r.sched); i++) {
        rig_go(&r, poll_on, NULL);
    }
    const int rounds = SCALED(thrum_sched_parallelism(r.sched) > 2 ? 40 : 200);
    for (int i = 0; i < rounds; i++) {
        long_task l = {.r = &r, .hint = hint};
        CHECK_EQ(rig_run(&r, post_and_spin, &l), 0);
    }
    atomic_store(&polled_enough, true);
    rig_stop(&r);
}

TEST(task_in_the_ring_beside_pollers) {
    /* The other workers never sleep: their fibers poll, and one worker takes over what waits. */
    check_rescue_by_pollers(THRUM_HINT_NONE);
}

TEST(task_in_the_lifo_slot_beside_pollers) {
    /* Workers that only poll take over what waits in the slot. */
    check_rescue_by_pollers(THRUM_HINT_NEXT);
}

TEST(task_posted_behind_all_beside_pollers) {
    /* Workers that only poll take over what is on its way to the inject queue. */
    check_rescue_by_pollers(THRUM_HINT_YIELD);
}

/* ---- a fiber that was woken ---- */

typedef struct sleeper {
    thrum_sem sem;
    atomic_bool woken;
    atomic_bool waits;
} sleeper;

static int sleep_first(void *arg) {
    sleeper *s = arg;
    atomic_store(&s->waits, true);
    CHECK_EQ(thrum_sem_wait(&s->sem), 0);
    atomic_store(&s->woken, true);
    return 0;
}

static int wake_and_spin(void *arg) {
    sleeper *s = arg;
    CHECK_EQ(thrum_go(sleep_first, s), 0);
    YIELD_UNTIL(atomic_load(&s->waits));
    thrum_yield();
    thrum_sem_post(&s->sem); /* by the wake hint it would run next, on this worker */
    SPIN_UNTIL(atomic_load(&s->woken));
    return 0;
}

TEST(fiber_woken_by_a_busy_worker) {
    /* The fiber stands in the slot of the worker that woke it, which does not come round. */
    rig r;
    need_two_workers();
    rig_begin(&r, 0);
    for (int i = 0; i < SCALED(2000); i++) {
        sleeper s = {.sem = THRUM_SEM_INIT(0)};
        CHECK_EQ(rig_run(&r, wake_and_spin, &s), 0);
    }
    rig_stop(&r);
}

/* ---- fibers that yielded ---- */

typedef struct yielders {
    atomic_int through;
    atomic_int begun;
    int count;
} yielders;

static int yield_once(void *arg) {
    yielders *y = arg;
    atomic_fetch_add(&y->begun, 1);
    thrum_yield();
    atomic_fetch_add(&y->through, 1);
    return 0;
}

static int spin_for_yielders(void *arg) {
    yielders *y = arg;
    SPIN_UNTIL(atomic_load(&y->through) == y->count);
    return 0;
}

/* Starts all on one worker's ring: the fibers yield, then the worker runs the one that spins. */
static int start_yielders(void *arg) {
    yielders *y = arg;
    for (int i = 0; i < y->count; i++) {
        CHECK_EQ(thrum_go(yield_once, y), 0);
    }
    CHECK_EQ(thrum_go(spin_for_yielders, y), 0);
    return 0;
}

TEST(fibers_that_yielded_before_a_long_task) {
    /* The fibers stand on a worker that then runs a long task. */
    rig r;
    need_two_workers();
    rig_begin(&r, 0);
    for (int i = 0; i < SCALED(1000); i++) {
        yielders y = {.count = i % 20 + 1};
        rig_go(&r, start_yielders, &y);
        rig_wait_done(&r);
        CHECK_EQ(atomic_load(&y.through), y.count);
    }
    rig_stop(&r);
}

/* ---- more than one long task ---- */

static void run_wanted(thrum_task *self, void *arg) {
    (void)self;
    atomic_fetch_add(&((long_task *)arg)->ran, 1);
}

static int post_many_and_spin(void *arg) {
    long_task *l = arg;
    static thrum_task tasks[200];
    for (int i = 0; i < l->wanted; i++) {
        thrum_task_init(&tasks[i], run_wanted, l);
        CHECK_EQ(thrum_task_post(l->r->sched, &tasks[i]), 0);
    }
    SPIN_UNTIL(atomic_load(&l->ran) == l->wanted);
    return 0;
}

TEST(whole_ring_behind_a_long_task) {
    /* Other workers take everything, to the last task. */
    rig r;
    need_two_workers();
    rig_begin(&r, 0);
    for (int i = 0; i < SCALED(1000); i++) {
        long_task l = {.r = &r, .wanted = i % 200 + 1};
        CHECK_EQ(rig_run(&r, post_many_and_spin, &l), 0);
    }
    rig_stop(&r);
}

typedef struct barrier {
    atomic_int in;
    int wanted;
} barrier;

static int meet(void *arg) {
    barrier *b = arg;
    atomic_fetch_add(&b->in, 1);
    SPIN_UNTIL(atomic_load(&b->in) == b->wanted);
    return 0;
}

static int start_meeting(void *arg) {
    barrier *b = arg;
    for (int i = 0; i < b->wanted; i++) {
        CHECK_EQ(thrum_go(meet, b), 0);
    }
    return 0;
}

TEST(as_many_long_tasks_as_workers) {
    /* Every worker takes one of the tasks, which all have to run at once. */
    rig r;
    need_two_workers();
    rig_begin(&r, 0);
    const int workers = (int)thrum_sched_parallelism(r.sched);
    const int rounds = SCALED(workers > 8 ? 20 : 500);
    for (int i = 0; i < rounds; i++) {
        barrier b = {.wanted = workers};
        rig_go(&r, start_meeting, &b);
        rig_wait_done(&r);
        CHECK_EQ(atomic_load(&b.in), workers);
    }
    rig_stop(&r);
}

static void meet_task(thrum_task *self, void *arg) {
    (void)self;
    meet(arg);
}

TEST(as_many_long_tasks_posted_in_a_batch) {
    /* A batch from an external thread wakes as many workers as it has work for. */
    rig r;
    thrum_task tasks[64];
    thrum_task *list[64];
    need_two_workers();
    rig_begin(&r, 0);
    const int workers = (int)thrum_sched_parallelism(r.sched);
    CHECK(workers <= 64);
    const int rounds = SCALED(workers > 8 ? 20 : 500);
    for (int i = 0; i < rounds; i++) {
        barrier b = {.wanted = workers};
        for (int k = 0; k < workers; k++) {
            thrum_task_init(&tasks[k], meet_task, &b);
            list[k] = &tasks[k];
        }
        CHECK_EQ(thrum_task_post_batch(r.sched, list, (size_t)workers), 0);
        rig_wait_done(&r);
        CHECK_EQ(atomic_load(&b.in), workers);
    }
    rig_stop(&r);
}

TEST(as_many_long_tasks_posted_one_by_one) {
    /* Each post from an external thread wakes a free worker, or a worker finds it. */
    rig r;
    thrum_task tasks[64];
    need_two_workers();
    rig_begin(&r, 0);
    const int workers = (int)thrum_sched_parallelism(r.sched);
    CHECK(workers <= 64);
    const int rounds = SCALED(workers > 8 ? 20 : 500);
    for (int i = 0; i < rounds; i++) {
        barrier b = {.wanted = workers};
        for (int k = 0; k < workers; k++) {
            thrum_task_init(&tasks[k], meet_task, &b);
            CHECK_EQ(thrum_task_post(r.sched, &tasks[k]), 0);
        }
        rig_wait_done(&r);
        CHECK_EQ(atomic_load(&b.in), workers);
    }
    rig_stop(&r);
}
