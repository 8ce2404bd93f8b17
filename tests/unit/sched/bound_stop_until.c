/*
 * bound_stop_until.c: no workers: a stop runs what is left on its own thread, but not beyond its
 * deadline by more than the body that is running; the rest stays for the next stop.
 */
#include "support/support.h"
#include "support/times.h"

enum { BODIES = 50 };

typedef struct hall {
    rig rig;
    rig own; /* the scheduler of the task that stops it, if one does */
    thrum_time deadline;
    atomic_int begun, ended;
    atomic_int late; /* runs that began when the deadline was about to pass, or had passed */
    atomic_bool over;
    thrum_mutex mutex;
    thrum_sem sem;
} hall;

static void hall_begin(hall *h) {
    memset(h, 0, sizeof(*h));
    rig_init(&h->rig);
    h->rig.config.workers = 0;
    rig_start(&h->rig);
    thrum_mutex_init(&h->mutex);
    thrum_sem_init(&h->sem, 0);
}

static int outlasts_the_deadline(void *arg) {
    hall *h = arg;
    atomic_fetch_add(&h->begun, 1);
    await_passed(h->deadline);
    atomic_fetch_add(&h->ended, 1);
    return 0;
}

static int stop_soon(hall *h) {
    h->deadline = soon();
    return thrum_sched_stop_until(h->rig.sched, h->deadline);
}

static const unsigned counts[] = {0, 1, 2, 4, 8};

TEST(bodies_that_have_not_begun_stay_for_the_next_stop) {
    /*
     * Each body outlasts the deadline; a second stop, whose deadline has passed, runs one as well.
     */
    hall h;
    hall_begin(&h);
    for (int i = 0; i < BODIES; i++) {
        rig_go(&h.rig, outlasts_the_deadline, &h);
    }
    CHECK_EQ(stop_soon(&h), -ETIMEDOUT);
    CHECK(atomic_load(&h.begun) <= 1);
    CHECK_EQ(thrum_sched_stop_until(h.rig.sched, past()), -ETIMEDOUT);
    CHECK(atomic_load(&h.begun) <= 2);
    rig_stop(&h.rig);
    CHECK_EQ(atomic_load(&h.ended), BODIES);
}

TEST(a_bound_thread_that_stops_comes_back_in_time) {
    /* It stays bound, with what it has posted itself. */
    hall h;
    hall_begin(&h);
    CHECK_EQ(thrum_sched_bind(h.rig.sched), 0);
    for (int i = 0; i < BODIES; i++) {
        CHECK_EQ(thrum_go(outlasts_the_deadline, &h), 0);
    }
    CHECK_EQ(stop_soon(&h), -ETIMEDOUT);
    CHECK(atomic_load(&h.begun) <= 1);
    CHECK(thrum_sched_current() == h.rig.sched);
    rig_stop(&h.rig);
    CHECK(thrum_sched_current() == NULL);
    CHECK_EQ(atomic_load(&h.ended), BODIES);
}

static int stops_it(void *arg) {
    hall *h = arg;
    CHECK_EQ(stop_soon(h), -ETIMEDOUT);
    CHECK(atomic_load(&h->begun) <= 1);
    CHECK_EQ(thrum_sched_stop_until(h->rig.sched, past()), -ETIMEDOUT);
    CHECK(atomic_load(&h->begun) <= 2);
    return 0;
}

TEST(a_task_of_another_scheduler_stops_it_in_time) {
    /* Each of its stops has a thread of its own; the last one is the test's. */
    for (size_t w = 0; w < COUNT_OF(counts); w++) {
        hall h;
        hall_begin(&h);
        rig_init(&h.own);
        h.own.config.workers = counts[w];
        rig_start(&h.own);
        for (int i = 0; i < BODIES; i++) {
            rig_go(&h.rig, outlasts_the_deadline, &h);
        }
        rig_go(&h.own, stops_it, &h);
        rig_stop(&h.own);
        rig_stop(&h.rig);
        CHECK_EQ(atomic_load(&h.ended), BODIES);
    }
}

/* ---- bodies that have begun ---- */

static int gives_way_for_ever(void *arg) {
    hall *h = arg;
    while (!atomic_load(&h->over)) {
        if (atomic_fetch_add(&h->begun, 1) >= 4 * BODIES) {
            await_passed(h->deadline);
            atomic_fetch_add(&h->late, 1);
        }
        thrum_yield();
    }
    atomic_fetch_add(&h->ended, 1);
    return 0;
}

