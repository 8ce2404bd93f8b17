/*
 * waits.c: waits with a deadline, by tasks and by plain threads: they end at their deadline, in the
 * past they are one try, a late one consumes nothing, and the primitive is free to go.
 */
/* matrix: policy workers */
#include "time/hours.h"

static thrum_sched *sched;

/* Runs a test in a task and on a plain thread. */
static void on_both(void (*fn)(void *arg)) {
    sched = thrum_sched_current();
    fn(NULL);
    on_thread(fn, NULL);
}

/* Checks that a wait until a later instant is late, and ends then. */
#define CHECK_LATE(wait)                                                                           \
    do {                                                                                           \
        const thrum_time until = thrum_after(HOUR);                                                \
        CHECK_EQ(wait, -ETIMEDOUT);                                                                \
        CHECK_NOW(until);                                                                          \
    } while (0)

/* ---- for nothing ---- */

/* Then the primitive is destroyed, and its memory is gone. */
static void waits_in_vain(void *arg) {
    (void)arg;
    thrum_sem *sem = malloc(sizeof *sem);
    thrum_sem_init(sem, 0);
    CHECK_LATE(thrum_sem_wait_until(sem, until));
    CHECK_EQ(thrum_sem_destroy(sem), 0);
    free(sem);
    for (int i = 0; i < 2; i++) {
        thrum_event *event = malloc(sizeof *event);
        thrum_event_init(event, i ? THRUM_EVENT_AUTO : THRUM_EVENT_MANUAL, false);
        CHECK_LATE(thrum_event_wait_until(event, until));
        CHECK_EQ(thrum_event_destroy(event), 0);
        free(event);
    }
    thrum_waitgroup *wg = malloc(sizeof *wg);
    thrum_waitgroup_init(wg, 1);
    CHECK_LATE(thrum_waitgroup_wait_until(wg, until));
    thrum_waitgroup_done(wg);
    CHECK_EQ(thrum_waitgroup_wait_until(wg, past()), 0);
    CHECK_EQ(thrum_waitgroup_destroy(wg), 0);
    free(wg);
    thrum_mutex *mutex = malloc(sizeof *mutex);
    thrum_cond *cond = malloc(sizeof *cond);
    thrum_mutex_init(mutex);
    thrum_cond_init(cond);
    thrum_mutex_lock(mutex);
    CHECK_LATE(thrum_cond_wait_until(cond, mutex, until));
    CHECK_EQ(thrum_mutex_try_lock(mutex), -EBUSY); /* it is held again */
    CHECK_EQ(thrum_cond_destroy(cond), 0);
    thrum_mutex_unlock(mutex);
    CHECK_EQ(thrum_mutex_destroy(mutex), 0);
    free(cond);
    free(mutex);
    thrum_barrier barrier = THRUM_BARRIER_INIT(2);
    thrum_chan *chan;
    int value = 1;
    CHECK_EQ(thrum_chan_create(&chan, sizeof value, 0), 0);
    CHECK_LATE(thrum_chan_recv_until(chan, &value, until));
    CHECK_LATE(thrum_chan_send_until(chan, &value, until));
    thrum_case one = THRUM_RECV_CASE(chan, &value);
    CHECK_LATE(thrum_select(&one, 1, until));
    CHECK_EQ(thrum_chan_destroy(chan), 0);
    CHECK_LATE(thrum_barrier_wait_until(&barrier, until));
    CHECK_EQ(thrum_barrier_destroy(&barrier), 0);
}

TEST(a_wait_in_vain_ends_at_its_deadline) {
    /* Then the primitive is free to be destroyed. */
    on_both(waits_in_vain);
}

/* ---- one try ---- */

static void tries_once(void *arg) {
    (void)arg;
    static const thrum_time long_past[] = {INT64_MIN, -1, 0, 1};
    for (size_t i = 0; i <= COUNT_OF(long_past); i++) {
        const thrum_time at = i < COUNT_OF(long_past) ? long_past[i] : past();
        thrum_sem sem = THRUM_SEM_INIT(1);
        CHECK_EQ(thrum_sem_wait_until(&sem, at), 0);
        CHECK_EQ(thrum_sem_wait_until(&sem, at), -ETIMEDOUT);
        CHECK_EQ(thrum_sem_destroy(&sem), 0);
        thrum_event event = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, true);
        CHECK_EQ(thrum_event_wait_until(&event, at), 0);
        CHECK_EQ(thrum_event_wait_until(&event, at), -ETIMEDOUT);
        CHECK_EQ(thrum_event_destroy(&event), 0);
        event = (thrum_event)THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, true);
        CHECK_EQ(thrum_event_wait_until(&event, at), 0);
        CHECK_EQ(thrum_event_wait_until(&event, at), 0);
        thrum_event_clear(&event);
        CHECK_EQ(thrum_event_wait_until(&event, at), -ETIMEDOUT);
        CHECK_EQ(thrum_event_destroy(&event), 0);
        thrum_waitgroup wg = THRUM_WAITGROUP_INIT(1);
        CHECK_EQ(thrum_waitgroup_wait_until(&wg, at), -ETIMEDOUT);
        thrum_waitgroup_done(&wg);
        CHECK_EQ(thrum_waitgroup_wait_until(&wg, at), 0);
        thrum_mutex mutex = THRUM_MUTEX_INIT;
        CHECK_EQ(thrum_mutex_lock_until(&mutex, at), 0);
        thrum_cond cond = THRUM_COND_INIT;
        CHECK_EQ(thrum_cond_wait_until(&cond, &mutex, at), -ETIMEDOUT);
        thrum_mutex_unlock(&mutex);
        CHECK_EQ(thrum_cond_destroy(&cond), 0);
        CHECK_EQ(thrum_mutex_destroy(&mutex), 0);
    }
}

