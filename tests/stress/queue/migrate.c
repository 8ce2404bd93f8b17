/*
 * migrate.c: fibers move between workers, and take all that is theirs with them.
 */
/* matrix: policy workers */
#include "support/support.h"

#define TRAVELLERS 64

static int limit;
static atomic_int arrived;

static int nothing(void *arg) {
    (void)arg;
    return 0;
}

/* Waits until it has come to another worker: a fiber that an external thread wakes goes on on any
 * worker. */
static int travel(void *arg) {
    const int home = thrum_worker_id();
    (void)arg;
    while (thrum_worker_id() == home) {
        CHECK_EQ(thrum_blocking(nothing, NULL, NULL), 0);
    }
    atomic_fetch_add(&arrived, 1);
    return 0;
}

static void need_two_workers(void) {
    if (check_env("THRUM_WORKERS", 2) < 2) {
        CHECK_SKIP("one worker has nowhere to move to");
    }
}

TEST(woken_fibers_see_several_workers) {
    /* Each fiber of a crowd comes to a second worker. */
    rig r;
    need_two_workers();
    rig_begin(&r, 0);
    for (int i = 0; i < TRAVELLERS; i++) {
        rig_go(&r, travel, NULL);
    }
    rig_stop(&r);
    CHECK_EQ(atomic_load(&arrived), TRAVELLERS);
}

/* ---- what fibers take along ---- */

static NO_TSAN __attribute__((noinline)) void set_errno(int value) {
    __asm__ volatile("" ::: "memory");
    errno = value;
}

static NO_TSAN __attribute__((noinline)) int get_errno(void) {
    __asm__ volatile("" ::: "memory");
    return errno;
}

static thrum_key key;
static atomic_int destroyed;

static void destroy(void *value) {
    (void)value;
    atomic_fetch_add(&destroyed, 1);
}

static int carry(void *arg) {
    const int me = (int)(intptr_t)arg;
    char name[32];
    thrum_mutex mutex = THRUM_MUTEX_INIT;
    volatile double sum = 0; /* floating point goes along, too */
    int values[32];
    snprintf(name, sizeof(name), "fiber %d", me);
    CHECK_EQ(thrum_set_name(name), 0);
    CHECK_EQ(thrum_key_set(key, values), 0);
    thrum_mutex_lock(&mutex);
    set_errno(me + 1);
    for (int i = 0; i < 32; i++) {
        values[i] = me * 100 + i;
    }
    for (int i = 0; i < limit; i++) {
        thrum_yield();
        sum += 0.5;
        CHECK_STR(thrum_name(), name);
        CHECK(thrum_key_get(key) == values);
        CHECK_EQ(get_errno(), me + 1);
        CHECK_EQ(values[i % 32], me * 100 + i % 32);
        CHECK_EQ(thrum_mutex_try_lock(&mutex),
                 -EBUSY); /* the unlock checks that its owner calls it */
    }
    thrum_mutex_unlock(&mutex);
    CHECK(sum == 0.5 * limit);
    return 0;
}

TEST(fibers_carry_what_is_theirs) {
    /* A fiber keeps its name, values, errno, stack, and the locks that it owns. */
    rig r;
    limit = SCALED(500);
    CHECK_EQ(thrum_key_create(&key, destroy), 0);
    rig_begin(&r, 0);
    for (int i = 0; i < 100; i++) {
        rig_go(&r, carry, (void *)(intptr_t)i);
    }
    rig_stop(&r);
    CHECK_EQ(atomic_load(&destroyed), 100);
    CHECK_EQ(thrum_key_delete(key), 0);
}

/* ---- pinned among the free ---- */

static int stay_put(void *arg) {
    const int worker = thrum_worker_id();
    for (int i = 0; i < limit; i++) {
        thrum_yield();
        CHECK_EQ(thrum_worker_id(), worker);
    }
    (void)arg;
    return 0;
}

TEST(pinned_fibers_stay_among_free_ones) {
    /* Pinned fibers stay while others move around them. */
    rig r;
    limit = SCALED(1000);
    CHECK_EQ(thrum_key_create(&key, NULL), 0);
    rig_begin(&r, 0);
    thrum_attr attr = rig_attr(&r);
    attr.flags = THRUM_PINNED;
    for (int i = 0; i < 40; i++) {
        attr.worker = i % (int)thrum_sched_parallelism(r.sched);
        CHECK_EQ(thrum_go_with(&attr, stay_put, NULL), 0);
        rig_go(&r, carry, (void *)(intptr_t)i);
    }
    rig_stop(&r);
    CHECK_EQ(thrum_key_delete(key), 0);
}
