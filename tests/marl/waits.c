/*
 * waits.c: marl's tests of its condition variable and of waiting with a timeout, restated.
 */
/* matrix: bound */
#include "support/sync/bound.h"
#include "support/times.h"

enum { MANY = 1000 };

/* A count for this build. */
#define N SCALED(MANY)

/* ---- ping-pong ---- */

typedef struct three {
    thrum_sem there, back;
    int steps;
} three;

static int answers(void *arg) {
    three *t = arg;
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(thrum_sem_wait(&t->there), 0);
        t->steps++;
        thrum_sem_post(&t->back);
    }
    return 0;
}

static int asks(void *arg) {
    three *t = arg;
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(t->steps, i);
        thrum_sem_post(&t->there);
        CHECK_EQ(thrum_sem_wait(&t->back), 0);
    }
    return 0;
}

static void three_init(three *t) {
    thrum_sem_init(&t->there, 0);
    thrum_sem_init(&t->back, 0);
    t->steps = 0;
}

TEST(ping_pong_of_three_steps) {
    /* The steps go between the thread and a task, then between two tasks. */
    rig r;
    three t;
    bound_begin(&r);
    three_init(&t);
    rig_go(&r, answers, &t);
    CHECK_EQ(asks(&t), 0);
    CHECK_EQ(t.steps, 3);
    three_init(&t);
    rig_go(&r, answers, &t);
    CHECK_EQ(rig_run(&r, asks, &t), 0);
    CHECK_EQ(t.steps, 3);
    bound_end(&r);
}

/* ---- timeouts and notifies ---- */

typedef struct mixed {
    thrum_mutex mutex;
    thrum_cond cond;
    bool set;
    atomic_int next, served, late;
    thrum_sem sem;
} mixed;

static int waits_for_the_flag(void *arg) {
    mixed *m = arg;
    const int i = atomic_fetch_add(&m->next, 1);
    const thrum_time deadline = i % 2 == 0 ? thrum_after_us(i * 20) : far_off();
    int code = 0;
    thrum_mutex_lock(&m->mutex);
    while (!m->set && code == 0) {
        code = thrum_cond_wait_until(&m->cond, &m->mutex, deadline);
    }
    if (code == -ETIMEDOUT) {
        CHECK_PASSED(deadline);
    } else {
        CHECK(m->set);
    }
    CHECK(code == 0 || i % 2 == 0);
    thrum_mutex_unlock(&m->mutex);
    atomic_fetch_add(code ? &m->late : &m->served, 1);
    return 0;
}

TEST(timeouts_and_notifies_of_a_cond) {
    /* Of a hundred waits half may be late, ten times over; the others never are. */
    rig r;
    bound_begin(&r);
    for (int round = 0; round < 10; round++) {
        mixed m = {.mutex = THRUM_MUTEX_INIT, .cond = THRUM_COND_INIT};
        thrum_attr attr = rig_attr(&r);
        thrum_handle *handles[100];
        for (int i = 0; i < 100; i++) {
            CHECK_EQ(thrum_spawn_with(&handles[i], &attr, waits_for_the_flag, &m), 0);
        }
        nap();
        thrum_mutex_lock(&m.mutex);
        m.set = true;
        thrum_mutex_unlock(&m.mutex);
        thrum_cond_broadcast(&m.cond);
        for (int i = 0; i < 100; i++) {
            CHECK_EQ(thrum_join(handles[i], NULL), 0);
        }
        CHECK_EQ(atomic_load(&m.late) + atomic_load(&m.served), 100);
        CHECK(atomic_load(&m.served) >= 50);
        CHECK_EQ(thrum_cond_destroy(&m.cond), 0);
        CHECK_EQ(thrum_mutex_destroy(&m.mutex), 0);
    }
    bound_end(&r);
}

static int waits_for_a_unit(void *arg) {
    mixed *m = arg;
    const int i = atomic_fetch_add(&m->next, 1);
    const thrum_time deadline = thrum_after_us(i * 20);
    const int code = thrum_sem_wait_until(&m->sem, deadline);
    CHECK(code == 0 || code == -ETIMEDOUT);
    if (code == -ETIMEDOUT) {
        CHECK_PASSED(deadline);
    }
    atomic_fetch_add(code ? &m->late : &m->served, 1);
    return 0;
}

TEST(timeouts_and_posts_of_a_semaphore) {
    /* A hundred waits go on beside fifty posts, ten times over: what none took is still there. */
    rig r;
    bound_begin(&r);
    for (int round = 0; round < 10; round++) {
        mixed m = {.sem = THRUM_SEM_INIT(0)};
        thrum_attr attr = rig_attr(&r);
        thrum_handle *handles[100];
        for (int i = 0; i < 100; i++) {
            CHECK_EQ(thrum_spawn_with(&handles[i], &attr, waits_for_a_unit, &m), 0);
        }
        for (int i = 0; i < 50; i++) {
            nap();
            thrum_sem_post(&m.sem);
        }
        for (int i = 0; i < 100; i++) {
            CHECK_EQ(thrum_join(handles[i], NULL), 0);
        }
        int left = 0;
        while (thrum_sem_try_wait(&m.sem) == 0) {
            left++;
        }
        CHECK_EQ(atomic_load(&m.served) + left, 50);
        CHECK_EQ(atomic_load(&m.late) + atomic_load(&m.served), 100);
        CHECK_EQ(thrum_sem_destroy(&m.sem), 0);
    }
    bound_end(&r);
}

/* ---- many ---- */

typedef struct patient {
    thrum_event event;
    thrum_sem sem;
    atomic_int ended;
} patient;

static int waits_long(void *arg) {
    patient *p = arg;
    CHECK_EQ(thrum_event_wait_until(&p->event, far_off()), 0);
    CHECK_EQ(thrum_sem_wait_until(&p->sem, far_off()), 0);
    atomic_fetch_add(&p->ended, 1);
    return 0;
}

TEST(a_thousand_timed_waits_are_woken_early) {
    /* Waits at an event are woken all at once, then waits at a semaphore one by one. */
    rig r;
    patient p = {.event = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false), .sem = THRUM_SEM_INIT(0)};
    bound_begin(&r);
    for (int i = 0; i < N; i++) {
        rig_go(&r, waits_long, &p);
    }
    bound_settle(&r);
    CHECK_EQ(atomic_load(&p.ended), 0);
    thrum_event_signal(&p.event);
    bound_settle(&r);
    for (int i = 0; i < N; i++) {
        thrum_sem_post(&p.sem);
    }
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&p.ended), N);
    bound_end(&r);
}