TEST(a_deadline_in_the_past_is_one_try) {
    /* What is there is taken; what is not there is not waited for. */
    const thrum_time began = thrum_now();
    on_both(tries_once);
    CHECK_NOW(began);
}

static void waits_forever(void *arg) {
    (void)arg;
    thrum_sem sem = THRUM_SEM_INIT(1);
    CHECK_EQ(thrum_sem_wait_until(&sem, THRUM_FOREVER), 0);
    thrum_mutex mutex = THRUM_MUTEX_INIT;
    CHECK_EQ(thrum_mutex_lock_until(&mutex, THRUM_FOREVER), 0);
    thrum_mutex_unlock(&mutex);
}

TEST(forever_is_a_deadline) {
    /* It is one that never comes. */
    on_both(waits_forever);
}

/* ---- the mutex ---- */

enum { WAITERS = 6 };
static thrum_mutex mutex = THRUM_MUTEX_INIT;
static thrum_event let_go = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
static atomic_int late;

static int holds_the_mutex(void *arg) {
    thrum_mutex_lock(&mutex);
    thrum_event_signal(arg);
    CHECK_EQ(thrum_event_wait(&let_go), 0);
    thrum_mutex_unlock(&mutex);
    return 0;
}

static void locks_in_vain(void *arg) {
    (void)arg;
    CHECK_EQ(thrum_mutex_lock_until(&mutex, past()), -ETIMEDOUT);
    CHECK_LATE(thrum_mutex_lock_until(&mutex, until));
    atomic_fetch_add(&late, 1);
}

static int locks_in_vain_in_task(void *arg) {
    if (arg) {
        on_thread(locks_in_vain, NULL);
    } else {
        locks_in_vain(NULL);
    }
    return 0;
}

TEST(a_held_mutex_is_given_up_at_the_deadline) {
    /* Tasks and threads give it up in any order; it can be locked and destroyed afterwards. */
    thrum_event held = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
    thrum_handle *holder_of_it;
    thrum_handle *waiters[WAITERS];
    CHECK_EQ(thrum_spawn(&holder_of_it, holds_the_mutex, &held), 0);
    CHECK_EQ(thrum_event_wait(&held), 0);
    for (int i = 0; i < WAITERS; i++) {
        CHECK_EQ(thrum_spawn(&waiters[i], locks_in_vain_in_task, i % 2 ? &held : NULL), 0);
    }
    for (int i = 0; i < WAITERS; i++) {
        CHECK_EQ(thrum_join(waiters[i], NULL), 0);
    }
    CHECK_EQ(atomic_load(&late), WAITERS);
    thrum_event_signal(&let_go);
    CHECK_EQ(thrum_join(holder_of_it, NULL), 0);
    CHECK_EQ(thrum_mutex_lock_until(&mutex, past()), 0);
    thrum_mutex_unlock(&mutex);
    CHECK_EQ(thrum_mutex_destroy(&mutex), 0);
}

/* ---- joining ---- */

static int waits_for_event(void *arg) {
    CHECK_EQ(thrum_event_wait(arg), 0);
    return 42;
}

static thrum_handle *spawns(thrum_fn fn, void *arg) {
    thrum_handle *handle;
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    CHECK_EQ(thrum_spawn_with(&handle, &attr, fn, arg), 0);
    return handle;
}

static void joins_late(void *arg) {
    thrum_event go = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
    thrum_handle *handle = spawns(waits_for_event, &go);
    int result = 7;
    (void)arg;
    CHECK_EQ(thrum_join_until(handle, &result, past()), -ETIMEDOUT);
    CHECK_LATE(thrum_join_until(handle, &result, until));
    CHECK_EQ(result, 7);
    thrum_event_signal(&go);
    CHECK_EQ(thrum_join_until(handle, &result, far_off()), 0);
    CHECK_EQ(result, 42);
    CHECK_EQ(thrum_join_until(NULL, NULL, past()), -EINVAL);
}

TEST(a_join_that_is_late_leaves_the_handle) {
    /* It can be joined again, and then it has the result. */
    on_both(joins_late);
}

typedef struct detached {
    thrum_event go, gone_on;
} detached;

static int waits_and_goes_on(void *arg) {
    detached *d = arg;
    CHECK_EQ(thrum_event_wait(&d->go), 0);
    thrum_event_signal(&d->gone_on);
    return 0;
}

static void detaches_late(void *arg) {
    static detached d; /* it is used behind the signal */
    (void)arg;
    thrum_event_init(&d.go, THRUM_EVENT_MANUAL, false);
    thrum_event_init(&d.gone_on, THRUM_EVENT_MANUAL, false);
    thrum_handle *handle = spawns(waits_and_goes_on, &d);
    CHECK_LATE(thrum_join_until(handle, NULL, until));
    thrum_event_signal(&d.go);
    CHECK_EQ(thrum_detach(handle), 0);
    CHECK_EQ(thrum_event_wait(&d.gone_on), 0);
}

TEST(a_join_that_is_late_can_detach) {
    /* The handle is freed when the task ends. */
    on_both(detaches_late);
}
