/*
 * pinned.c: tasks and fibers that stay on one worker, and the pin-all mode.
 */
/* matrix: policy workers */
#include "support/support.h"
#include "support/times.h"

/* Waits and yields in turn; must be on the same worker and thread all the time. */
static int stay(void *arg) {
    const int worker = thrum_worker_id();
    const pthread_t thread = thread_now();
    thrum_sem *sem = arg;
    for (int i = 0; i < 200; i++) {
        if (sem && i % 5 == 0) {
            CHECK_EQ(thrum_sem_wait(sem), 0);
        } else {
            thrum_yield();
        }
        CHECK_EQ(thrum_worker_id(), worker);
        CHECK(pthread_equal(thread, thread_now()));
    }
    return worker;
}

/* Starts fibers that move work around meanwhile. */
static int make_noise(void *arg) {
    thrum_sem *sem = arg;
    for (int i = 0; i < 40; i++) {
        thrum_yield();
        thrum_sem_post(sem);
    }
    return 0;
}

TEST(pinned_fibers_stay_where_they_were_told) {
    /* They stay on each worker by number, across yields and waits that others end. */
    rig r;
    thrum_handle *handles[64];
    thrum_sem sems[64];
    int result = -1;
    rig_begin(&r, 0);
    const int workers = (int)thrum_sched_parallelism(r.sched);
    CHECK(workers <= 64);
    thrum_attr attr = rig_attr(&r);
    attr.flags = THRUM_PINNED;
    for (int i = 0; i < workers; i++) {
        attr.worker = i;
        thrum_sem_init(&sems[i], 0);
        CHECK_EQ(thrum_spawn_with(&handles[i], &attr, stay, &sems[i]), 0);
        rig_go(&r, make_noise, &sems[i]);
    }
    for (int i = 0; i < workers; i++) {
        CHECK_EQ(thrum_join(handles[i], &result), 0);
        CHECK_EQ(result, i);
    }
    rig_stop(&r);
}

static int spawn_pinned(void *arg) {
    rig *r = arg;
    thrum_attr attr = rig_attr(r);
    thrum_handle *handle = NULL;
    int result = -1;
    attr.flags = THRUM_PINNED;
    for (int i = 0; i < 20; i++) {
        const int here = thrum_worker_id(); /* nothing before the spawn may suspend */
        CHECK_EQ(thrum_spawn_with(&handle, &attr, stay, NULL), 0);
        CHECK_EQ(thrum_join(handle, &result), 0);
        CHECK_EQ(result, here);
    }
    return 0;
}

TEST(pinned_without_a_number_stays_with_its_spawner) {
    /* A task spawns it: it stays on the worker that spawned it. */
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, spawn_pinned, &r), 0);
    rig_stop(&r);
}

TEST(pinned_from_external_threads_stays_where_it_first_runs) {
    /* It has neither a number nor a worker that spawned it. */
    rig r;
    thrum_handle *handles[20];
    thrum_sem sem = THRUM_SEM_INIT(0);
    rig_begin(&r, 0);
    thrum_attr attr = rig_attr(&r);
    attr.flags = THRUM_PINNED;
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(thrum_spawn_with(&handles[i], &attr, stay, &sem), 0);
        rig_go(&r, make_noise, &sem);
    }
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(thrum_join(handles[i], NULL), 0);
    }
    rig_stop(&r);
}

/* ---- tasks ---- */

typedef struct tied {
    thrum_task task;
    rig *r;
    int worker;
    atomic_int runs;
    int left;
    thrum_sem done;
} tied;

static void check_place(thrum_task *self, void *arg) {
    tied *t = arg;
    (void)self;
    CHECK_EQ(thrum_worker_id(), t->worker);
    thrum_yield();
    CHECK_EQ(thrum_worker_id(), t->worker);
    atomic_fetch_add(&t->runs, 1);
    thrum_sem_post(&t->done);
}

TEST(tied_tasks_run_on_their_worker) {
    /* Each worker in turn gets one, and is woken for it when it sleeps. */
    rig r;
    static tied t;
    rig_begin(&r, 0);
    const int workers = (int)thrum_sched_parallelism(r.sched);
    for (int i = 0; i < SCALED(500); i++) {
        t.worker = i % workers;
        thrum_sem_init(&t.done, 0);
        thrum_task_init(&t.task, check_place, &t);
        thrum_task_set_worker(&t.task, t.worker);
        CHECK_EQ(thrum_task_post(r.sched, &t.task), 0);
        CHECK_EQ(thrum_sem_wait(&t.done), 0);
    }
    rig_stop(&r);
}

