/*
 * deadlock_looks.c: the thread that looks twice before it tells that nothing can go on
 * (core/inspect/DEADLOCK.md, "The second look"). The other tests of deadlocks have no such thread.
 */
/* matrix: policy workers */
/* matrix: quick 1 2 4 */
#include "platform/platform.h"
#include "support/reports.h"

#define INTERVAL_MS 5

/* A scheduler whose watcher looks often. */
static void looked_at_begin(rig *r, unsigned interval_ms) {
    th_watch_interval = interval_ms * 1000000ll;
    watched_begin(r);
    things_init();
    atomic_store(&reports, 0);
}

static void looked_at_end(rig *r) {
    things_end();
    rig_stop(r);
}

/* Waits asleep, as a thread that a scheduler is to take for one that does nothing. */
static void sleep_until_told(int n) {
    while (atomic_load(&reports) < n) {
        usleep(1000);
    }
}

TEST(told_once_by_the_second_look) {
    /* Again only after something has run. */
    rig r;
    looked_at_begin(&r, INTERVAL_MS);
    thrum_handle *deadlocked = spawn_named(&r, "stuck", waits_for_later, NULL);
    sleep_until_told(1);
    check_told("\": 1 waits, nothing runs, no deadline is pending\n");
    check_told("\"stuck\" waits for semaphore 0x");
    for (int round = 2; round < 4; round++) {
        usleep(10 * INTERVAL_MS * 1000);
        CHECK_EQ(atomic_load(&reports), round - 1);
        CHECK_EQ(rig_run(&r, nothing, NULL), 0);
        sleep_until_told(round);
    }
    thrum_sem_post(&it.sem);
    join(deadlocked, 0);
    looked_at_end(&r);
    CHECK_EQ(atomic_load(&reports), 3);
}

TEST(not_told_while_a_thread_that_may_post_runs) {
    /* It computes while some looks are made, fewer than it is waited for, and then posts. */
    enum { LONG_MS = 4 * INTERVAL_MS };
    rig r;
    NEEDS_STATES_OF_THREADS();
    looked_at_begin(&r, LONG_MS);
    for (int i = 0; i < 5; i++) {
        thrum_handle *waiter = spawn_named(&r, "waiter", waits_for_later, NULL);
        const thrum_time until = thrum_after_ms(4 * LONG_MS);
        while (thrum_now() < until) {
        }
        thrum_sem_post(&it.sem);
        join(waiter, 0);
    }
    CHECK_EQ(atomic_load(&reports), 0);
    looked_at_end(&r);
}

TEST(told_at_last_though_a_thread_computes) {
    /* One that does nothing else, and never sleeps, is not waited for without end. */
    rig r;
    looked_at_begin(&r, INTERVAL_MS);
    thrum_handle *deadlocked = spawn_named(&r, "stuck", waits_for_later, NULL);
    while (atomic_load(&reports) == 0) {
    }
    check_told("\"stuck\" waits for semaphore 0x");
    thrum_sem_post(&it.sem);
    join(deadlocked, 0);
    looked_at_end(&r);
}

static int locks_it(void *arg) {
    (void)arg;
    thrum_mutex_lock(&it.mutex);
    thrum_mutex_unlock(&it.mutex);
    return 0;
}

static void *takes_and_waits(void *arg) {
    rig *r = arg;
    rig_go(r, nothing, NULL); /* the scheduler knows the thread */
    thrum_mutex_lock(&it.mutex);
    thrum_handle *waiter = spawn_named(r, "waiter", locks_it, NULL);
    usleep(10 * INTERVAL_MS * 1000); /* all workers have long gone to sleep */
    CHECK_EQ(thrum_sem_wait(&it.sem), 0);
    thrum_mutex_unlock(&it.mutex);
    join(waiter, 0);
    return NULL;
}

TEST(an_owner_that_begins_to_wait_later_is_found) {
    /* A plain thread has the mutex, and waits for ever after the workers have gone to sleep. */
    rig r;
    pthread_t thread;
    looked_at_begin(&r, INTERVAL_MS);
    CHECK_EQ(pthread_create(&thread, NULL, takes_and_waits, &r), 0);
    sleep_until_told(1);
    check_told("\"waiter\" waits for mutex 0x");
    thrum_sem_post(&it.sem);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    looked_at_end(&r);
    CHECK_EQ(atomic_load(&reports), 1);
}

static void *posts_once_told(void *seat) {
    (void)seat;
    sleep_until_told(1);
    thrum_sem_post(&it.sem);
    return NULL;
}

TEST(bound_threads_are_looked_at_as_well) {
    /* One that runs its own code is not told; when it waits it is, without workers too. */
    for (int none = 0; none < 2; none++) {
        rig r;
        crew c;
        th_watch_interval = INTERVAL_MS * 1000000ll;
        watched_init(&r);
        r.config.workers = none ? 0 : r.config.workers;
        rig_start(&r);
        things_init();
        atomic_store(&reports, 0);
        CHECK_EQ(thrum_sched_bind(r.sched), 0);
        thrum_handle *deadlocked = spawn_named(&r, "stuck", waits_for_later, NULL);
        CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
        usleep(10 * INTERVAL_MS * 1000);
        CHECK_EQ(atomic_load(&reports), 0);
        crew_start(&c, 1, posts_once_told, NULL);
        join(deadlocked, 0);
        check_told("\": 2 wait, nothing runs");
        crew_join(&c);
        CHECK_EQ(thrum_sched_unbind(), 0);
        CHECK_EQ(atomic_load(&reports), 1);
        looked_at_end(&r);
    }
}
