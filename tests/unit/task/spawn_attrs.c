/*
 * spawn_attrs.c: what tasks may be started with: attributes and arguments that are refused, stack
 * sizes, hints.
 */
/* matrix: policy workers */
#include "support/support.h"

/* ---- errors ---- */

static int must_not_run(void *arg) {
    (void)arg;
    CHECK(false);
    return 0;
}

TEST(without_a_scheduler_it_says_so) {
    /* Off a task, and without a scheduler in the attr, there is nothing to run on. */
    const thrum_attr attr = THRUM_ATTR_INIT;
    thrum_handle *handle = NULL;
    CHECK_EQ(thrum_go(must_not_run, NULL), -ESRCH);
    CHECK_EQ(thrum_go_with(NULL, must_not_run, NULL), -ESRCH);
    CHECK_EQ(thrum_go_with(&attr, must_not_run, NULL), -ESRCH);
    CHECK_EQ(thrum_spawn(&handle, must_not_run, NULL), -ESRCH);
    CHECK_EQ(thrum_spawn_with(&handle, NULL, must_not_run, NULL), -ESRCH);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, must_not_run, NULL), -ESRCH);
    CHECK_STR(thrum_strerror(-ESRCH), "not in a task, or no such process");
    CHECK_EQ(thrum_go(NULL, NULL), -EINVAL); /* the first mistake is reported wherever it is made */
    CHECK_EQ(thrum_spawn(&handle, NULL, NULL), -EINVAL);
}

static void check_attr_refused(const thrum_attr *attr) {
    thrum_handle *handle = NULL;
    CHECK_EQ(thrum_go_with(attr, must_not_run, NULL), -EINVAL);
    CHECK_EQ(thrum_spawn_with(&handle, attr, must_not_run, NULL), -EINVAL);
}

static int refused_attrs(void *arg) {
    rig *r = arg;
    const int workers = (int)thrum_sched_parallelism(r->sched);
    thrum_attr attr = rig_attr(r);
    attr.size = 0;
    check_attr_refused(&attr);
    attr.size = sizeof(attr) + 64;
    check_attr_refused(&attr);
    attr = rig_attr(r);
    attr.flags = 1u << 31;
    check_attr_refused(&attr);
    attr = rig_attr(r);
    attr.stack_size = (64u << 20) + 1;
    check_attr_refused(&attr);
    attr.stack_size = SIZE_MAX;
    check_attr_refused(&attr);
    attr = rig_attr(r);
    attr.flags = THRUM_PINNED;
    attr.worker = workers;
    check_attr_refused(&attr);
    attr.worker = INT_MAX;
    check_attr_refused(&attr);
    attr.worker = -2;
    check_attr_refused(&attr);
    return 0;
}

TEST(bad_attrs_are_invalid) {
    /*
     * It has an unknown size or flags, a worker that does not exist, or a stack that is too large.
     */
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, refused_attrs, &r), 0);
    CHECK_EQ(refused_attrs(&r), 0); /* an external thread is refused, too */
    rig_stop(&r);
}

static int refused_arguments(void *arg) {
    thrum_handle *handle = NULL;
    (void)arg;
    CHECK_EQ(thrum_go(NULL, NULL), -EINVAL);
    CHECK_EQ(thrum_spawn(NULL, must_not_run, NULL), -EINVAL);
    CHECK_EQ(thrum_spawn(&handle, NULL, NULL), -EINVAL);
    CHECK_EQ(thrum_join(NULL, NULL), -EINVAL);
    CHECK_EQ(thrum_detach(NULL), -EINVAL);
    return 0;
}

TEST(missing_arguments_are_invalid) {
    /* It has no function, no place for the handle, or no handle. */
    rig_do(0, refused_arguments, NULL);
}

/* ---- stack size ---- */

static __attribute__((noinline)) int touch(size_t bytes) {
    volatile char *block = __builtin_alloca(bytes);
    int sum = 0;
    for (size_t i = bytes; i > 0; i -= 512) {
        block[i - 1] = (char)(i / 512);
    }
    thrum_yield(); /* the switch must keep it all */
    for (size_t i = bytes; i > 0; i -= 512) {
        sum += block[i - 1] == (char)(i / 512);
    }
    return sum == (int)((bytes + 511) / 512) ? 0 : 1;
}

static int touch_a_megabyte(void *arg) {
    (void)arg;
    return touch(1u << 20);
}

static int touch_some(void *arg) {
    (void)arg;
    return touch(UNDER_ASAN || UNDER_TSAN ? 2048 : 6144);
}

