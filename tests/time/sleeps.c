/*
 * sleeps.c: sleeping, in tasks, on plain threads and on bound ones.
 */
/* matrix: policy workers */
#include "time/hours.h"

static void sleeps_to(thrum_time until) {
    CHECK_EQ(thrum_sleep_until(until), 0);
    CHECK_NOW(until);
}

static void sleeps_for(thrum_time ns) {
    const thrum_time until = thrum_after(ns);
    CHECK_EQ(thrum_sleep(ns), 0);
    CHECK_NOW(until);
}

static int sleeps_twice(void *arg) {
    (void)arg;
    sleeps_to(thrum_after(3 * HOUR));
    sleeps_for(2 * HOUR + 1);
    return 0;
}

static void sleeps_twice_on_thread(void *arg) {
    (void)sleeps_twice(arg);
}

TEST(a_sleep_ends_at_its_instant) {
    /* Many tasks sleep at once; and nothing else wakes a worker for the last one. */
    enum { N = 30 };
    thrum_handle *handles[N];
    for (int i = 0; i < N; i++) {
        CHECK_EQ(thrum_spawn(&handles[i], sleeps_twice, NULL), 0);
    }
    for (int i = 0; i < N; i++) {
        CHECK_EQ(thrum_join(handles[i], NULL), 0);
    }
    (void)sleeps_twice(NULL);
}

TEST(a_plain_thread_sleeps) {
    /* It needs no scheduler. */
    on_thread(sleeps_twice_on_thread, NULL);
}

static void sleeps_in_the_past(void *arg) {
    static const thrum_time instants[] = {INT64_MIN, -1, 0, 1};
    const thrum_time now = thrum_now();
    (void)arg;
    for (size_t i = 0; i < COUNT_OF(instants); i++) {
        CHECK_EQ(thrum_sleep_until(instants[i]), 0);
        CHECK_EQ(thrum_sleep(i < 3 ? instants[i] : -5), 0);
    }
    CHECK_EQ(thrum_sleep_until(now), 0);
    CHECK_NOW(now);
}

TEST(a_sleep_in_the_past_takes_no_time) {
    /* The instant may lie any distance back, in a task and on a plain thread. */
    sleeps_in_the_past(NULL);
    on_thread(sleeps_in_the_past, NULL);
}

/* ---- in which order ---- */

enum { SLEEPERS = 24 };
static thrum_time base;
static atomic_int woken;

static int sleeps_in_turn(void *arg) {
    const int turn = (int)(intptr_t)arg;
    sleeps_to(base + turn);
#ifdef TIME_IS_VIRTUAL
    CHECK_EQ(atomic_load(&woken), turn); /* the next deadline comes when all have run */
#endif
    atomic_fetch_add(&woken, 1);
    return 0;
}

TEST(sleepers_wake_in_the_order_of_their_deadlines) {
    /* They are a nanosecond apart, in whatever order they went to sleep. */
    thrum_handle *handles[SLEEPERS];
    base = thrum_after(HOUR);
    for (intptr_t i = 0; i < SLEEPERS; i++) {
        CHECK_EQ(thrum_spawn(&handles[i], sleeps_in_turn, (void *)(i * 7 % SLEEPERS)), 0);
    }
    for (int i = 0; i < SLEEPERS; i++) {
        CHECK_EQ(thrum_join(handles[i], NULL), 0);
    }
    CHECK_EQ(atomic_load(&woken), SLEEPERS);
    CHECK_NOW(base + SLEEPERS - 1);
}

/* ---- where, and until when ---- */

static int sleeps_pinned(void *arg) {
    const int worker = (int)(intptr_t)arg;
    for (int i = 0; i < 5; i++) {
        sleeps_for(HOUR);
        CHECK_EQ(thrum_worker_id(), worker);
    }
    return 0;
}

TEST(a_pinned_fiber_wakes_on_its_worker) {
    /* It wakes there whichever worker fires its deadline. */
    enum { EACH = 2, MOST = 64 };
    thrum_handle *handles[EACH * MOST];
    const int workers = (int)thrum_sched_parallelism(thrum_sched_current());
    CHECK(workers <= MOST);
    for (int i = 0; i < EACH * workers; i++) {
        thrum_attr attr = THRUM_ATTR_INIT;
        attr.flags = THRUM_PINNED;
        attr.worker = i % workers;
        CHECK_EQ(
            thrum_spawn_with(&handles[i], &attr, sleeps_pinned, (void *)(intptr_t)(i % workers)),
            0);
    }
    for (int i = 0; i < EACH * workers; i++) {
        CHECK_EQ(thrum_join(handles[i], NULL), 0);
    }
}

static int sleeps_for_ever(void *arg) {
    (void)arg;
    CHECK_EQ(thrum_sleep_until(THRUM_FOREVER), -ECANCELED);
    CHECK_EQ(thrum_sleep(INT64_MAX), -ECANCELED);
    return 0;
}

TEST(a_sleep_for_ever_ends_by_a_cancel) {
    /* It has no deadline that could pass; a sleeper is cancelled like any waiter. */
    thrum_handle *handle;
    CHECK_EQ(thrum_spawn(&handle, sleeps_for_ever, NULL), 0);
    sleeps_for(10 * HOUR);
    const thrum_time now = thrum_now();
    CHECK_EQ(thrum_cancel(handle), 0);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    CHECK_NOW(now);
}

/* ---- threads that are bound ---- */

static void sleeps_bound(void *arg) {
    for (unsigned workers = 0; workers < 3; workers++) {
        rig r;
        thrum_sem sem = THRUM_SEM_INIT(0);
        rig_init(&r);
        r.config.workers = workers;
        rig_start(&r);
        CHECK_EQ(thrum_sched_bind(r.sched), 0);
        (void)sleeps_twice(arg);
        for (int i = 0; i < 3; i++) {
            const thrum_time when = thrum_after(HOUR);
            CHECK_EQ(thrum_sem_wait_until(&sem, when), -ETIMEDOUT);
            CHECK_NOW(when);
        }
        thrum_handle *handles[SLEEPERS];
        for (int i = 0; i < SLEEPERS; i++) {
            CHECK_EQ(thrum_spawn(&handles[i], sleeps_twice, NULL), 0);
        }
        for (int i = 0; i < SLEEPERS; i++) {
            CHECK_EQ(thrum_join(handles[i], NULL), 0);
        }
        thrum_sem_post(&sem);
        CHECK_EQ(thrum_sem_wait_until(&sem, far_off()), 0);
        CHECK_EQ(thrum_sched_unbind(), 0);
        rig_stop(&r);
    }
}

TEST(a_bound_thread_sleeps_and_waits) {
    /* It does so in its scheduler, without workers and with them, as do the tasks there. */
    on_thread(sleeps_bound, NULL);
}