TEST(runs_that_give_way_do_not_hold_it_up) {
    /* After a run in which the deadline passes none of them begins another. */
    hall h;
    hall_begin(&h);
    for (int i = 0; i < BODIES; i++) {
        rig_go(&h.rig, gives_way_for_ever, &h);
    }
    CHECK_EQ(stop_soon(&h), -ETIMEDOUT);
    CHECK(atomic_load(&h.late) <= 1);
    atomic_store(&h.over, true);
    rig_stop(&h.rig);
    CHECK_EQ(atomic_load(&h.ended), BODIES);
}

static int locks(void *arg) {
    hall *h = arg;
    atomic_fetch_add(&h->begun, 1);
    thrum_mutex_lock(&h->mutex);
    thrum_mutex_unlock(&h->mutex);
    atomic_fetch_add(&h->ended, 1);
    return 0;
}

static int is_cancelled(void *arg) {
    hall *h = arg;
    atomic_fetch_add(&h->begun, 1);
    CHECK_EQ(thrum_sem_wait(&h->sem), -ECANCELED);
    thrum_mutex_lock(&h->mutex); /* it comes behind the others, on whatever thread it is by then */
    thrum_mutex_unlock(&h->mutex);
    atomic_fetch_add(&h->ended, 1);
    return 0;
}

static int sleeps_too_long(void *arg) {
    hall *h = arg;
    atomic_fetch_add(&h->begun, 1);
    CHECK_EQ(sleep_until_cancelled(), -ECANCELED);
    atomic_fetch_add(&h->ended, 1);
    return 0;
}

static void *stops_in_a_thread(void *arg) {
    hall *h = arg;
    CHECK_EQ(thrum_sched_stop(h->rig.sched), 0);
    return NULL;
}

TEST(what_has_begun_and_waits_goes_on_in_the_next_stop) {
    /*
     * It waits for a mutex, which no cancel ends: it is unlocked in between, or beside the next
     * stop.
     */
    for (int beside = 0; beside < 2; beside++) {
        hall h;
        pthread_t thread;
        hall_begin(&h);
        thrum_mutex_lock(&h.mutex);
        for (int i = 0; i < BODIES; i++) {
            rig_go(&h.rig, locks, &h);
            rig_go(&h.rig, is_cancelled, &h);
            rig_go(&h.rig, sleeps_too_long, &h);
        }
        do {
            CHECK_EQ(thrum_sched_stop_until(h.rig.sched, soon()), -ETIMEDOUT);
        } while (atomic_load(&h.begun) < 3 * BODIES);
        CHECK(atomic_load(&h.ended) <= BODIES);
        if (!beside) {
            thrum_mutex_unlock(&h.mutex);
        }
        watchdog_remove(&h.rig);
        CHECK_EQ(pthread_create(&thread, NULL, stops_in_a_thread, &h), 0);
        if (beside) {
            thrum_mutex_unlock(&h.mutex);
        }
        CHECK_EQ(pthread_join(thread, NULL), 0);
        rig_check_freed(&h.rig);
        CHECK_EQ(atomic_load(&h.begun), 3 * BODIES);
        CHECK_EQ(atomic_load(&h.ended), 3 * BODIES);
    }
}

/* ---- a blocking call that binds ---- */

typedef struct visit {
    rig *rig;
    atomic_bool begun, may_bind, returns;
    atomic_int ended;
    pthread_t bound_on;
} visit;

static int runs_on_the_calls_thread(void *arg) {
    visit *v = arg;
    CHECK(pthread_equal(thread_now(), v->bound_on));
    return 7;
}

/* Runs on the pool's thread. */
static int binds(void *arg) {
    visit *v = arg;
    thrum_handle *handle;
    int result = 0;
    atomic_store(&v->begun, true);
    SPIN_UNTIL(atomic_load(&v->may_bind));
    CHECK_EQ(thrum_sched_bind(v->rig->sched), 0);
    v->bound_on = thread_now();
    CHECK_EQ(thrum_spawn(&handle, runs_on_the_calls_thread, v), 0);
    thrum_shield_begin(); /* a stop's deadline has passed */
    CHECK_EQ(thrum_join(handle, &result), 0);
    thrum_shield_end();
    CHECK_EQ(result, 7);
    CHECK_EQ(thrum_sched_unbind(), 0);
    atomic_store(&v->returns, true);
    return 9;
}

