/*
 * spawn.c: go, spawn, join and detach in every order, their results, and handles given up twice.
 */
/* matrix: policy workers */
#include "support/support.h"

static int echo(void *arg) {
    return *(int *)arg;
}

static int yield_then_echo(void *arg) {
    for (int i = 0; i < 20; i++) {
        thrum_yield();
    }
    return *(int *)arg;
}

/* ---- join ---- */

static int join_values(void *arg) {
    static const int values[] = {0, 1, -1, INT_MAX, INT_MIN, -ESHUTDOWN};
    (void)arg;
    for (size_t i = 0; i < COUNT_OF(values); i++) {
        int value = values[i], result = value + (value <= 0 ? 1 : -1);
        thrum_handle *handle = NULL;
        CHECK_EQ(thrum_spawn(&handle, echo, &value), 0);
        CHECK(handle != NULL);
        CHECK_EQ(thrum_join(handle, &result), 0);
        CHECK_EQ(result, value);
    }
    return 0;
}

TEST(join_hands_over_the_result) {
    /* It may be any value; the joiner's own fate is apart from it. */
    rig_do(0, join_values, NULL);
}

static int join_without_result(void *arg) {
    int value = 3;
    thrum_handle *handle = NULL;
    (void)arg;
    CHECK_EQ(thrum_spawn(&handle, yield_then_echo, &value), 0);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    return 0;
}

TEST(join_may_drop_the_result) {
    /* A NULL result is allowed. */
    rig_do(0, join_without_result, NULL);
}

typedef struct child {
    atomic_bool ended;
    thrum_sem go;
    int value; /* plain: the join makes it visible */
} child;

static int mark_end(void *arg) {
    child *c = arg;
    c->value = 77;
    atomic_store(&c->ended, true);
    return 8;
}

static int join_after_end(void *arg) {
    child c = {.ended = false};
    int result = 0;
    thrum_handle *handle = NULL;
    (void)arg;
    CHECK_EQ(thrum_spawn(&handle, mark_end, &c), 0);
    YIELD_UNTIL(atomic_load(&c.ended));
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, 8);
    CHECK_EQ(c.value, 77);
    return 0;
}

TEST(join_after_the_task_has_ended) {
    /* The result is kept until it is asked for. */
    rig_do(0, join_after_end, NULL);
}

static int wait_then_end(void *arg) {
    child *c = arg;
    CHECK_EQ(thrum_sem_wait(&c->go), 0);
    return mark_end(arg);
}

static int post_go(void *arg) {
    for (int i = 0; i < 10; i++) {
        thrum_yield();
    }
    thrum_sem_post(&((child *)arg)->go);
    return 0;
}

static int join_before_end(void *arg) {
    child c = {.go = THRUM_SEM_INIT(0)};
    int result = 0;
    thrum_handle *handle = NULL;
    (void)arg;
    CHECK_EQ(thrum_spawn(&handle, wait_then_end, &c), 0);
    CHECK_EQ(thrum_go(post_go, &c), 0);
    CHECK_EQ(thrum_join(handle, &result), 0); /* the child waits for what comes after us */
    CHECK(atomic_load(&c.ended));
    CHECK_EQ(result, 8);
    CHECK_EQ(c.value, 77);
    return 0;
}

TEST(join_before_the_task_has_ended) {
    /* The joiner suspends, and its worker goes on. */
    rig_do(0, join_before_end, NULL);
}

TEST(plain_thread_joins) {
    /* It joins before and after the end, without ever having bound to the scheduler. */
    rig r;
    child c = {.go = THRUM_SEM_INIT(0)};
    int result = 0;
    thrum_handle *handle = NULL;
    rig_begin(&r, 0);
    const thrum_attr attr = rig_attr(&r);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, mark_end, &c), 0);
    SPIN_UNTIL(atomic_load(&c.ended));
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, 8);
    CHECK_EQ(c.value, 77);

    atomic_store(&c.ended, false);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, wait_then_end, &c), 0);
    thrum_sem_post(&c.go);
    result = 0;
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK(atomic_load(&c.ended));
    CHECK_EQ(result, 8);
    rig_stop(&r);
}

typedef struct across {
    rig *r;
    child c;
} across;

