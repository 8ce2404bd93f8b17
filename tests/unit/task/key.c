/*
 * key.c: values of a task's own, thrum_key_*.
 */
/* matrix: policy workers */
#include "support/support.h"

static thrum_key keys[THRUM_KEYS_MAX];
static int cells[THRUM_KEYS_MAX]; /* values to point at */
static atomic_int destroyed;

static void count_destroyed(void *value) {
    CHECK(value != NULL);
    atomic_fetch_add(&destroyed, 1);
}

static void make_keys(int n, void (*destructor)(void *)) {
    for (int i = 0; i < n; i++) {
        CHECK_EQ(thrum_key_create(&keys[i], destructor), 0);
    }
}

static void delete_keys(int n) {
    for (int i = 0; i < n; i++) {
        CHECK_EQ(thrum_key_delete(keys[i]), 0);
    }
}

/* ---- get and set ---- */

static int set_and_get(void *arg) {
    (void)arg;
    for (int i = 0; i < THRUM_KEYS_MAX; i++) {
        CHECK(thrum_key_get(keys[i]) == NULL);
    }
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < THRUM_KEYS_MAX; i++) {
            CHECK_EQ(thrum_key_set(keys[i], &cells[(i + round) % THRUM_KEYS_MAX]), 0);
        }
        thrum_yield();
        for (int i = 0; i < THRUM_KEYS_MAX; i++) {
            CHECK(thrum_key_get(keys[i]) == &cells[(i + round) % THRUM_KEYS_MAX]);
        }
    }
    return 0;
}

TEST(values_are_kept_under_every_key) {
    /* All 64 keys have values at once, far more than a task holds inline, across waits. */
    rig r;
    rig_begin(&r, 0);
    make_keys(THRUM_KEYS_MAX, NULL);
    CHECK_EQ(rig_run(&r, set_and_get, NULL), 0);
    rig_stop(&r);
    delete_keys(THRUM_KEYS_MAX);
}

static int own_values(void *arg) {
    const int me = (int)(intptr_t)arg;
    for (int i = 0; i < 8; i++) {
        CHECK(thrum_key_get(keys[i]) == NULL);
        CHECK_EQ(thrum_key_set(keys[i], &cells[(me + i) % THRUM_KEYS_MAX]), 0);
    }
    for (int turn = 0; turn < 50; turn++) {
        thrum_yield(); /* it goes on on other workers, too */
        for (int i = 0; i < 8; i++) {
            CHECK(thrum_key_get(keys[i]) == &cells[(me + i) % THRUM_KEYS_MAX]);
        }
    }
    return 0;
}

TEST(each_fiber_has_values_of_its_own) {
    /* Each of many fibers sees what it set itself, wherever it runs. */
    rig r;
    rig_begin(&r, 0);
    make_keys(8, NULL);
    for (int i = 0; i < 100; i++) {
        rig_go(&r, own_values, (void *)(intptr_t)i);
    }
    rig_stop(&r);
    delete_keys(8);
}

static void task_values(thrum_task *self, void *arg) {
    (void)self;
    CHECK(thrum_key_get(keys[0]) == NULL);
    CHECK_EQ(thrum_key_set(keys[0], arg), 0);
    CHECK(thrum_key_get(keys[0]) == arg);
}

TEST(each_run_begins_without_values) {
    /*
     * Runs that follow each other on one fiber, also of the same task, see nothing of the last one.
     */
    rig r;
    thrum_task task;
    rig_begin(&r, 1);
    make_keys(1, count_destroyed);
    thrum_task_init(&task, task_values, &cells[1]);
    for (int i = 1; i <= 100; i++) {
        CHECK_EQ(thrum_task_post(r.sched, &task), 0);
        rig_wait_done(&r);
        CHECK_EQ(atomic_load(&destroyed), i); /* posted tasks have destructors, too */
    }
    rig_stop(&r);
    delete_keys(1);
}

/* ---- destructors ---- */

static int set_some(void *arg) {
    (void)arg;
    CHECK_EQ(thrum_key_set(keys[0], &cells[0]), 0);
    CHECK_EQ(thrum_key_set(keys[1], &cells[1]), 0);
    CHECK_EQ(thrum_key_set(keys[2], &cells[2]), 0);
    CHECK_EQ(thrum_key_set(keys[1], NULL), 0);
    for (int i = 3; i < 20; i++) {
        CHECK_EQ(thrum_key_set(keys[i], &cells[i]), 0);
    }
    CHECK_EQ(atomic_load(&destroyed), 0);
    return 0;
}

TEST(destructors_get_what_is_not_null) {
    /* They come at the task's end, for each value once; before the join returns. */
    rig r;
    rig_begin(&r, 0);
    make_keys(20, count_destroyed);
    CHECK_EQ(rig_run(&r, set_some, NULL), 0);
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&destroyed), 19);
    rig_stop(&r);
    CHECK_EQ(atomic_load(&destroyed), 19);
    delete_keys(20);
}

static void destroy_slowly(void *value) {
    CHECK(thrum_sched_current() != NULL);
    CHECK(value == &cells[5]);
    for (int i = 0; i < 10; i++) {
        thrum_yield();
    }
    CHECK_EQ(thrum_sem_wait(&(thrum_sem)THRUM_SEM_INIT(1)), 0);
    count_destroyed(value);
}

static int set_one(void *arg) {
    (void)arg;
    return thrum_key_set(keys[0], &cells[5]);
}

