/*
 * chan_favourite.c: a channel's lock has a favourite while one worker alone uses it
 * (sync/biased.h).
 */
/* matrix: policy workers */
/* matrix: quick 1 2 8 */
#include "support/chans.h"

#include "platform/faults.h"
#include "platform/platform.h"

enum { CAPACITY = 16 };

static uint32_t favourite(const thrum_chan *c) {
    return __atomic_load_n(&c->lock.xfavourite, __ATOMIC_RELAXED);
}

/* Fills and drains it until it has a favourite, or `rounds` are over. */
static bool use_alone(thrum_chan *c, int rounds) {
    for (int r = 0; r < rounds && favourite(c) == 0; r++) {
        uint64_t elem = 0;
        for (uint64_t i = 0; i < CAPACITY; i++) {
            CHECK_EQ(thrum_chan_send(c, &i), 0);
        }
        for (uint64_t i = 0; i < CAPACITY; i++) {
            CHECK_EQ(thrum_chan_recv(c, &elem), 0);
            CHECK_EQ(elem, i);
        }
    }
    return favourite(c) != 0;
}

static void skip_where_nothing_orders(void) {
    if (th_os_barrier_start() != 0) {
        CHECK_SKIP("the system cannot order processors");
    }
}

/* A channel has room for two favourites; here it is one thread each time. */
static void begin_one(rig *r) {
    rig_init(r);
    r->config.workers = 1;
    rig_start(r);
}

static int become_favourite(void *chan) {
    CHECK(use_alone(chan, 2000));
    /* it goes on as before */
    uint64_t elem = 7;
    CHECK_EQ(thrum_chan_send(chan, &elem), 0);
    CHECK_EQ(thrum_chan_recv(chan, &elem), 0);
    CHECK_EQ(elem, 7);
    CHECK(favourite(chan) != 0);
    elem = 8;
    CHECK_EQ(thrum_chan_send(chan, &elem), 0); /* for whoever comes next */
    return 0;
}

TEST(another_thread_revokes_a_favourite) {
    /* A refused barrier is asked for again: the other thread gets in, and what was sent. */
    skip_where_nothing_orders();
    rig r;
    thrum_chan *c;
    CHECK_EQ(thrum_chan_create(&c, sizeof(uint64_t), CAPACITY), 0);
    begin_one(&r);
    CHECK_EQ(rig_run(&r, become_favourite, c), 0);
    CHECK(favourite(c) != 0);
    th_os_fail_barrier(0, 3);
    uint64_t elem = 0;
    CHECK_EQ(thrum_chan_recv(c, &elem), 0);
    CHECK_EQ(elem, 8);
    CHECK_EQ(favourite(c), 0);
    CHECK_EQ(th_os_fails_left(TH_OS_FAULT_BARRIER), 0);
    th_os_fail_barrier(0, UINT32_MAX);
    CHECK_EQ(thrum_chan_send(c, &elem), 0); /* nobody is in the way any more */
    CHECK_EQ(th_os_fails_left(TH_OS_FAULT_BARRIER), UINT32_MAX);
    th_os_fail_barrier(0, 0);
    rig_stop(&r);
    CHECK_EQ(thrum_chan_destroy(c), 0);
}

static int become_none(void *chan) {
    CHECK(!use_alone(chan, 2000));
    return 0;
}