static int join_across(void *arg) {
    across *a = arg;
    thrum_attr attr = rig_attr(a->r);
    thrum_handle *handle = NULL;
    int result = 0;
    for (int i = 0; i < 100; i++) {
        a->c = (child){.go = THRUM_SEM_INIT(0)};
        CHECK_EQ(thrum_spawn_with(&handle, &attr, wait_then_end, &a->c), 0);
        thrum_sem_post(&a->c.go);
        CHECK_EQ(thrum_join(handle, &result), 0);
        CHECK_EQ(result, 8);
        CHECK_EQ(a->c.value, 77);
    }
    return 0;
}

TEST(fiber_of_another_scheduler_joins) {
    /* A fiber may spawn on a scheduler that is not its own, and join there. */
    rig r1, r2;
    rig_begin(&r1, 0);
    rig_begin(&r2, 0);
    across a = {.r = &r2};
    CHECK_EQ(rig_run(&r1, join_across, &a), 0);
    rig_stop(&r2);
    rig_stop(&r1);
}

TEST(join_after_the_scheduler_has_stopped) {
    /* The handle outlives the scheduler. */
    rig r;
    int value = 1234, result = 0;
    thrum_handle *handles[10];
    rig_begin(&r, 0);
    const thrum_attr attr = rig_attr(&r);
    for (size_t i = 0; i < COUNT_OF(handles); i++) {
        CHECK_EQ(thrum_spawn_with(&handles[i], &attr, echo, &value), 0);
    }
    watchdog_remove(&r);
    CHECK_EQ(thrum_sched_stop(r.sched), 0);
    for (size_t i = 0; i < COUNT_OF(handles); i++) {
        if (i % 2 == 0) {
            CHECK_EQ(thrum_join(handles[i], &result), 0);
            CHECK_EQ(result, 1234);
        } else {
            CHECK_EQ(thrum_detach(handles[i]), 0);
        }
    }
    rig_check_freed(&r);
}

typedef struct own {
    thrum_handle *handle;
    thrum_sem known;
} own;

static int join_own(void *arg) {
    own *o = arg;
    int result = 5;
    CHECK_EQ(thrum_sem_wait(&o->known), 0);
    CHECK_EQ(thrum_join(o->handle, &result), -EDEADLK);
    CHECK_EQ(result, 5);
    return 6;
}

TEST(joining_oneself_is_a_deadlock) {
    /* It is refused; the handle is kept and another task may join. */
    rig r;
    own o = {.known = THRUM_SEM_INIT(0)};
    int result = 0;
    rig_begin(&r, 0);
    const thrum_attr attr = rig_attr(&r);
    CHECK_EQ(thrum_spawn_with(&o.handle, &attr, join_own, &o), 0);
    thrum_sem_post(&o.known);
    CHECK_EQ(thrum_join(o.handle, &result), 0);
    CHECK_EQ(result, 6);
    rig_stop(&r);
}

static int nest(void *arg) {
    int depth = *(int *)arg, result = 0;
    if (depth == 0) {
        return 1;
    }
    depth--;
    thrum_handle *handle = NULL;
    CHECK_EQ(thrum_spawn(&handle, nest, &depth), 0);
    CHECK_EQ(thrum_join(handle, &result), 0);
    return result + 1;
}

TEST(joins_nest) {
    /* Each fiber waits for the next, 200 deep. */
    rig r;
    int depth = 200;
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, nest, &depth), 201);
    rig_stop(&r);
}

/* ---- detach ---- */

static int detach_before_end(void *arg) {
    child *c = arg;
    thrum_handle *handle = NULL;
    CHECK_EQ(thrum_spawn(&handle, wait_then_end, c), 0);
    CHECK_EQ(thrum_detach(handle), 0);
    thrum_sem_post(&c->go);
    return 0;
}

TEST(detach_before_the_task_has_ended) {
    /* The task goes on, nothing is leaked. */
    child c = {.go = THRUM_SEM_INIT(0)};
    rig_do(0, detach_before_end, &c);
    CHECK(atomic_load(&c.ended));
}

static int detach_after_end(void *arg) {
    child *c = arg;
    thrum_handle *handle = NULL;
    CHECK_EQ(thrum_spawn(&handle, mark_end, c), 0);
    YIELD_UNTIL(atomic_load(&c->ended));
    CHECK_EQ(thrum_detach(handle), 0);
    return 0;
}

TEST(detach_after_the_task_has_ended) {
    /* The result is dropped, nothing is leaked. */
    child c = {.ended = false};
    rig_do(0, detach_after_end, &c);
}

