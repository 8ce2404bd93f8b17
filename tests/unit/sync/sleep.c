/*
 * sleep.c: sleeping, on fibers and on plain threads.
 */
/* matrix: policy workers */
/* wrap: th_os_now */
#include "support/support.h"

#include "support/sync/stopped_clock.h"
#include "support/times.h"

/* Sleeps until an instant, which may have passed: it does not wake earlier. */
static void sleep_to(thrum_time until) {
    CHECK_EQ(thrum_sleep_until(until), 0);
    CHECK_PASSED(until);
}

/* Sleeps for a time, which may be none. */
static void sleep_span(int64_t ns) {
    const thrum_time until = thrum_after(ns);
    CHECK_EQ(thrum_sleep(ns), 0);
    CHECK_PASSED(until);
}

static int sleep_some(void *arg) {
    sleep_to(soon());
    sleep_span(1000000);
    atomic_fetch_add((atomic_int *)arg, 1);
    return 0;
}

TEST(a_sleep_is_never_short) {
    /* Many fibers sleep at once; each wakes at its instant or later. */
    enum { N = 100 };
    atomic_int woken = 0;
    rig r;
    rig_begin(&r, 0);
    for (int i = 0; i < N; i++) {
        rig_go(&r, sleep_some, &woken);
    }
    rig_stop(&r);
    CHECK_EQ(atomic_load(&woken), N);
}

TEST(an_idle_scheduler_wakes_for_a_sleeper) {
    /* Nothing else happens: a worker must wake by itself. */
    atomic_int woken = 0;
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, sleep_some, &woken), 0);
    CHECK_EQ(atomic_load(&woken), 1);
    rig_stop(&r);
}

static int sleep_in_the_past(void *arg) {
    (void)arg;
    sleep_to(past());
    sleep_to(0);
    sleep_to(-1);
    sleep_to(INT64_MIN);
    sleep_span(0);
    sleep_span(-5);
    sleep_span(INT64_MIN);
    return 0;
}

TEST(a_plain_thread_sleeps) {
    /* Without any scheduler; what lies in the past is over at once. */
    atomic_int woken = 0;
    CHECK_EQ(sleep_some(&woken), 0);
    CHECK_EQ(sleep_in_the_past(NULL), 0);
}

TEST(a_fibers_sleep_in_the_past_is_over_at_once) {
    /* It may lie any distance back. */
    rig_do(0, sleep_in_the_past, NULL);
}

/* ---- in which order ---- */

typedef struct sleeper {
    order *log;
    atomic_int *begun;
    int number;
    thrum_time until;
} sleeper;

static int sleep_and_log(void *arg) {
    sleeper *s = arg;
    atomic_fetch_add(s->begun, 1);
    sleep_to(s->until);
    order_add(s->log, s->number);
    return 0;
}

/* The worker's clock stands until all sleep: no deadline passes before. */
static int sleep_in_order(void *arg) {
    enum { N = 24, APART_NS = 100000 };
    static sleeper s[N];
    static order log;
    static atomic_int begun;
    thrum_handle *handles[N];
    const thrum_time base = clock_stop();
    (void)arg;
    for (int i = 0; i < N; i++) {
        const int at = i * 7 % N; /* the deadlines come in no order */
        s[i] = (sleeper){&log, &begun, at, base + (1 + at) * (thrum_time)APART_NS};
        CHECK_EQ(thrum_spawn(&handles[i], sleep_and_log, &s[i]), 0);
    }
    YIELD_UNTIL(atomic_load(&begun) == N);
    CHECK_EQ(atomic_load(&log.count), 0);
    clock_set(0);
    for (int i = 0; i < N; i++) {
        CHECK_EQ(thrum_join(handles[i], NULL), 0);
    }
    order_check_counts_up(&log, N);
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
        nap();
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
        nap();
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
