/*
 * self_id.c: what a task knows of itself: its number; and its scheduler's pointer.
 */
/* matrix: policy workers */
#include "support/support.h"

enum { TASKS = 200, RUNS = 3, ALL = TASKS + RUNS + 2 };
static uint64_t ids[ALL];
static atomic_int ids_count;

static void add(uint64_t id) {
    CHECK(id != 0);
    ids[atomic_fetch_add(&ids_count, 1)] = id;
}

static int keeps_id(void *arg) {
    const uint64_t id = thrum_self_id();
    add(id);
    for (int i = 0; i < 5; i++) {
        thrum_yield();
        CHECK_EQ(thrum_self_id(), id);
    }
    CHECK_EQ(thrum_event_wait(arg), 0);
    CHECK_EQ(thrum_self_id(), id);
    return 0;
}

static thrum_event ran = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false);

static void run(thrum_task *self, void *arg) {
    (void)self;
    (void)arg;
    add(thrum_self_id());
    thrum_event_signal(&ran);
}

static int runs_tasks(void *arg) {
    (void)arg;
    thrum_event go = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
    thrum_handle *handles[TASKS];
    const uint64_t mine = thrum_self_id();
    for (int i = 0; i < TASKS; i++) {
        CHECK_EQ(thrum_spawn(&handles[i], keeps_id, &go), 0);
    }
    thrum_event_signal(&go);
    for (int i = 0; i < TASKS; i++) {
        CHECK_EQ(thrum_join(handles[i], NULL), 0);
    }
    for (int i = 0; i < RUNS; i++) {
        thrum_task task;
        thrum_task_init(&task, run, NULL);
        CHECK_EQ(thrum_task_post(thrum_sched_current(), &task), 0);
        CHECK_EQ(thrum_event_wait(&ran), 0);
    }
    CHECK_EQ(thrum_self_id(), mine);
    add(mine);
    return 0;
}

static int compare(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a;
    const uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

TEST(each_task_and_thread_has_a_number) {
    /* It stays the same over waits, and no other one has it, or had it. */
    add(thrum_self_id());
    rig_do(0, runs_tasks, NULL);
    CHECK_EQ(thrum_self_id(), ids[0]);
    CHECK_EQ(atomic_load(&ids_count), ALL);
    qsort(ids, ALL, sizeof ids[0], compare);
    for (int i = 1; i < ALL; i++) {
        CHECK(ids[i - 1] != ids[i]);
    }
}

static int has_data(void *arg) {
    CHECK(thrum_sched_data(thrum_sched_current()) == arg);
    return 0;
}

TEST(a_scheduler_has_a_pointer_of_the_program) {
    /* Its tasks find what the config has set; a plain thread is given the scheduler. */
    int value = 0;
    thrum_config config;
    thrum_sched *sched;
    thrum_config_init(&config);
    CHECK_EQ(thrum_run(&config, has_data, NULL), 0);
    config.data = &value;
    CHECK_EQ(thrum_run(&config, has_data, &value), 0);
    CHECK_EQ(thrum_sched_start(&sched, &config), 0);
    CHECK(thrum_sched_data(sched) == &value);
    CHECK(thrum_sched_data(thrum_sched_current()) == NULL);
    CHECK_EQ(thrum_sched_stop(sched), 0);
}
