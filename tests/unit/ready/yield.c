/*
 * yield.c: thrum_yield: what runs before the caller goes on, and in which order yielders take
 * turns.
 */
/* matrix: policy workers */
#include "support/support.h"

static order seen;

static void note(thrum_task *self, void *arg) {
    (void)self;
    order_add(&seen, (int)(intptr_t)arg);
}

static thrum_task notes[256];

static int post_then_yield(void *arg) {
    rig *r = arg;
    for (int n = 1; n <= 200; n += n < 10 ? 1 : 38) {
        atomic_store(&seen.count, 0);
        for (int i = 0; i < n; i++) {
            thrum_task_init(&notes[i], note, (void *)(intptr_t)i);
            CHECK_EQ(thrum_task_post(r->sched, &notes[i]), 0);
        }
        thrum_yield();
        CHECK_EQ(atomic_load(&seen.count), n);
        for (int i = 0; i < n; i++) {
            CHECK_EQ(seen.seen[i], i);
        }
    }
    return 0;
}

TEST(yield_runs_all_that_is_queued_first) {
    /*
     * On one worker the order is exact: all that is queued, in its order, and only then the caller.
     */
    rig r;
    rig_begin(&r, 1);
    CHECK_EQ(rig_run(&r, post_then_yield, &r), 0);
    rig_stop(&r);
}

static int post_batch_then_yield(void *arg) {
    rig *r = arg;
    thrum_task *tasks[256];
    for (int i = 0; i < 256; i++) {
        thrum_task_init(&notes[i], note, (void *)(intptr_t)i);
        tasks[i] = &notes[i];
    }
    CHECK_EQ(thrum_task_post_batch(r->sched, tasks, 256), 0);
    thrum_yield();
    CHECK_EQ(atomic_load(&seen.count), 256);
    return 0;
}

static int post_hinted_then_yield(void *arg) {
    rig *r = arg;
    for (int i = 0; i < 4; i++) {
        thrum_task_init(&notes[i], note, (void *)(intptr_t)i);
    }
    CHECK_EQ(thrum_task_post_hint(r->sched, &notes[0], THRUM_HINT_YIELD), 0);
    CHECK_EQ(thrum_task_post_hint(r->sched, &notes[1], THRUM_HINT_NONE), 0);
    CHECK_EQ(thrum_task_post_hint(r->sched, &notes[2], THRUM_HINT_NEXT), 0);
    thrum_task_set_worker(&notes[3], 0);
    CHECK_EQ(thrum_task_post(r->sched, &notes[3]), 0);
    thrum_yield();
    CHECK_EQ(atomic_load(&seen.count), 4);
    return 0;
}

TEST(yield_runs_what_other_ways_have_queued) {
    /* A batch, each hint, a pinned task: all come before the caller. */
    rig r;
    rig_begin(&r, 1);
    CHECK_EQ(rig_run(&r, post_batch_then_yield, &r), 0);
    atomic_store(&seen.count, 0);
    CHECK_EQ(rig_run(&r, post_hinted_then_yield, &r), 0);
    rig_stop(&r);
}

static int yield_alone(void *arg) {
    (void)arg;
    for (int i = 0; i < 1000; i++) {
        thrum_yield();
    }
    return 0;
}

TEST(yield_alone_returns) {
    /* With nothing else to run the caller goes on. */
    rig_do(0, yield_alone, NULL);
}

TEST(yield_from_a_plain_thread_returns) {
    /* It gives its time slice away. */
    for (int i = 0; i < 100; i++) {
        thrum_yield();
    }
}

typedef struct turns {
    int id;
    int rounds;
} turns;

static int take_turns(void *arg) {
    const turns *t = arg;
    for (int i = 0; i < t->rounds; i++) {
        order_add(&seen, t->id);
        thrum_yield();
    }
    return 0;
}

static void check_turns(int fibers, int rounds) {
    rig r;
    holder h;
    static turns all[64];
    rig_begin(&r, 1);
    holder_begin(&r, &h, -1);
    for (int i = 0; i < fibers; i++) {
        all[i] = (turns){.id = i, .rounds = rounds};
        rig_go(&r, take_turns, &all[i]);
    }
    holder_end(&h);
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&seen.count), fibers * rounds);
    for (int i = 0; i < fibers * rounds; i++) {
        CHECK_EQ(seen.seen[i], i % fibers);
    }
    rig_stop(&r);
}

