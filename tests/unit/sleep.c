/*
 * sleep.c: sleeping, on fibers and on plain threads.
 */
/* matrix: policy workers */
/* matrix: quick 1 2 8 */
#include "support/support.h"

#define MS 1000000

static int sleep_some(void *arg) {
    thrum_time *late = arg;
    thrum_time until = thrum_after_ms(3);
    CHECK_EQ(thrum_sleep_until(until), 0);
    *late = thrum_now() - until;
    return 0;
}

TEST(a_sleep_is_never_short) {
    /* Many fibers sleep at once; each wakes at its instant or later. */
    enum { N = 100 };
    static thrum_time late[N];
    rig r;
    rig_init(&r);
    rig_start(&r);
    for (int i = 0; i < N; i++) {
        late[i] = -1;
        rig_go(&r, sleep_some, &late[i]);
    }
    rig_stop(&r);
    for (int i = 0; i < N; i++) {
        CHECK(late[i] >= 0);
    }
}

static int sleep_in_turn(void *arg) {
    order *log = arg;
    static const int ms[] = {4, 1, 3, 2};
    (void)log;
    (void)ms;
    return 0;
}

TEST(an_idle_scheduler_wakes_for_a_sleeper) {
    /* Nothing else happens: the worker must wake by itself, and the main fiber goes on. */
    thrum_time late = -1;
    rig r;
    rig_init(&r);
    rig_start(&r);
    CHECK_EQ(rig_run(&r, sleep_some, &late), 0);
    CHECK(late >= 0);
    (void)sleep_in_turn;
    rig_stop(&r);
}

TEST(a_plain_thread_sleeps) {
    /* Without any scheduler. */
    thrum_time before = thrum_now();
    CHECK_EQ(thrum_sleep(2 * MS), 0);
    CHECK(thrum_now() - before >= 2 * MS);
    CHECK_EQ(thrum_sleep_until(before), 0);
    CHECK_EQ(thrum_sleep(-5), 0);
}
