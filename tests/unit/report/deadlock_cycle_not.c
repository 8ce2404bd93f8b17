/*
 * deadlock_cycle_not.c: no cycle is told of waits that end by themselves, or that change while
 * they are looked at.
 */
/* matrix: policy workers */
#include "support/report/dumped.h"
#include "support/support.h"
#include "support/times.h"

static const char none[] = "\"deadlock\": [],\n";

/* Fails the test if a dump tells a cycle now. */
static void look(void) {
    const page p = dump(thrum_sched_current(), THRUM_JSON);
    check_has(&p, none);
    free(p.text);
}

static void told(void *ctx, const char *report) {
    (void)ctx;
    check_failed(__FILE__, __LINE__, "a false alarm: %s", report);
}

/* Runs it in a scheduler that watches for cycles as well. */
static void run_watched(thrum_fn fn) {
    rig r;
    rig_init(&r);
    r.config.deadlock = told;
    rig_start(&r);
    CHECK_EQ(thrum_sched_bind(r.sched), 0); /* so that what stands still is no deadlock of all */
    CHECK_EQ(rig_run(&r, fn, NULL), 0);
    CHECK_EQ(thrum_sched_unbind(), 0);
    rig_stop(&r);
}

/* ---- waits that end by themselves ---- */

static thrum_mutex mutex[2];
static thrum_barrier both;
static atomic_int ended;
static atomic_int looks; /* how many have been made */

static void begin(void) {
    thrum_mutex_init(&mutex[0]);
    thrum_mutex_init(&mutex[1]);
    thrum_barrier_init(&both, 2);
    atomic_store(&ended, 0);
    atomic_store(&looks, 0);
}

static int patient(void *arg) {
    (void)arg;
    thrum_mutex_lock(&mutex[1]);
    CHECK(thrum_barrier_wait(&both) >= 0);
    thrum_mutex_lock(&mutex[0]);
    thrum_mutex_unlock(&mutex[0]);
    thrum_mutex_unlock(&mutex[1]);
    atomic_fetch_add(&ended, 1);
    return 0;
}

static int impatient(void *arg) {
    (void)arg;
    thrum_mutex_lock(&mutex[0]);
    CHECK(thrum_barrier_wait(&both) >= 0);
    do { /* nobody gives it up */
        CHECK_EQ(thrum_mutex_lock_until(&mutex[1], soon()), -ETIMEDOUT);
    } while (atomic_load(&looks) < 20);
    thrum_mutex_unlock(&mutex[0]);
    atomic_fetch_add(&ended, 1);
    return 0;
}

static int looks_at_a_timed_wait(void *arg) {
    (void)arg;
    begin();
    CHECK_EQ(thrum_go(patient, NULL), 0);
    CHECK_EQ(thrum_go(impatient, NULL), 0);
    while (atomic_load(&ended) != 2) {
        look();
        atomic_fetch_add(&looks, 1);
        thrum_yield();
    }
    return 0;
}

TEST(a_wait_with_a_deadline_breaks_the_cycle) {
    /* One of two mutexes crosswise is waited for until a time. */
    run_watched(looks_at_a_timed_wait);
}

static thrum_handle *pair[2];
static thrum_event there;

/*
 * The child holds the mutex and joins a task that wants it, until the scope's deadline cancels the
 * join.
 */
static int child_holds_and_joins(void *arg) {
    (void)arg;
    thrum_mutex_lock(&mutex[0]);
    thrum_event_signal(&there);
    CHECK_EQ(thrum_join(pair[0], NULL), -ECANCELED);
    thrum_mutex_unlock(&mutex[0]);
    return 0;
}

static int wants_what_the_child_holds(void *arg) {
    (void)arg;
    CHECK_EQ(thrum_event_wait(&there), 0);
    thrum_mutex_lock(&mutex[0]);
    thrum_mutex_unlock(&mutex[0]);
    return 0;
}

static int opens_a_scope(void *arg) {
    thrum_scope scope;
    (void)arg;
    CHECK_EQ(thrum_scope_open(&scope, soon()), 0);
    CHECK_EQ(thrum_scope_go(&scope, child_holds_and_joins, NULL), 0);
    CHECK_EQ(thrum_scope_join(&scope), -ETIMEDOUT);
    atomic_fetch_add(&ended, 1);
    return 0;
}

static int looks_at_late_scopes(void *arg) {
    (void)arg;
    for (int round = 0; round < 10; round++) {
        begin();
        thrum_event_init(&there, THRUM_EVENT_MANUAL, false);
        CHECK_EQ(thrum_spawn(&pair[0], wants_what_the_child_holds, NULL), 0);
        CHECK_EQ(thrum_go(opens_a_scope, NULL), 0);
        while (atomic_load(&ended) != 1) {
            look();
            thrum_yield();
        }
        CHECK_EQ(thrum_join(pair[0], NULL), 0);
    }
    return 0;
}

TEST(a_scope_with_a_deadline_breaks_the_cycle) {
    /* It cancels the join that is a part of it. */
    run_watched(looks_at_late_scopes);
}

/* ---- waits that are handed on ---- */

enum { LOCKS = 4, USERS = 6, LOOKS = 1000 };

static thrum_mutex locks[LOCKS];
static thrum_rwlock shared[LOCKS];
static atomic_int users;

static int returns_at_once(void *arg) {
    (void)arg;
    return 0;
}

/* Always the lower one first, so nothing is ever deadlocked, though all wait for each other. */
static int uses(void *arg) {
    const int rounds = SCALED(1000);
    unsigned seed = (unsigned)(uintptr_t)arg;
    for (int i = 0; i < rounds && atomic_load(&looks) < LOOKS; i++) {
        seed = seed * 1664525u + 1013904223u;
        const unsigned low = seed >> 24 & 1;
        const unsigned high = 2 + (seed >> 26 & 1);
        thrum_handle *child = NULL;
        thrum_mutex_lock(&locks[low]);
        thrum_rwlock_wrlock(&shared[low]);
        if (seed >> 28 & 1) {
            thrum_yield();
        }
        thrum_mutex_lock(&locks[high]);
        if ((seed >> 16 & 15) == 0) {
            CHECK_EQ(thrum_spawn(&child, returns_at_once, NULL), 0);
            CHECK_EQ(thrum_join(child, NULL), 0);
        }
        thrum_rwlock_rdlock(&shared[high]);
        thrum_rwlock_unlock(&shared[high]);
        thrum_mutex_unlock(&locks[high]);
        thrum_rwlock_unlock(&shared[low]);
        thrum_mutex_unlock(&locks[low]);
    }
    atomic_fetch_sub(&users, 1);
    return 0;
}

static int looks_at_a_storm(void *arg) {
    (void)arg;
    for (int i = 0; i < LOCKS; i++) {
        thrum_mutex_init(&locks[i]);
        thrum_rwlock_init(&shared[i]);
    }
    atomic_store(&users, USERS);
    atomic_store(&looks, 0);
    for (int i = 0; i < USERS; i++) {
        CHECK_EQ(thrum_go(uses, (void *)(uintptr_t)(i + 1)), 0);
    }
    while (atomic_load(&users) != 0) {
        look();
        atomic_fetch_add(&looks, 1);
        thrum_yield();
    }
    return 0;
}

TEST(locks_that_are_handed_on_are_no_cycle) {
    /* Tasks lock, hand over, spawn and join beside looks that never rest. */
    run_watched(looks_at_a_storm);
}