TEST(two_yielding_fibers_alternate) {
    /* On one worker they run strictly one after the other. */
    check_turns(2, 500);
}

TEST(many_yielding_fibers_take_turns) {
    /* On one worker they go round after round in the same order. */
    check_turns(50, 50);
}

typedef struct crowd {
    atomic_int round[300];
    int fibers, rounds;
} crowd;

static crowd people;

static int stay_together(void *arg) {
    const int me = (int)(intptr_t)arg;
    for (int i = 1; i <= people.rounds; i++) {
        atomic_store(&people.round[me], i);
        thrum_yield();
        for (int k = 0; k < people.fibers; k++) {
            CHECK(atomic_load(&people.round[k]) >= i); /* none was left behind */
        }
    }
    return 0;
}

static int start_crowd(void *arg) {
    (void)arg;
    for (int i = 0; i < people.fibers; i++) {
        CHECK_EQ(thrum_go(stay_together, (void *)(intptr_t)i), 0);
    }
    return 0;
}

TEST(yielders_started_inside_stay_together) {
    /* On one worker all others have come as far after a yield, also those that were only queued. */
    people.fibers = 200;
    people.rounds = 10;
    rig r;
    rig_begin(&r, 1);
    CHECK_EQ(rig_run(&r, start_crowd, NULL), 0);
    rig_stop(&r);
}

static atomic_bool flag;

static void set_flag(thrum_task *self, void *arg) {
    (void)self;
    (void)arg;
    atomic_store(&flag, true);
}

static int poll_flag(void *arg) {
    (void)arg;
    YIELD_UNTIL(atomic_load(&flag));
    return 0;
}

TEST(polling_fiber_lets_a_task_from_external_threads_run) {
    /* A fiber that yields until a flag is set by a task does not keep that task from running. */
    rig r;
    thrum_task task = THRUM_TASK_INIT(set_flag, NULL);
    rig_begin(&r, 1);
    rig_go(&r, poll_flag, NULL);
    CHECK_EQ(thrum_task_post(r.sched, &task), 0);
    rig_stop(&r);
}

static int post_and_poll(void *arg) {
    rig *r = arg;
    static thrum_task task;
    thrum_task_init(&task, set_flag, NULL);
    CHECK_EQ(thrum_task_post(r->sched, &task), 0);
    return poll_flag(NULL);
}

static void check_polling(bool pin_all, unsigned flags, unsigned lifo_limit) {
    rig r;
    thrum_handle *handle = NULL;
    rig_init(&r);
    r.config.workers = 1;
    r.config.pin_all = pin_all;
    r.config.lifo_limit = lifo_limit;
    rig_start(&r);
    thrum_attr attr = rig_attr(&r);
    attr.flags = flags;
    atomic_store(&flag, false);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, post_and_poll, &r), 0);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    rig_stop(&r);
}

TEST(polling_fiber_lets_a_queued_task_run) {
    /*
     * The same holds for a task in the worker's own queue; for a free fiber and for a pinned one.
     */
    check_polling(false, 0, 3);
    check_polling(false, 0, 0);
    check_polling(false, THRUM_PINNED, 3);
    check_polling(false, THRUM_PINNED, 0);
}

TEST(polling_fiber_lets_a_task_run_in_pin_all_mode) {
    /* This holds although resumed fibers come before new tasks there. */
    check_polling(true, 0, 3);
    check_polling(true, THRUM_PINNED, 3);
}

static int yield_counted(void *arg) {
    atomic_int *ended = arg;
    for (int i = 0; i < 100; i++) {
        thrum_yield();
    }
    atomic_fetch_add(ended, 1);
    return 0;
}

TEST(yielding_fibers_all_end) {
    /* There are any number of workers, and more fibers than fit a local queue. */
    rig r;
    atomic_int ended = 0;
    const int fibers = SCALED(1000);
    rig_begin(&r, 0);
    for (int i = 0; i < fibers; i++) {
        rig_go(&r, yield_counted, &ended);
    }
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&ended), fibers);
    rig_stop(&r);
}