static int waits_for_what_binds(void *arg) {
    visit *v = arg;
    int result = 0;
    thrum_shield_begin(); /* the call begins though a stop's deadline has passed */
    CHECK_EQ(thrum_blocking(binds, v, &result), 0);
    thrum_shield_end();
    CHECK_EQ(result, 9);
    atomic_fetch_add(&v->ended, 1);
    return 0;
}

TEST(a_call_that_binds_leaves_what_a_stop_has_left_to_the_next_stop) {
    /*
     * The call's own task is tied to that thread, and could go on only after the call. It goes on
     * between stops, and beside the next one.
     */
    for (int beside = 0; beside < 2; beside++) {
        rig r;
        rig_init(&r);
        r.config.workers = 0;
        rig_start(&r);
        visit v = {.rig = &r};
        rig_go(&r, waits_for_what_binds, &v);
        do {
            CHECK_EQ(thrum_sched_stop_until(r.sched, soon()), -ETIMEDOUT);
        } while (!atomic_load(&v.begun));
        atomic_store(&v.may_bind, true);
        if (!beside) {
            SPIN_UNTIL(atomic_load(&v.returns));
        }
        rig_stop(&r);
        CHECK_EQ(atomic_load(&v.ended), 1);
    }
}

/* ---- a blocking call that binds, and joins what a stop has left ---- */

typedef struct heir {
    rig *rig;
    thrum_mutex mutex; /* what the task that is left waits for; no cancel ends that */
    thrum_handle *left;
    atomic_bool left_began, call_began, may_bind, is_bound;
    atomic_int ended;
} heir;

static int is_left(void *arg) {
    heir *h = arg;
    atomic_store(&h->left_began, true);
    thrum_mutex_lock(&h->mutex);
    thrum_mutex_unlock(&h->mutex);
    return 11;
}

/* Runs on the pool's thread. */
static int binds_and_joins(void *arg) {
    heir *h = arg;
    int result = 0;
    atomic_store(&h->call_began, true);
    SPIN_UNTIL(atomic_load(&h->may_bind));
    CHECK_EQ(thrum_sched_bind(h->rig->sched), 0);
    atomic_store(&h->is_bound, true);
    thrum_shield_begin(); /* a stop's deadline has passed */
    CHECK_EQ(thrum_join(h->left, &result), 0);
    thrum_shield_end();
    CHECK_EQ(result, 11);
    CHECK_EQ(thrum_sched_unbind(), 0);
    return 13;
}

static int waits_for_what_joins(void *arg) {
    heir *h = arg;
    int result = 0;
    thrum_shield_begin();
    CHECK_EQ(thrum_blocking(binds_and_joins, h, &result), 0);
    thrum_shield_end();
    CHECK_EQ(result, 13);
    atomic_fetch_add(&h->ended, 1);
    return 0;
}

static int stops_the_heirs(void *arg) {
    heir *h = arg;
    CHECK_EQ(thrum_sched_stop(h->rig->sched), 0);
    return 0;
}

TEST(a_call_that_binds_may_join_what_a_stop_has_left) {
    /*
     * The next stop goes on with that before it waits for the call's thread to unbind: also a stop
     * that comes in time, one of a task of another scheduler, and one whose deadline passes too.
     */
    for (int way = 0; way < 3; way++) {
        rig r, own;
        rig_init(&r);
        r.config.workers = 0;
        rig_start(&r);
        heir h = {.rig = &r};
        thrum_attr attr = rig_attr(&r);
        thrum_mutex_init(&h.mutex);
        thrum_mutex_lock(&h.mutex);
        CHECK_EQ(thrum_spawn_with(&h.left, &attr, is_left, &h), 0);
        rig_go(&r, waits_for_what_joins, &h);
        do {
            CHECK_EQ(thrum_sched_stop_until(r.sched, soon()), -ETIMEDOUT);
        } while (!atomic_load(&h.left_began) || !atomic_load(&h.call_began));
        atomic_store(&h.may_bind, true);
        SPIN_UNTIL(atomic_load(&h.is_bound));
        if (way == 1) {
            CHECK_EQ(thrum_sched_stop_until(r.sched, soon()), -ETIMEDOUT);
        }
        thrum_mutex_unlock(&h.mutex);
        if (way == 2) {
            watchdog_remove(&r);
            rig_begin(&own, 1);
            rig_go(&own, stops_the_heirs, &h);
            rig_stop(&own);
            rig_check_freed(&r);
        } else {
            rig_stop(&r);
        }
        CHECK_EQ(atomic_load(&h.ended), 1);
    }
}