TEST(tied_task_waits_for_its_busy_worker) {
    /* Other workers are free, but may not take it. */
    rig r;
    holder h;
    tied t = {.worker = 0, .done = THRUM_SEM_INIT(0)};
    rig_begin(&r, 0);
    holder_begin(&r, &h, 0);
    thrum_task_init(&t.task, check_place, &t);
    thrum_task_set_worker(&t.task, 0);
    CHECK_EQ(thrum_task_post_hint(r.sched, &t.task, THRUM_HINT_NEXT), 0);
    CHECK_EQ(thrum_sched_wait_idle(r.sched, soon()), -ETIMEDOUT);
    CHECK_EQ(atomic_load(&t.runs), 0);
    holder_end(&h);
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&t.runs), 1);
    rig_stop(&r);
}

static void go_round(thrum_task *self, void *arg) {
    tied *t = arg;
    CHECK_EQ(thrum_worker_id(), t->worker);
    if (--t->left == 0) {
        thrum_sem_post(&t->done);
        return;
    }
    t->worker = (t->worker + 1) % (int)thrum_sched_parallelism(t->r->sched);
    thrum_task_set_worker(self, t->worker);
    CHECK_EQ(thrum_task_post_hint(t->r->sched, self, (thrum_hint)(t->left % 3)), 0);
}

TEST(set_worker_moves_the_next_run) {
    /* A task posts itself to the next worker each time. */
    rig r;
    tied t = {.r = &r, .left = SCALED(3000), .done = THRUM_SEM_INIT(0)};
    rig_begin(&r, 0);
    thrum_task_init(&t.task, go_round, &t);
    thrum_task_set_worker(&t.task, 0);
    CHECK_EQ(thrum_task_post(r.sched, &t.task), 0);
    CHECK_EQ(thrum_sem_wait(&t.done), 0);
    rig_stop(&r);
}

static void count_only(thrum_task *self, void *arg) {
    (void)self;
    atomic_fetch_add(&((tied *)arg)->runs, 1);
}

TEST(worker_that_does_not_exist_is_invalid) {
    /* The post says so, and the task stays the caller's. */
    rig r;
    tied t = {.r = &r};
    rig_begin(&r, 0);
    thrum_task_init(&t.task, count_only, &t);
    thrum_task_set_worker(&t.task, (int)thrum_sched_parallelism(r.sched));
    CHECK_EQ(thrum_task_post(r.sched, &t.task), -EINVAL);
    CHECK_EQ(thrum_task_post_hint(r.sched, &t.task, THRUM_HINT_NEXT), -EINVAL);
    thrum_task_set_worker(&t.task, INT_MAX);
    CHECK_EQ(thrum_task_post(r.sched, &t.task), -EINVAL);
    thrum_task_set_worker(&t.task, -2);
    CHECK_EQ(thrum_task_post(r.sched, &t.task), -EINVAL);
    thrum_task_set_worker(&t.task, 0);
    CHECK_EQ(thrum_task_post(r.sched, &t.task), 0);
    rig_wait_done(&r);
    thrum_task_set_worker(&t.task, -1);
    CHECK_EQ(thrum_task_post(r.sched, &t.task), 0);
    rig_stop(&r);
    CHECK_EQ(atomic_load(&t.runs), 2);
}

TEST(free_tasks_pass_a_pinned_one) {
    /* Others run what is not tied while the one worker is busy. */
    rig r;
    holder h;
    static thrum_task tasks[100];
    tied t = {.r = &r};
    rig_begin(&r, 2);
    holder_begin(&r, &h, 0);
    for (int i = 0; i < 100; i++) {
        thrum_task_init(&tasks[i], count_only, &t);
        CHECK_EQ(thrum_task_post(r.sched, &tasks[i]), 0);
    }
    SPIN_UNTIL(atomic_load(&t.runs) == 100);
    holder_end(&h);
    rig_stop(&r);
}

/* ---- pin-all ---- */

static int stay_counted(void *arg) {
    stay(NULL);
    atomic_fetch_add((atomic_int *)arg, 1);
    return 0;
}

static int spawn_in_pin_all(void *arg) {
    for (int i = 0; i < 50; i++) {
        CHECK_EQ(thrum_go(stay_counted, arg), 0);
    }
    return stay_counted(arg);
}

TEST(pin_all_keeps_every_fiber_on_its_worker) {
    /* Each stays on the worker that first ran it, spawned by a task or by an external thread. */
    rig r;
    atomic_int ended = 0;
    rig_init(&r);
    r.config.pin_all = true;
    rig_start(&r);
    for (int i = 0; i < 4; i++) {
        rig_go(&r, spawn_in_pin_all, &ended);
    }
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&ended), 4 * 51);
    rig_stop(&r);
}

static _Thread_local int local_value;

