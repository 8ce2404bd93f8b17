/*
 * priority.c: tasks and sleepers of each priority go on at their deadlines.
 */
/* matrix: policy workers */
#include "time/hours.h"

static const unsigned levels[] = {THRUM_HIGH, THRUM_NORMAL, THRUM_LOW};

enum { EACH = 4, TASKS = 3 * EACH };

static order seen;
static thrum_task tasks[TASKS];
static thrum_waitgroup left;

static void note(thrum_task *self, void *arg) {
    order_add(&seen, (int)(uintptr_t)arg);
    CHECK(thrum_task_is_expired(self));
    thrum_waitgroup_done(&left);
}

static void post_at(int i, size_t level, thrum_time when) {
    thrum_task_init(&tasks[i], note, (void *)(uintptr_t)level);
    CHECK_EQ(thrum_task_set_priority(&tasks[i], levels[level]), 0);
    CHECK_EQ(thrum_task_post_until(thrum_sched_current(), &tasks[i], when), 0);
}

TEST(a_deadline_of_each_priority_is_kept) {
    /* The workers sleep until then. */
    for (int i = 0; i < TASKS; i++) {
        const thrum_time when = thrum_after(HOUR);
        thrum_waitgroup_init(&left, 1);
        post_at(i, (size_t)i % COUNT_OF(levels), when);
        CHECK_EQ(thrum_waitgroup_wait(&left), 0);
        CHECK_NOW(when);
    }
    atomic_store(&seen.count, 0);
}

static int sleeps(void *arg) {
    const thrum_time when = *(const thrum_time *)arg;
    CHECK_EQ(thrum_sleep_until(when), 0);
    CHECK_NOW(when);
    return 0;
}

TEST(sleepers_of_each_priority_wake_in_time) {
    /* As fibers, also pinned ones, beside each other. */
    thrum_handle *handles[TASKS];
    thrum_time when[TASKS];
    for (int i = 0; i < TASKS; i++) {
        thrum_attr attr = THRUM_ATTR_INIT;
        attr.flags = levels[i % 3] | (i % 2 ? THRUM_PINNED : 0);
        when[i] = thrum_after((TASKS - i) * HOUR);
        CHECK_EQ(thrum_spawn_with(&handles[i], &attr, sleeps, &when[i]), 0);
    }
    for (int i = 0; i < TASKS; i++) {
        CHECK_EQ(thrum_join(handles[i], NULL), 0);
    }
}