TEST(destructors_may_suspend) {
    /* They run on the task's fiber. */
    rig r;
    rig_begin(&r, 0);
    make_keys(1, destroy_slowly);
    for (int i = 0; i < 50; i++) {
        rig_go(&r, set_one, NULL);
    }
    rig_stop(&r);
    CHECK_EQ(atomic_load(&destroyed), 50);
    delete_keys(1);
}

static void destroy_heap(void *value) {
    free(value);
    atomic_fetch_add(&destroyed, 1);
}

static int own_heap(void *arg) {
    for (int i = 0; i < 10; i++) {
        CHECK_EQ(thrum_key_set(keys[i], malloc(16)), 0);
    }
    thrum_yield();
    (void)arg;
    return 0;
}

TEST(destructors_free_what_tasks_own) {
    /* This is the usual use; nothing leaks. */
    rig r;
    rig_begin(&r, 0);
    make_keys(10, destroy_heap);
    for (int i = 0; i < 50; i++) {
        rig_go(&r, own_heap, NULL);
    }
    rig_stop(&r);
    CHECK_EQ(atomic_load(&destroyed), 500);
    delete_keys(10);
}

/* ---- creating and deleting ---- */

TEST(no_more_keys_than_the_limit) {
    /* The 65th is -EAGAIN, until one is deleted. */
    thrum_key extra;
    make_keys(THRUM_KEYS_MAX, NULL);
    CHECK_EQ(thrum_key_create(&extra, NULL), -EAGAIN);
    CHECK_EQ(thrum_key_delete(keys[17]), 0);
    CHECK_EQ(thrum_key_create(&keys[17], NULL), 0);
    CHECK_EQ(thrum_key_create(&extra, NULL), -EAGAIN);
    delete_keys(THRUM_KEYS_MAX);
}

TEST(key_that_does_not_exist_is_invalid) {
    /* Such a key was deleted twice, used after its end, or is a number out of range. */
    thrum_key key;
    const thrum_key wild = {UINT32_MAX};
    CHECK_EQ(thrum_key_create(NULL, NULL), -EINVAL);
    CHECK_EQ(thrum_key_create(&key, NULL), 0);
    CHECK_EQ(thrum_key_delete(key), 0);
    CHECK_EQ(thrum_key_delete(key), -EINVAL);
    CHECK_EQ(thrum_key_set(key, &cells[0]), -EINVAL);
    CHECK(thrum_key_get(key) == NULL);
    CHECK_EQ(thrum_key_delete(wild), -EINVAL);
    CHECK_EQ(thrum_key_set(wild, &cells[0]), -EINVAL);
    CHECK(thrum_key_get(wild) == NULL);
}

static int delete_and_recreate(void *arg) {
    (void)arg;
    CHECK_EQ(thrum_key_set(keys[3], &cells[3]), 0);
    CHECK_EQ(thrum_key_set(keys[7], &cells[7]), 0);
    CHECK_EQ(thrum_key_delete(keys[3]), 0);
    CHECK_EQ(thrum_key_delete(keys[7]), 0);
    CHECK(thrum_key_get(keys[3]) == NULL);
    /* the new ones may get any places */
    CHECK_EQ(thrum_key_create(&keys[3], count_destroyed), 0);
    CHECK_EQ(thrum_key_create(&keys[7], count_destroyed), 0);
    CHECK(thrum_key_get(keys[3]) == NULL);
    CHECK(thrum_key_get(keys[7]) == NULL);
    return 0;
}

TEST(values_of_a_deleted_key_are_forgotten) {
    /* A new key in its place begins with NULL, and the new destructor never sees the old value. */
    rig r;
    rig_begin(&r, 0);
    make_keys(10, count_destroyed);
    CHECK_EQ(rig_run(&r, delete_and_recreate, NULL), 0);
    CHECK_EQ(delete_and_recreate(NULL), 0); /* those of a plain thread, too */
    rig_stop(&r);
    CHECK_EQ(atomic_load(&destroyed), 0);
    delete_keys(10);
}

/* ---- plain threads ---- */

static void *thread_values(void *arg) {
    const crew_seat *seat = arg;
    for (int i = 0; i < 20; i++) {
        CHECK(thrum_key_get(keys[i]) == NULL);
        CHECK_EQ(thrum_key_set(keys[i], &cells[(seat->index + i) % THRUM_KEYS_MAX]), 0);
    }
    for (int i = 0; i < 20; i++) {
        CHECK(thrum_key_get(keys[i]) == &cells[(seat->index + i) % THRUM_KEYS_MAX]);
    }
    return NULL;
}

TEST(plain_threads_have_values) {
    /* Each has its own; they are not destroyed, and what holds them is not leaked. */
    crew c;
    make_keys(20, count_destroyed);
    for (int round = 0; round < 5; round++) {
        crew_start(&c, 8, thread_values, NULL);
        crew_join(&c);
    }
    CHECK(thrum_key_get(keys[0]) == NULL);
    CHECK_EQ(atomic_load(&destroyed), 0);
    delete_keys(20);
}

static void *create_and_delete(void *arg) {
    (void)arg;
    for (int i = 0; i < SCALED(2000); i++) {
        thrum_key key;
        CHECK_EQ(thrum_key_create(&key, NULL), 0);
        CHECK(thrum_key_get(key) == NULL);
        CHECK_EQ(thrum_key_set(key, &cells[1]), 0);
        CHECK(thrum_key_get(key) == &cells[1]);
        CHECK_EQ(thrum_key_delete(key), 0);
    }
    return NULL;
}

TEST(keys_are_made_and_deleted_by_many_threads) {
    /* Each thread gets keys of its own. */
    crew c;
    crew_start(&c, 8, create_and_delete, NULL);
    crew_join(&c);
}