static int keep_address(void *arg) {
    /* what no free fiber may do: it keeps the address across a wait */
    int *address = &local_value;
    for (int i = 0; i < 100; i++) {
        *address = i;
        const int mine = *address;
        CHECK_EQ(mine, i);
        thrum_yield();
        CHECK(address == &local_value);
    }
    atomic_fetch_add((atomic_int *)arg, 1);
    return 0;
}

TEST(pin_all_keeps_addresses_of_thread_locals) {
    /* Code that keeps one across waits is safe in this mode. */
    rig r;
    atomic_int ended = 0;
    rig_init(&r);
    r.config.pin_all = true;
    rig_start(&r);
    for (int i = 0; i < 50; i++) {
        rig_go(&r, keep_address, &ended);
    }
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&ended), 50);
    rig_stop(&r);
}

static int wake_each_other(void *arg) {
    thrum_sem *sems = arg;
    const int worker = thrum_worker_id();
    for (int i = 0; i < 500; i++) {
        thrum_sem_post(&sems[1]);
        CHECK_EQ(thrum_sem_wait(&sems[0]), 0);
        CHECK_EQ(thrum_worker_id(), worker);
    }
    return 0;
}

static int wake_the_other(void *arg) {
    thrum_sem *sems = arg;
    const int worker = thrum_worker_id();
    for (int i = 0; i < 500; i++) {
        CHECK_EQ(thrum_sem_wait(&sems[1]), 0);
        CHECK_EQ(thrum_worker_id(), worker);
        thrum_sem_post(&sems[0]);
    }
    return 0;
}

TEST(pinned_fibers_wake_each_other) {
    /* Both are on one worker, or on two: each wake reaches the sleeper's own. */
    rig r;
    thrum_handle *a = NULL, *b = NULL;
    rig_begin(&r, 0);
    const int workers = (int)thrum_sched_parallelism(r.sched);
    for (int i = 0; i < 4; i++) {
        thrum_sem sems[2] = {THRUM_SEM_INIT(0), THRUM_SEM_INIT(0)};
        thrum_attr attr = rig_attr(&r);
        attr.flags = THRUM_PINNED;
        attr.worker = i % workers;
        CHECK_EQ(thrum_spawn_with(&a, &attr, wake_each_other, sems), 0);
        attr.worker = workers - 1;
        CHECK_EQ(thrum_spawn_with(&b, &attr, wake_the_other, sems), 0);
        CHECK_EQ(thrum_join(a, NULL), 0);
        CHECK_EQ(thrum_join(b, NULL), 0);
    }
    rig_stop(&r);
}

/* ---- order ---- */

#define EARLY 20
#define LATE 40

static order pinned_order;
static thrum_task queued[EARLY + LATE];

static int yield_pinned(void *number) {
    thrum_yield();
    order_add(&pinned_order, (int)(intptr_t)number);
    return 0;
}

static void go_pinned(rig *r, thrum_fn fn, void *arg) {
    thrum_attr attr = rig_attr(r);
    attr.flags = THRUM_PINNED;
    attr.worker = 0;
    CHECK_EQ(thrum_go_with(&attr, fn, arg), 0);
}

static rig *ordered;

static void run_in_order(thrum_task *self, void *arg) {
    const int number = (int)(self - queued);
    (void)arg;
    order_add(&pinned_order, number);
    if (number == 0) {
        for (int i = EARLY; i < EARLY + LATE; i++) {
            CHECK_EQ(thrum_task_post(ordered->sched, &queued[i]), 0);
        }
    } else if (number == EARLY - 3) {
        go_pinned(ordered, yield_pinned, (void *)(intptr_t)-2);
    }
}

static int queue_then_yield_pinned(void *number) {
    for (int i = 0; i < EARLY; i++) {
        CHECK_EQ(thrum_task_post(ordered->sched, &queued[i]), 0);
    }
    return yield_pinned(number);
}

TEST(pinned_yielder_comes_before_what_was_queued_after_it) {
    /*
     * This holds when another pinned fiber yields while the worker has taken what they wait for in
     * a batch.
     */
    rig r;
    rig_init(&r);
    r.config.policy = THRUM_SHARDED;
    r.config.workers = 1;
    rig_start(&r);
    ordered = &r;
    for (int i = 0; i < EARLY + LATE; i++) {
        thrum_task_init(&queued[i], run_in_order, NULL);
    }
    go_pinned(&r, queue_then_yield_pinned, (void *)(intptr_t)-1);
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&pinned_order.count), EARLY + LATE + 2);
    for (int i = 0; i < EARLY; i++) {
        CHECK_EQ(pinned_order.seen[i], i);
    }
    CHECK_EQ(pinned_order.seen[EARLY], -1);
    rig_stop(&r);
}