TEST(a_favourite_is_revoked_though_the_barrier_is_refused_for_good) {
    /* A sandbox entered meanwhile: it takes longer, once. */
    skip_where_nothing_orders();
    rig r;
    thrum_chan *c;
    CHECK_EQ(thrum_chan_create(&c, sizeof(uint64_t), CAPACITY), 0);
    begin_one(&r);
    /* The 10 ms do not count as the favourite's time; but for a preemption here once is enough. */
    for (int i = 0; i < 100 && c->price.needed == 0; i++) {
        uint64_t elem = 0;
        CHECK_EQ(rig_run(&r, become_favourite, c), 0);
        th_os_fail_barrier(0, UINT32_MAX);
        c->price.since = th_os_ticks();
        CHECK_EQ(thrum_chan_recv(c, &elem), 0);
        CHECK_EQ(elem, 8);
        CHECK(th_os_fails_left(TH_OS_FAULT_BARRIER) < UINT32_MAX); /* it was asked for */
        CHECK_EQ(favourite(c), 0);
        if (c->price.needed == 0) {
            th_os_fail_barrier(0, 0);
        }
    }
    CHECK_EQ(c->price.needed, 3);
    CHECK_EQ(rig_run(&r, become_none, c), 0); /* who could not be revoked does not become it */
    th_os_fail_barrier(0, 0);
    CHECK_EQ(rig_run(&r, become_favourite, c), 0); /* until it works again */
    rig_stop(&r);
    CHECK_EQ(thrum_chan_destroy(c), 0);
}

TEST(there_is_none_where_nothing_orders) {
    /* Without the barrier nobody could be revoked. */
    rig r;
    thrum_chan *c;
    CHECK_EQ(thrum_chan_create(&c, sizeof(uint64_t), CAPACITY), 0);
    th_os_fail_barrier(0, UINT32_MAX);
    rig_begin(&r, 0);
    th_os_fail_barrier(0, 0);
    CHECK_EQ(rig_run(&r, become_none, c), 0);
    rig_stop(&r);
    CHECK_EQ(thrum_chan_destroy(c), 0);
}

TEST(plain_threads_are_none) {
    /* A thread that is no worker may end at any time, and starts no scheduler that asks. */
    thrum_chan *c;
    CHECK_EQ(thrum_chan_create(&c, sizeof(uint64_t), CAPACITY), 0);
    CHECK(!use_alone(c, 2000));
    CHECK_EQ(thrum_chan_destroy(c), 0);
}

static int take_long(void *chan) {
    CHECK(!use_alone(chan, 480)); /* 15,360 uses */
    CHECK(use_alone(chan, 2000));
    return 0;
}

TEST(who_does_not_last_is_tried_less) {
    /* Each favourite that is revoked at once makes the next one take four times as long. */
    skip_where_nothing_orders();
    rig r;
    thrum_chan *c;
    CHECK_EQ(thrum_chan_create(&c, sizeof(uint64_t), CAPACITY), 0);
    begin_one(&r);
    for (int i = 0; i < 100 && c->price.needed == 0; i++) { /* but for a preemption here: once */
        uint64_t elem = 0;
        CHECK_EQ(rig_run(&r, become_favourite, c), 0);
        c->price.since = th_os_ticks(); /* however long the way back took */
        CHECK_EQ(thrum_chan_try_recv(c, &elem), 0);
    }
    CHECK_EQ(c->price.needed, 3);
    CHECK_EQ(rig_run(&r, take_long, c), 0);
    rig_stop(&r);
    CHECK_EQ(thrum_chan_destroy(c), 0);
}

static int pass_on(void *chan) {
    uint64_t elem = 0;
    for (int i = 0; i < 40000; i++) {
        CHECK_EQ(thrum_chan_recv(chan, &elem), 0);
    }
    return 0;
}

static int meet(void *chan) {
    thrum_handle *handle = NULL;
    CHECK_EQ(thrum_spawn(&handle, pass_on, chan), 0);
    for (uint64_t i = 0; i < 40000; i++) {
        CHECK_EQ(thrum_chan_send(chan, &i), 0);
    }
    CHECK_EQ(thrum_join(handle, NULL), 0);
    return 0;
}

TEST(who_waits_all_the_time_is_none) {
    /* A buffer of one: every other call waits, which costs far more than the lock. */
    rig r;
    thrum_chan *c;
    CHECK_EQ(thrum_chan_create(&c, sizeof(uint64_t), 1), 0);
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, meet, c), 0);
    CHECK_EQ(favourite(c), 0);
    rig_stop(&r);
    CHECK_EQ(thrum_chan_destroy(c), 0);
}