TEST(plain_thread_detaches) {
    /* An external thread detaches before and after the end. */
    rig r;
    child c = {.go = THRUM_SEM_INIT(0)};
    thrum_handle *handle = NULL;
    rig_begin(&r, 0);
    const thrum_attr attr = rig_attr(&r);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, wait_then_end, &c), 0);
    CHECK_EQ(thrum_detach(handle), 0);
    thrum_sem_post(&c.go);
    rig_wait_done(&r);
    CHECK(atomic_load(&c.ended));
    CHECK_EQ(thrum_spawn_with(&handle, &attr, mark_end, &c), 0);
    rig_wait_done(&r);
    CHECK_EQ(thrum_detach(handle), 0);
    rig_stop(&r);
}

static int detach_self(void *arg) {
    own *o = arg;
    CHECK_EQ(thrum_sem_wait(&o->known), 0);
    CHECK_EQ(thrum_detach(o->handle), 0);
    thrum_yield();
    return 1;
}

TEST(task_detaches_itself) {
    /* A task may give up its own handle. */
    rig r;
    own o = {.known = THRUM_SEM_INIT(0)};
    rig_begin(&r, 0);
    const thrum_attr attr = rig_attr(&r);
    CHECK_EQ(thrum_spawn_with(&o.handle, &attr, detach_self, &o), 0);
    thrum_sem_post(&o.known);
    rig_stop(&r);
}

/* ---- go ---- */

static atomic_int runs;

static int count_run(void *arg) {
    (void)arg;
    atomic_fetch_add(&runs, 1);
    return 0;
}

static int go_each_way(void *arg) {
    rig *r = arg;
    thrum_attr attr = THRUM_ATTR_INIT;
    CHECK_EQ(thrum_go(count_run, NULL), 0);
    CHECK_EQ(thrum_go_with(NULL, count_run, NULL), 0);
    CHECK_EQ(thrum_go_with(&attr, count_run, NULL), 0);
    thrum_attr_init(&attr);
    attr.sched = r->sched;
    CHECK_EQ(thrum_go_with(&attr, count_run, NULL), 0);
    attr.flags = THRUM_NEXT;
    CHECK_EQ(thrum_go_with(&attr, count_run, NULL), 0);
    attr.flags = THRUM_PINNED;
    CHECK_EQ(thrum_go_with(&attr, count_run, NULL), 0);
    attr.flags = THRUM_PINNED | THRUM_NEXT;
    CHECK_EQ(thrum_go_with(&attr, count_run, NULL), 0);
    return 0;
}

TEST(go_starts_in_every_way) {
    /* It starts without an attr, with a NULL one, with each flag. */
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, go_each_way, &r), 0);
    rig_go(&r, count_run, NULL); /* an external thread calls it, too */
    rig_stop(&r);
    CHECK_EQ(atomic_load(&runs), 8);
}

TEST(attr_init_equals_the_initializer) {
    /* Both give the documented defaults. */
    const thrum_attr constant = THRUM_ATTR_INIT;
    thrum_attr attr;
    memset(&attr, 0x5a, sizeof(attr));
    thrum_attr_init(&attr);
    CHECK_EQ(attr.size, sizeof(attr));
    CHECK(attr.sched == NULL);
    CHECK(attr.name == NULL);
    CHECK_EQ(attr.flags, 0);
    CHECK_EQ(attr.worker, -1);
    CHECK_EQ(attr.stack_size, 0);
    CHECK_EQ(constant.size, attr.size);
    CHECK(!constant.sched && !constant.name);
    CHECK_EQ(constant.flags, 0);
    CHECK_EQ(constant.worker, -1);
    CHECK_EQ(constant.stack_size, 0);
}

/* ---- misuse ---- */

static int join_twice(void *arg) {
    int value = 1;
    thrum_handle *handle = NULL;
    (void)arg;
    CHECK_EQ(thrum_spawn(&handle, echo, &value), 0);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    return thrum_join(handle, NULL);
}

static int join_then_detach(void *arg) {
    int value = 1;
    thrum_handle *handle = NULL;
    (void)arg;
    CHECK_EQ(thrum_spawn(&handle, echo, &value), 0);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    return thrum_detach(handle);
}

static int detach_then_join(void *arg) {
    child c = {.ended = false};
    thrum_handle *handle = NULL;
    (void)arg;
    CHECK_EQ(thrum_spawn(&handle, mark_end, &c), 0);
    CHECK_EQ(thrum_detach(handle), 0);
    return thrum_join(handle, NULL);
}

