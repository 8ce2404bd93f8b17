/*
 * recursive.c: the mutex that its owner may lock again, by fibers and by plain threads.
 */
/* matrix: policy workers */
#include "support/sync/actors.h"
#include "support/times.h"

TEST(the_owner_locks_again) {
    /* By each call; the last unlock frees it. */
    thrum_recursive lock = THRUM_RECURSIVE_INIT;
    thrum_recursive_lock(&lock);
    thrum_recursive_lock(&lock);
    CHECK_EQ(thrum_recursive_try_lock(&lock), 0);
    CHECK_EQ(thrum_recursive_lock_until(&lock, past()), 0);
    for (int i = 0; i < 3; i++) {
        thrum_recursive_unlock(&lock);
        CHECK_EQ(thrum_mutex_destroy(&lock.inner), -EBUSY);
    }
    thrum_recursive_unlock(&lock);
    CHECK_EQ(thrum_mutex_destroy(&lock.inner), 0);
}

typedef struct stage {
    thrum_recursive lock;
    int depth, plain, twin;
} stage;

/* Holds the mutex at each level, and gives its worker up in the middle. */
static void descend(stage *s, int levels) {
    thrum_recursive_lock(&s->lock);
    CHECK_EQ(++s->depth, levels == 4 ? 1 : 5 - levels);
    s->plain++;
    if (levels > 1) {
        descend(s, levels - 1);
    } else {
        thrum_yield();
    }
    s->twin++;
    s->depth--;
    thrum_recursive_unlock(&s->lock);
}

static int descends(void *arg) {
    stage *s = ((actor *)arg)->arg;
    for (int i = 0; i < 20; i++) {
        descend(s, 4);
        if (thrum_recursive_lock_until(&s->lock, far_off()) == 0) {
            CHECK_EQ(s->plain, s->twin);
            thrum_recursive_unlock(&s->lock);
        }
    }
    return 0;
}

TEST(others_wait_for_all_locks) {
    /* Tasks and threads: while one holds it at any depth, no other one is inside. */
    enum { TASKS = 12, THREADS = 3 };
    rig r;
    rig_begin(&r, 0);
    stage s = {.lock = THRUM_RECURSIVE_INIT};
    cast *c = cast_new(&r);
    cast_add_mixed(c, TASKS, THREADS, descends, &s);
    cast_join(c);
    CHECK_EQ(s.plain, (TASKS + THREADS) * 20 * 4);
    CHECK_EQ(s.twin, s.plain);
    CHECK_EQ(thrum_mutex_destroy(&s.lock.inner), 0);
    rig_stop(&r);
}

static int finds_it_held(void *arg) {
    CHECK_EQ(thrum_recursive_try_lock(arg), -EBUSY);
    CHECK_EQ(thrum_recursive_lock_until(arg, soon()), -ETIMEDOUT);
    return 0;
}

TEST(another_caller_is_refused) {
    /* At once, or at its deadline. */
    thrum_recursive lock = THRUM_RECURSIVE_INIT;
    thrum_recursive_lock(&lock);
    rig_do(0, finds_it_held, &lock);
    thrum_recursive_unlock(&lock);
}

static void unlock_free(void *arg) {
    thrum_recursive_unlock(arg);
}

static int unlock_anothers(void *arg) {
    thrum_recursive_unlock(arg);
    return 0;
}

static void unlock_in_fiber(void *arg) {
    thrum_recursive_lock(arg);
    rig_do(1, unlock_anothers, arg);
}

TEST(only_the_owner_unlocks) {
    /* Otherwise a line names the call. */
    thrum_recursive lock = THRUM_RECURSIVE_INIT;
    static const char line[] = "thrum_recursive_unlock: not held by the caller";
    check_dies(unlock_free, &lock, line);
    check_dies(unlock_in_fiber, &lock, line);
}
