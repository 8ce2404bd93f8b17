/*
 * names.c: thrum_name and thrum_set_name.
 */
/* matrix: policy workers */
#include "support/support.h"

static const char digits[] = "0123456789012345678901234567890123456789";

TEST(off_a_task_there_is_no_name) {
    /* The name is NULL, and setting one is refused. */
    CHECK(thrum_name() == NULL);
    CHECK_EQ(thrum_set_name("x"), -ESRCH);
    CHECK(thrum_name() == NULL);
}

static int unnamed(void *arg) {
    (void)arg;
    CHECK_STR(thrum_name(), "");
    thrum_yield();
    CHECK_STR(thrum_name(), "");
    return 0;
}

TEST(task_without_a_name_has_the_empty_one) {
    /* The name is "" and not NULL. */
    rig_do(0, unnamed, NULL);
}

static int named(void *arg) {
    CHECK_STR(thrum_name(), arg);
    for (int i = 0; i < 50; i++) {
        thrum_yield();
        CHECK_STR(thrum_name(), arg);
    }
    return 0;
}

TEST(attr_names_the_task) {
    /* The name is copied at the spawn and stays with the fiber wherever it goes. */
    rig r;
    char name[32];
    thrum_handle *handles[20];
    static char expected[20][32];
    rig_begin(&r, 0);
    thrum_attr attr = rig_attr(&r);
    attr.name = name;
    for (int i = 0; i < 20; i++) {
        snprintf(name, sizeof(name), "worker bee %d", i);
        memcpy(expected[i], name, sizeof(name));
        CHECK_EQ(thrum_spawn_with(&handles[i], &attr, named, expected[i]), 0);
        memset(name, '!', sizeof(name) - 1);
    }
    for (int i = 0; i < 20; i++) {
        CHECK_EQ(thrum_join(handles[i], NULL), 0);
    }
    rig_stop(&r);
}

static int long_name(void *arg) {
    (void)arg;
    CHECK_EQ(strlen(thrum_name()), THRUM_NAME_MAX);
    CHECK(memcmp(thrum_name(), digits, THRUM_NAME_MAX) == 0);
    return 0;
}

TEST(long_names_are_cut) {
    /* A name in the attr is cut at 31 characters. */
    rig r;
    thrum_handle *handle = NULL;
    rig_begin(&r, 0);
    thrum_attr attr = rig_attr(&r);
    attr.name = digits;
    CHECK_EQ(thrum_spawn_with(&handle, &attr, long_name, NULL), 0);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    rig_stop(&r);
}

static int rename_often(void *arg) {
    char name[] = "first";
    (void)arg;
    CHECK_EQ(thrum_set_name(name), 0);
    name[0] = 'X';
    CHECK_STR(thrum_name(), "first");
    thrum_yield();
    CHECK_STR(thrum_name(), "first");
    CHECK_EQ(thrum_set_name(digits), 0);
    long_name(NULL);
    CHECK_EQ(thrum_set_name("second"), 0);
    CHECK_STR(thrum_name(), "second");
    CHECK_EQ(thrum_set_name(""), 0);
    CHECK_STR(thrum_name(), "");
    CHECK_EQ(thrum_set_name("third"), 0);
    return 0;
}

TEST(set_name_copies_and_cuts) {
    /* A task renames itself. */
    rig_do(0, rename_often, NULL);
}

static atomic_int runs;

static void unnamed_task(thrum_task *self, void *arg) {
    (void)self;
    (void)arg;
    CHECK_STR(thrum_name(), "");
    CHECK_EQ(thrum_set_name("an intrusive one"), 0);
    CHECK_STR(thrum_name(), "an intrusive one");
    atomic_fetch_add(&runs, 1);
}

static int take_turns(void *arg) {
    rig *r = arg;
    thrum_attr attr = rig_attr(r);
    thrum_task task = THRUM_TASK_INIT(unnamed_task, NULL);
    thrum_handle *handle = NULL;
    for (int i = 0; i < 20; i++) {
        attr.name = "sticky";
        CHECK_EQ(thrum_spawn_with(&handle, &attr, named, (void *)(uintptr_t) "sticky"), 0);
        CHECK_EQ(thrum_join(handle, NULL), 0);
        CHECK_EQ(thrum_spawn(&handle, unnamed, NULL), 0);
        CHECK_EQ(thrum_join(handle, NULL), 0);
        CHECK_EQ(thrum_spawn(&handle, rename_often, NULL), 0);
        CHECK_EQ(thrum_join(handle, NULL), 0);
        thrum_task_init(&task, unnamed_task, NULL);
        CHECK_EQ(thrum_task_post(r->sched, &task), 0);
        YIELD_UNTIL(atomic_load(&runs) == i + 1);
        CHECK_EQ(thrum_spawn(&handle, unnamed, NULL), 0);
        CHECK_EQ(thrum_join(handle, NULL), 0);
        CHECK_STR(thrum_name(), "");
    }
    return 0;
}

TEST(names_do_not_leak_to_the_next_task) {
    /* Each run begins without one, whatever the fiber that it runs on was called. */
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, take_turns, &r), 0);
    rig_stop(&r);
}

typedef struct repeater {
    thrum_task task;
    rig *r;
    int left;
} repeater;

static void repeat(thrum_task *self, void *arg) {
    repeater *p = arg;
    CHECK_STR(thrum_name(), "");
    CHECK_EQ(thrum_set_name("repeater"), 0);
    if (p->left % 3 == 0) {
        thrum_yield();
    }
    CHECK_STR(thrum_name(), "repeater");
    if (--p->left > 0) {
        CHECK_EQ(thrum_task_post(p->r->sched, self), 0);
    }
}

TEST(names_are_reset_for_each_run) {
    /* This holds for the next run of the very same task, too. */
    rig r;
    repeater p = {.r = &r, .left = 100};
    rig_begin(&r, 0);
    thrum_task_init(&p.task, repeat, &p);
    CHECK_EQ(thrum_task_post(r.sched, &p.task), 0);
    rig_wait_done(&r);
    CHECK_EQ(p.left, 0);
    rig_stop(&r);
}