static int detach_twice(void *arg) {
    child c = {.ended = false};
    thrum_handle *handle = NULL;
    (void)arg;
    CHECK_EQ(thrum_spawn(&handle, mark_end, &c), 0);
    YIELD_UNTIL(atomic_load(&c.ended));
    CHECK_EQ(thrum_detach(handle), 0);
    return thrum_detach(handle);
}

static void run_alone(void *fn) {
    thrum_config config;
    thrum_config_init(&config);
    thrum_run(&config, *(thrum_fn *)fn, NULL);
}

/* A handle that was joined, in whose memory there is another task by now. */
typedef struct old_handle {
    thrum_handle *handle;
    thrum_handle *other;
} old_handle;

static old_handle old_handle_make(void) {
    static int value = 1;
    old_handle old = {NULL, NULL};
    CHECK_EQ(thrum_spawn(&old.handle, echo, &value), 0);
    CHECK_EQ(thrum_join(old.handle, NULL), 0);
    CHECK_EQ(thrum_spawn(&old.other, echo, &value), 0);
    return old;
}

static int old_join(void *arg) {
    (void)arg;
    return thrum_join(old_handle_make().handle, NULL);
}

static void task_of_none(thrum_task *task, void *arg) {
    (void)task;
    (void)arg;
}

static int old_join_on(void *arg) {
    (void)arg;
    thrum_await await;
    thrum_task task;
    thrum_task_init(&task, task_of_none, NULL);
    return thrum_join_on_until(old_handle_make().handle, &await, &task, THRUM_FOREVER);
}

static int old_detach(void *arg) {
    (void)arg;
    return thrum_detach(old_handle_make().handle);
}

static int old_cancel(void *arg) {
    (void)arg;
    return thrum_cancel(old_handle_make().handle);
}

TEST(handle_whose_memory_has_another_task_aborts) {
    /* The other task's owner loses nothing: the mistake ends the program first. */
    thrum_fn fn = old_join;
    check_dies(run_alone, &fn, "thrum: thrum_join: the handle was joined or detached before");
    fn = old_join_on;
    check_dies(run_alone, &fn, "thrum: thrum_join_on_until: the handle was joined or detached");
    fn = old_detach;
    check_dies(run_alone, &fn, "thrum: thrum_detach: the handle was joined or detached before");
    fn = old_cancel;
    check_dies(run_alone, &fn, "thrum: thrum_cancel: the handle was joined or detached before");
}

static int names_differ(void *arg) {
    (void)arg;
    for (int i = 0; i < 100; i++) {
        old_handle old = old_handle_make();
        CHECK(old.handle != old.other);
        CHECK_EQ(thrum_join(old.other, NULL), 0);
    }
    return 0;
}

TEST(each_task_has_a_handle_of_its_own) {
    /* Also those that follow one another in the same memory. */
    CHECK_EQ(thrum_run(NULL, names_differ, NULL), 0);
}

#if UINTPTR_MAX > 0xffffffff
static void *alloc_high(void *ctx, size_t size) {
    (void)ctx;
    return size == 64 * 1024 ? (void *)((uintptr_t)1 << 56) : malloc(size);
}

static void free_any(void *ctx, void *ptr) {
    (void)ctx;
    free(ptr);
}

static void run_high(void *unused) {
    (void)unused;
    thrum_config config;
    thrum_config_init(&config);
    config.alloc = alloc_high;
    config.free = free_any;
    thrum_run(&config, names_differ, NULL);
}

TEST(memory_of_more_than_48_bits_aborts) {
    /* Where such addresses have their upper bits, handles have their generation. */
    check_dies(run_high, NULL, "thrum: thrum_config.alloc: it returned an address of more than");
}
#endif

TEST(handle_given_up_twice_aborts) {
    /* One line names the call, in release builds too. */
    thrum_fn fn = join_twice;
    check_dies(run_alone, &fn, "thrum: thrum_join: ");
    fn = join_then_detach;
    check_dies(run_alone, &fn, "thrum: thrum_detach: ");
    fn = detach_then_join;
    check_dies(run_alone, &fn, "thrum: thrum_join: ");
    fn = detach_twice;
    check_dies(run_alone, &fn, "thrum: thrum_detach: ");
}
