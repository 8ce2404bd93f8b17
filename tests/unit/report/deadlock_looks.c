/*
 * deadlock_looks.c: the thread that looks twice before it tells that nothing can go on
 * (core/watch/DEADLOCK.md, "The second look"). The other tests of deadlocks have no such thread.
 */
/* matrix: policy workers */
/* wrap: th_deadlock_look */
#include "core/watch/deadlock.h"
#include "platform/platform.h"
#include "support/report/reports.h"

/* ---- the looks ---- */

static pthread_mutex_t look_lock = PTHREAD_MUTEX_INITIALIZER; /* guards what follows */
static pthread_cond_t looked = PTHREAD_COND_INITIALIZER;      /* or it may be looked again */
static int looks;                                             /* how many have been made */
static atomic_int suspects;        /* how many of them found that nothing can go on */
static int suspects_max = INT_MAX; /* there is no look beyond these */

bool __real_th_deadlock_look(thrum_sched *sched, th_suspicion *suspicion);
bool __wrap_th_deadlock_look(thrum_sched *sched, th_suspicion *suspicion);

bool __wrap_th_deadlock_look(thrum_sched *sched, th_suspicion *suspicion) {
    pthread_mutex_lock(&look_lock);
    while (atomic_load(&suspects) >= suspects_max) {
        pthread_cond_wait(&looked, &look_lock);
    }
    pthread_mutex_unlock(&look_lock);
    const bool suspect = __real_th_deadlock_look(sched, suspicion);
    pthread_mutex_lock(&look_lock);
    looks++;
    atomic_fetch_add(&suspects, suspect);
    pthread_cond_broadcast(&looked);
    pthread_mutex_unlock(&look_lock);
    return suspect;
}

/* Waits asleep, as a thread that a scheduler is to take for one that does nothing. */
#define SLEEP_UNTIL(cond)                                                                          \
    do {                                                                                           \
        pthread_mutex_lock(&look_lock);                                                            \
        while (!(cond)) {                                                                          \
            pthread_cond_wait(&looked, &look_lock);                                                \
        }                                                                                          \
        pthread_mutex_unlock(&look_lock);                                                          \
    } while (0)

static void sleep_until_told(int n) {
    SLEEP_UNTIL(atomic_load(&reports) >= n);
}

/* Sleeps while some looks are made from beginning to end. */
static void sleep_through_looks(void) {
    pthread_mutex_lock(&look_lock);
    const int enough = looks + 3;
    pthread_mutex_unlock(&look_lock);
    SLEEP_UNTIL(looks >= enough);
}

static void limit_suspects(int max) {
    pthread_mutex_lock(&look_lock);
    atomic_store(&suspects, 0);
    suspects_max = max;
    pthread_cond_broadcast(&looked);
    pthread_mutex_unlock(&look_lock);
}

/* ---- what is looked at ---- */

/* A scheduler whose watcher looks often. */
static void looked_at_begin(rig *r) {
    th_watch_interval = 5000000;
    watched_begin(r);
    things_init();
    atomic_store(&reports, 0);
}

static void looked_at_end(rig *r) {
    things_end();
    rig_stop(r);
}

TEST(told_once_by_the_second_look) {
    /* Again only after something has run. */
    rig r;
    looked_at_begin(&r);
    thrum_handle *deadlocked = spawn_named(&r, "stuck", waits_for_later, NULL);
    sleep_until_told(1);
    check_told("\": 1 waits, nothing runs, no deadline is pending\n");
    check_told("\"stuck\" waits for semaphore 0x");
    for (int round = 2; round < 4; round++) {
        sleep_through_looks();
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
    enum { SOME = 5 };
    rig r;
    NEEDS_STATES_OF_THREADS();
    looked_at_begin(&r);
    for (int i = 0; i < 5; i++) {
        limit_suspects(SOME); /* so that it has not been waited for too long, however slow it is */
        thrum_handle *waiter = spawn_named(&r, "waiter", waits_for_later, NULL);
        while (atomic_load(&suspects) < SOME) {
        }
        thrum_sem_post(&it.sem);
        join(waiter, 0);
    }
    limit_suspects(INT_MAX);
    looked_at_end(&r);
    CHECK_EQ(atomic_load(&reports), 0);
}

TEST(told_at_last_though_a_thread_computes) {
    /* One that does nothing else, and never sleeps, is not waited for without end. */
    rig r;
    looked_at_begin(&r);
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
    sleep_through_looks(); /* all workers have long gone to sleep */
    CHECK_EQ(thrum_sem_wait(&it.sem), 0);
    thrum_mutex_unlock(&it.mutex);
    join(waiter, 0);
    return NULL;
}

TEST(an_owner_that_begins_to_wait_later_is_found) {
    /* A plain thread has the mutex, and waits for ever after the workers have gone to sleep. */
    rig r;
    pthread_t thread;
    looked_at_begin(&r);
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
        th_watch_interval = 5000000;
        watched_init(&r);
        r.config.workers = none ? 0 : r.config.workers;
        rig_start(&r);
        things_init();
        atomic_store(&reports, 0);
        CHECK_EQ(thrum_sched_bind(r.sched), 0);
        thrum_handle *deadlocked = spawn_named(&r, "stuck", waits_for_later, NULL);
        CHECK_EQ(thrum_sched_wait_idle(r.sched, THRUM_FOREVER), 0);
        sleep_through_looks();
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