static int touch_stacks(void *arg) {
    rig *r = arg;
    thrum_attr attr = rig_attr(r);
    thrum_handle *large[8], *small[8];
    int result = 1;
    for (int round = 0; round < 5; round++) {
        for (size_t i = 0; i < COUNT_OF(large); i++) {
            attr.stack_size = 4u << 20;
            CHECK_EQ(thrum_spawn_with(&large[i], &attr, touch_a_megabyte, NULL), 0);
            attr.stack_size = 16u << 10;
            CHECK_EQ(thrum_spawn_with(&small[i], &attr, touch_some, NULL), 0);
        }
        for (size_t i = 0; i < COUNT_OF(large); i++) {
            CHECK_EQ(thrum_join(large[i], &result), 0);
            CHECK_EQ(result, 0);
            CHECK_EQ(thrum_join(small[i], &result), 0);
            CHECK_EQ(result, 0);
        }
    }
    return 0;
}

TEST(tasks_get_the_stack_they_ask_for) {
    /*
     * A task uses a megabyte on a stack of four, beside stacks of the smallest size, again and
     * again.
     */
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, touch_stacks, &r), 0);
    rig_stop(&r);
}

static int touch_default(void *arg) {
    (void)arg;
    return touch(768u << 10);
}

TEST(stack_size_of_the_config_is_the_default) {
    /* Tasks without an attr get it; any task may be the one that runs on a worker's first fiber. */
    rig r;
    rig_init(&r);
    r.config.stack_size = 1u << 20;
    rig_start(&r);
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(rig_run(&r, touch_default, NULL), 0);
    }
    rig_stop(&r);
}

/* ---- order on one worker ---- */

static order seen;

static int note(void *arg) {
    order_add(&seen, (int)(intptr_t)arg);
    return 0;
}

static int spawn_with_hints(void *arg) {
    thrum_attr attr = rig_attr(arg);
    CHECK_EQ(thrum_go(note, (void *)(intptr_t)1), 0);
    CHECK_EQ(thrum_go(note, (void *)(intptr_t)2), 0);
    attr.flags = THRUM_NEXT;
    CHECK_EQ(thrum_go_with(&attr, note, (void *)(intptr_t)3), 0);
    CHECK_EQ(thrum_go_with(&attr, note, (void *)(intptr_t)4), 0);
    CHECK_EQ(thrum_go(note, (void *)(intptr_t)5), 0);
    return 0;
}

TEST(next_runs_first_on_one_worker) {
    /* The NEXT hint puts a task before what is queued; the one it displaces goes behind. */
    static const int expected[] = {4, 1, 2, 3, 5};
    rig r;
    rig_init(&r);
    r.config.workers = 1;
    r.config.policy = THRUM_SHARDED;
    rig_start(&r);
    CHECK_EQ(rig_run(&r, spawn_with_hints, &r), 0);
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&seen.count), 5);
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        CHECK_EQ(seen.seen[i], expected[i]);
    }
    rig_stop(&r);
}

static int spawn_many(void *arg) {
    (void)arg;
    for (int i = 0; i < 200; i++) {
        CHECK_EQ(thrum_go(note, (void *)(intptr_t)i), 0);
    }
    return 0;
}

TEST(spawned_tasks_start_in_order_on_one_worker) {
    /* They run first in, first out, as long as the local queue holds them. */
    rig r;
    rig_begin(&r, 1);
    CHECK_EQ(rig_run(&r, spawn_many, NULL), 0);
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&seen.count), 200);
    for (int i = 0; i < 200; i++) {
        CHECK_EQ(seen.seen[i], i);
    }
    rig_stop(&r);
}

TEST(tasks_spawned_externally_start_in_order_on_one_worker) {
    /* The inject queue is first in, first out, too. */
    rig r;
    holder h;
    rig_begin(&r, 1);
    holder_begin(&r, &h, -1);
    for (int i = 0; i < 1000; i++) {
        rig_go(&r, note, (void *)(intptr_t)i);
    }
    holder_end(&h);
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&seen.count), 1000);
    for (int i = 0; i < 1000; i++) {
        CHECK_EQ(seen.seen[i], i);
    }
    rig_stop(&r);
}

static int spawn_to_nowhere(void *arg) {
    (void)arg;
    CHECK_EQ(thrum_spawn(NULL, spawn_to_nowhere, NULL), -EINVAL);
    CHECK_EQ(thrum_spawn_with(NULL, NULL, spawn_to_nowhere, NULL), -EINVAL);
    return 0;
}

TEST(spawn_without_a_place_for_the_handle) {
    /* -EINVAL, and nothing is started. */
    rig_do(0, spawn_to_nowhere, NULL);
    CHECK_EQ(spawn_to_nowhere(NULL), 0);
}
