/*
 * sleep.c: sleeping, on fibers and on plain threads.
 */
/* matrix: policy workers */
/* matrix: quick 1 2 8 */
#include "support/support.h"

#define MS ((thrum_time)1000000)

/* Sleeps until an instant and records how late it was. */
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
    rig_begin(&r, 0);
    for (int i = 0; i < N; i++) {
        late[i] = -1;
        rig_go(&r, sleep_some, &late[i]);
    }
    rig_stop(&r);
    for (int i = 0; i < N; i++) {
        CHECK(late[i] >= 0);
    }
}

TEST(an_idle_scheduler_wakes_for_a_sleeper) {
    /* Nothing else happens: a worker must wake by itself. */
    thrum_time late = -1;
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, sleep_some, &late), 0);
    CHECK(late >= 0);
    rig_stop(&r);
}

TEST(a_plain_thread_sleeps) {
    /* Without any scheduler; what lies in the past is over at once. */
    thrum_time before = thrum_now();
    CHECK_EQ(thrum_sleep(2 * MS), 0);
    CHECK(thrum_now() - before >= 2 * MS);
    CHECK_EQ(thrum_sleep_until(before), 0);
    CHECK_EQ(thrum_sleep_until(0), 0);
    CHECK_EQ(thrum_sleep_until(INT64_MIN), 0);
    CHECK_EQ(thrum_sleep(-5), 0);
    CHECK_EQ(thrum_sleep(INT64_MIN), 0);
}

static int sleep_in_the_past(void *arg) {
    (void)arg;
    CHECK_EQ(thrum_sleep_until(thrum_now()), 0);
    CHECK_EQ(thrum_sleep_until(0), 0);
    CHECK_EQ(thrum_sleep_until(-1), 0);
    CHECK_EQ(thrum_sleep_until(INT64_MIN), 0);
    CHECK_EQ(thrum_sleep(0), 0);
    CHECK_EQ(thrum_sleep(INT64_MIN), 0);
    return 0;
}

TEST(a_fibers_sleep_in_the_past_is_over_at_once) {
    /* It may lie any distance back. */
    rig_do(0, sleep_in_the_past, NULL);
}

/* ---- in which order ---- */

typedef struct sleeper {
    order *log;
    int number;
    thrum_time until;
} sleeper;

static int sleep_and_log(void *arg) {
    sleeper *s = arg;
    CHECK_EQ(thrum_sleep_until(s->until), 0);
    CHECK(thrum_now() >= s->until);
    order_add(s->log, s->number);
    return 0;
}

/* Returns whether all slept before the first deadline; otherwise the order says nothing. */
static bool sleep_a_lot(order *log, thrum_time delay) {
    enum { N = 24 };
    static sleeper s[N];
    thrum_handle *handles[N];
    thrum_time base = thrum_after(delay);
    for (int i = 0; i < N; i++) {
        int at = i * 7 % N; /* the deadlines come in no order */
        s[i] = (sleeper){.log = log, .number = at, .until = base + at * MS / 10};
        CHECK_EQ(thrum_spawn(&handles[i], sleep_and_log, &s[i]), 0);
    }
    thrum_yield(); /* they go to sleep */
    bool asleep = thrum_now() < base;
    for (int i = 0; i < N; i++) {
        CHECK_EQ(thrum_join(handles[i], NULL), 0);
    }
    return asleep;
}

static int sleep_in_order(void *arg) {
    static order logs[16];
    int at = 0;
    (void)arg;
    while (!sleep_a_lot(&logs[at], (thrum_time)20 * MS << at)) { /* for very busy machines */
        CHECK(++at < (int)COUNT_OF(logs));
    }
    for (int i = 0; i < 24; i++) {
        CHECK_EQ(atomic_load(&logs[at].seen[i]), i);
    }
    return 0;
}

TEST(sleepers_of_one_worker_wake_in_the_order_of_their_deadlines) {
    /* They do so in whatever order they went to sleep. */
    rig r;
    rig_init(&r);
    r.config.workers = 1;
    rig_start(&r);
    CHECK_EQ(rig_run(&r, sleep_in_order, NULL), 0);
    rig_stop(&r);
}

/* ---- what is kept over a sleep ---- */

/* Not inlined: a compiler remembers errno's address across the sleep. */
static NO_TSAN __attribute__((noinline)) void errno_put(int value) {
    errno = value;
}

static NO_TSAN __attribute__((noinline)) int errno_look(void) {
    __asm__ volatile("" ::: "memory");
    return errno;
}

static int sleep_and_keep_errno(void *arg) {
    (void)arg;
    for (int i = 0; i < 20; i++) {
        errno_put(1000 + i);
        CHECK_EQ(thrum_sleep(MS / 20), 0);
        CHECK_EQ(errno_look(), 1000 + i);
    }
    return 0;
}

TEST(errno_is_kept_over_a_sleep) {
    /* This holds on a fiber, and on a plain thread. */
    rig_do(0, sleep_and_keep_errno, NULL);
    sleep_and_keep_errno(NULL);
}

static int sleep_pinned(void *arg) {
    int worker = (int)(intptr_t)arg;
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(thrum_sleep(MS / 5), 0);
        CHECK_EQ(thrum_worker_id(), worker);
    }
    return 0;
}

TEST(a_pinned_fiber_wakes_on_its_worker) {
    /* It wakes there whichever worker fires its deadline. */
    rig r;
    rig_begin(&r, 0);
    int workers = (int)thrum_sched_parallelism(r.sched);
    for (int i = 0; i < 2 * workers; i++) {
        thrum_attr attr = rig_attr(&r);
        attr.flags = THRUM_PINNED;
        attr.worker = i % workers;
        CHECK_EQ(thrum_go_with(&attr, sleep_pinned, (void *)(intptr_t)(i % workers)), 0);
    }
    rig_stop(&r);
}

static int sleep_for_ever(void *arg) {
    atomic_store((atomic_bool *)arg, true);
    CHECK_EQ(thrum_sleep_until(THRUM_FOREVER), -ECANCELED);
    CHECK_EQ(thrum_sleep(INT64_MAX), -ECANCELED);
    return 0;
}

TEST(a_sleep_for_ever_ends_by_a_cancel) {
    /* It has no deadline that could pass; a sleeper is cancelled like any waiter. */
    rig r;
    atomic_bool begun = false;
    thrum_handle *handle = NULL;
    rig_begin(&r, 0);
    const thrum_attr attr = rig_attr(&r);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, sleep_for_ever, &begun), 0);
    SPIN_UNTIL(atomic_load(&begun));
    CHECK_EQ(thrum_cancel(handle), 0);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    rig_stop(&r);
}
