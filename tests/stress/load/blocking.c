/*
 * blocking.c: storms of calls that block the thread.
 */
/* matrix: policy workers */
#include "support/support.h"

typedef struct calls {
    rig *r;
    int rounds;
    atomic_int begun, inside, most;
} calls;

static int call(void *arg) {
    calls *c = arg;
    const int inside = atomic_fetch_add(&c->inside, 1) + 1;
    int most = atomic_load(&c->most);
    while (most < inside && !atomic_compare_exchange_weak(&c->most, &most, inside)) {
    }
    CHECK_EQ(thrum_worker_id(), -1); /* a plain thread's code */
    CHECK(thrum_sched_current() == NULL);
    atomic_fetch_sub(&c->inside, 1);
    return atomic_fetch_add(&c->begun, 1);
}

static int call_often(void *arg) {
    calls *c = arg;
    for (int i = 0; i < c->rounds; i++) {
        int result = -1;
        CHECK_EQ(thrum_blocking(call, c, &result), 0);
        CHECK(result >= 0);
        if (i % 8 == 0) {
            thrum_yield();
        }
    }
    return 0;
}

static void check_calls(unsigned threads_max, thrum_time keepalive, int fibers, int rounds) {
    rig r;
    calls c = {.r = &r, .rounds = rounds};
    rig_init(&r);
    r.config.blocking_threads_max = threads_max;
    r.config.blocking_keepalive = keepalive;
    rig_start(&r);
    for (int i = 0; i < fibers; i++) {
        rig_go(&r, call_often, &c);
    }
    rig_stop(&r);
    CHECK_EQ(atomic_load(&c.begun), fibers * rounds);
    CHECK(atomic_load(&c.most) <= (int)threads_max);
}

TEST(many_fibers_few_threads) {
    /* All calls wait their turn, and get it. */
    check_calls(2, 10000000000, 100, SCALED(100));
}

TEST(threads_come_and_go) {
    /* With a keep-alive of nothing each thread leaves when it is idle, and the next call needs one.
     */
    check_calls(4, 0, 20, SCALED(150));
}

TEST(more_threads_than_needed) {
    /* The limit is the default one; as many calls as fibers go on at once. */
    check_calls(256, 10000000000, 60, SCALED(100));
}

/* ---- calls that use primitives ---- */

typedef struct meeting {
    thrum_mutex mutex;
    thrum_cond cond;
    thrum_sem sem;
    int waiting, wanted; /* protected by mutex */
    long sum;            /* protected by mutex */
} meeting;

static int meet(void *arg) {
    meeting *m = arg;
    thrum_mutex_lock(&m->mutex);
    m->sum++;
    if (++m->waiting == m->wanted) {
        thrum_cond_broadcast(&m->cond);
    }
    while (m->waiting < m->wanted) {
        CHECK_EQ(thrum_cond_wait(&m->cond, &m->mutex), 0);
    }
    thrum_mutex_unlock(&m->mutex);
    return 7;
}

static int meet_on_pool(void *arg) {
    int result = 0;
    CHECK_EQ(thrum_blocking(meet, arg, &result), 0);
    CHECK_EQ(result, 7);
    return 0;
}

static int meet_in_fiber(void *arg) {
    CHECK_EQ(meet(arg), 7);
    return 0;
}

TEST(calls_and_fibers_meet) {
    /* Threads of the pool and fibers wait for each other on one condition. */
    rig r;
    rig_begin(&r, 0);
    for (int i = 0; i < SCALED(200); i++) {
        meeting m = {.mutex = THRUM_MUTEX_INIT, .cond = THRUM_COND_INIT, .wanted = 24};
        for (int k = 0; k < 12; k++) {
            rig_go(&r, meet_on_pool, &m);
            rig_go(&r, meet_in_fiber, &m);
        }
        rig_wait_done(&r);
        CHECK_EQ(m.sum, 24);
    }
    rig_stop(&r);
}

static int stop_pool(void *arg) {
    (void)arg;
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(thrum_blocking(meet, &(meeting){.wanted = 1}, NULL), 0);
    }
    return 0;
}

TEST(pools_are_stopped_with_their_scheduler) {
    /* A stop takes the pool's threads away, whatever they are doing. */
    const int rounds = SCALED(check_env("THRUM_WORKERS", 2) > 8 ? 30 : 300);
    for (int i = 0; i < rounds; i++) {
        rig r;
        rig_init(&r);
        r.config.blocking_keepalive = i % 2 == 0 ? 0 : 10000000000;
        rig_start(&r);
        for (int k = 0; k < 4; k++) {
            rig_go(&r, stop_pool, NULL);
        }
        rig_stop(&r);
    }
}
