/*
 * timed.c: waits with a deadline, by fibers and by plain threads: they are never early, in the past
 * they are one try, a late one consumes nothing, and the primitive is free to go.
 */
/* matrix: policy workers */
#include "support/sync/actors.h"
#include "support/times.h"

/* Runs a test on a fiber and on a plain thread. */
static void on_both(thrum_fn fn) {
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, fn, &r), 0);
    CHECK_EQ(fn(&r), 0);
    rig_stop(&r);
}

/* ---- for nothing ---- */

/*
 * Waits for nothing, late and not early; then the primitive is destroyed, and its memory is gone.
 */
static int wait_in_vain(void *arg) {
    (void)arg;
    thrum_time until = soon();
    thrum_sem *sem = malloc(sizeof *sem);
    thrum_sem_init(sem, 0);
    CHECK_EQ(thrum_sem_wait_until(sem, until), -ETIMEDOUT);
    CHECK_PASSED(until);
    CHECK_EQ(thrum_sem_destroy(sem), 0);
    free(sem);
    for (int i = 0; i < 2; i++) {
        thrum_event *event = malloc(sizeof *event);
        thrum_event_init(event, i ? THRUM_EVENT_AUTO : THRUM_EVENT_MANUAL, false);
        until = soon();
        CHECK_EQ(thrum_event_wait_until(event, until), -ETIMEDOUT);
        CHECK_PASSED(until);
        CHECK_EQ(thrum_event_destroy(event), 0);
        free(event);
    }
    thrum_waitgroup *wg = malloc(sizeof *wg);
    thrum_waitgroup_init(wg, 1);
    until = soon();
    CHECK_EQ(thrum_waitgroup_wait_until(wg, until), -ETIMEDOUT);
    CHECK_PASSED(until);
    thrum_waitgroup_done(wg);
    CHECK_EQ(thrum_waitgroup_wait_until(wg, past()), 0);
    CHECK_EQ(thrum_waitgroup_destroy(wg), 0);
    free(wg);
    thrum_mutex *mutex = malloc(sizeof *mutex);
    thrum_cond *cond = malloc(sizeof *cond);
    thrum_mutex_init(mutex);
    thrum_cond_init(cond);
    thrum_mutex_lock(mutex);
    until = soon();
    CHECK_EQ(thrum_cond_wait_until(cond, mutex, until), -ETIMEDOUT);
    CHECK_PASSED(until);
    CHECK_EQ(thrum_mutex_try_lock(mutex), -EBUSY); /* it is held again */
    CHECK_EQ(thrum_cond_destroy(cond), 0);
    thrum_mutex_unlock(mutex);
    CHECK_EQ(thrum_mutex_destroy(mutex), 0);
    free(cond);
    free(mutex);
    return 0;
}

TEST(a_wait_in_vain_ends_at_its_deadline) {
    /* It does not end before, and the primitive is free to be destroyed. */
    on_both(wait_in_vain);
}

/* ---- one try ---- */

static int try_once(void *arg) {
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
    return 0;
}

TEST(a_deadline_in_the_past_is_one_try) {
    /* What is there is taken; what is not there is not waited for. */
    on_both(try_once);
}

static int wait_forever(void *arg) {
    (void)arg;
    thrum_sem sem = THRUM_SEM_INIT(1);
    CHECK_EQ(thrum_sem_wait_until(&sem, THRUM_FOREVER), 0);
    thrum_mutex mutex = THRUM_MUTEX_INIT;
    CHECK_EQ(thrum_mutex_lock_until(&mutex, THRUM_FOREVER), 0);
    thrum_mutex_unlock(&mutex);
    return 0;
}

TEST(forever_is_a_deadline) {
    /* It is one that never comes. */
    on_both(wait_forever);
}

/* ---- the mutex ---- */

typedef struct locked {
    thrum_mutex mutex;
    thrum_event held, let_go;
    atomic_int late;
} locked;

static int lock_until_told(void *arg) {
    locked *l = ((actor *)arg)->arg;
    thrum_mutex_lock(&l->mutex);
    thrum_event_signal(&l->held);
    CHECK_EQ(thrum_event_wait(&l->let_go), 0);
    thrum_mutex_unlock(&l->mutex);
    return 0;
}

static int lock_in_vain(void *arg) {
    locked *l = ((actor *)arg)->arg;
    thrum_time until = soon();
    CHECK_EQ(thrum_mutex_lock_until(&l->mutex, past()), -ETIMEDOUT);
    CHECK_EQ(thrum_mutex_lock_until(&l->mutex, until), -ETIMEDOUT);
    CHECK_PASSED(until);
    atomic_fetch_add(&l->late, 1);
    return 0;
}

TEST(a_held_mutex_is_given_up_at_the_deadline) {
    /* Fibers and threads give it up in any order; it can be locked and destroyed afterwards. */
    rig r;
    rig_begin(&r, 0);
    locked l = {.mutex = THRUM_MUTEX_INIT,
                .held = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false),
                .let_go = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false)};
    cast *c = cast_new(&r);
    cast_add(c, true, lock_until_told, &l);
    CHECK_EQ(thrum_event_wait(&l.held), 0);
    cast_add_mixed(c, 4, 4, lock_in_vain, &l);
    SPIN_UNTIL(atomic_load(&l.late) == 8);
    CHECK_EQ(MUTEX_WAITING(&l.mutex), 0);
    thrum_event_signal(&l.let_go);
    cast_join(c);
    CHECK_EQ(thrum_mutex_lock_until(&l.mutex, past()), 0);
    thrum_mutex_unlock(&l.mutex);
    CHECK_EQ(thrum_mutex_destroy(&l.mutex), 0);
    rig_stop(&r);
}

/* ---- joining ---- */

static int wait_for_event(void *arg) {
    CHECK_EQ(thrum_event_wait(arg), 0);
    return 42;
}

static int join_late(void *arg) {
    rig *r = arg;
    thrum_event go = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
    thrum_handle *handle = NULL;
    thrum_attr attr = rig_attr(r);
    int result = 7;
    CHECK_EQ(thrum_spawn_with(&handle, &attr, wait_for_event, &go), 0);
    CHECK_EQ(thrum_join_until(handle, &result, past()), -ETIMEDOUT);
    thrum_time until = soon();
    CHECK_EQ(thrum_join_until(handle, &result, until), -ETIMEDOUT);
    CHECK_PASSED(until);
    CHECK_EQ(result, 7);
    thrum_event_signal(&go);
    CHECK_EQ(thrum_join_until(handle, &result, far_off()), 0);
    CHECK_EQ(result, 42);
    CHECK_EQ(thrum_join_until(NULL, NULL, past()), -EINVAL);
    return 0;
}

TEST(a_join_that_is_late_leaves_the_handle) {
    /* It can be joined again, and then it has the result. */
    on_both(join_late);
}

typedef struct detached {
    thrum_event go;
    atomic_bool gone_on;
} detached;

static int wait_and_go_on(void *arg) {
    detached *d = arg;
    CHECK_EQ(thrum_event_wait(&d->go), 0);
    atomic_store(&d->gone_on, true);
    return 0;
}

static int detach_late(void *arg) {
    rig *r = arg;
    detached d = {.go = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false)};
    thrum_handle *handle = NULL;
    thrum_attr attr = rig_attr(r);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, wait_and_go_on, &d), 0);
    CHECK_EQ(thrum_join_until(handle, NULL, soon()), -ETIMEDOUT);
    thrum_event_signal(&d.go);
    CHECK_EQ(thrum_detach(handle), 0);
    YIELD_UNTIL(atomic_load(&d.gone_on)); /* it is on this stack */
    return 0;
}

TEST(a_join_that_is_late_can_detach) {
    /* The handle is freed when the task ends. */
    on_both(detach_late);
}

/* ---- in the middle of the list ---- */

typedef struct queue {
    thrum_sem sem;
    order log;
    atomic_int late, came;
} queue;

/* One whose number is odd has little time. */
static int take_in_turn(void *arg) {
    actor *a = arg;
    queue *q = a->arg;
    bool brief = a->index % 2 != 0;
    int result = thrum_sem_wait_until(&q->sem, brief ? soon() : far_off());
    if (brief && result == -ETIMEDOUT) {
        atomic_fetch_add(&q->late, 1);
    } else {
        CHECK_EQ(result, 0);
        order_add(&q->log, a->index);
    }
    atomic_fetch_add(&q->came, 1);
    return 0;
}

/* How many wait there or were so late that they have left again; none is counted twice. */
static int arrived(queue *q) {
    const int late = atomic_load(&q->late); /* first: one that leaves now counts once, or not */
    return late + SEM_WAITING(&q->sem);
}

TEST(a_late_waiter_leaves_from_the_middle) {
    /* The others keep their places: the units go to them in the order in which they came. */
    enum { N = 16 };
    static queue q;
    rig r;
    rig_begin(&r, 0);
    thrum_sem_init(&q.sem, 0);
    cast *c = cast_new(&r);
    for (int i = 0; i < N; i++) {
        cast_add(c, i % 3 != 0, take_in_turn, &q);
        SPIN_UNTIL(arrived(&q) >= i + 1);
    }
    SPIN_UNTIL(atomic_load(&q.late) == N / 2);
    CHECK_EQ(SEM_WAITING(&q.sem), N / 2);
    for (int i = 0; i < N / 2; i++) {
        thrum_sem_post(&q.sem);
        SPIN_UNTIL(atomic_load(&q.came) ==
                   N / 2 + i + 1); /* it is counted after it is in the log */
        CHECK_EQ(atomic_load(&q.log.seen[i]), 2 * i);
    }
    cast_join(c);
    CHECK_EQ(thrum_sem_try_wait(&q.sem), -EAGAIN);
    CHECK_EQ(thrum_sem_destroy(&q.sem), 0);
    rig_stop(&r);
}

/* ---- what is handed over goes past late waiters ---- */

typedef struct pass {
    thrum_event event;
    thrum_mutex mutex;
    thrum_cond cond;
    atomic_int late, woken;
    bool brief;
} pass;

static int await(void *arg) {
    pass *p = ((actor *)arg)->arg;
    bool brief = ((actor *)arg)->index % 2 == 0;
    int result = thrum_event_wait_until(&p->event, brief ? soon() : far_off());
    CHECK_EQ(result, brief ? -ETIMEDOUT : 0);
    atomic_fetch_add(brief ? &p->late : &p->woken, 1);
    return 0;
}

TEST(a_signal_reaches_one_that_is_still_waiting) {
    /* An auto event lets one waiter through for each signal, and none that has gone. */
    rig r;
    rig_begin(&r, 0);
    pass p = {.event = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false)};
    cast *c = cast_new(&r);
    cast_add_mixed(c, 4, 4, await, &p);
    SPIN_UNTIL(atomic_load(&p.late) == 4 && EVENT_WAITING(&p.event) == 4);
    for (int i = 1; i <= 4; i++) {
        thrum_event_signal(&p.event);
        SPIN_UNTIL(atomic_load(&p.woken) == i);
    }
    cast_join(c);
    CHECK(!thrum_event_is_signaled(&p.event));
    thrum_event_signal(&p.event);
    CHECK(thrum_event_test(&p.event));
    CHECK_EQ(thrum_event_destroy(&p.event), 0);
    rig_stop(&r);
}

static int wait_on_cond(void *arg) {
    pass *p = ((actor *)arg)->arg;
    bool brief = ((actor *)arg)->index % 2 == 0;
    thrum_mutex_lock(&p->mutex);
    int result = thrum_cond_wait_until(&p->cond, &p->mutex, brief ? soon() : far_off());
    CHECK_EQ(result, brief ? -ETIMEDOUT : 0);
    atomic_fetch_add(brief ? &p->late : &p->woken, 1);
    thrum_mutex_unlock(&p->mutex);
    return 0;
}

TEST(a_cond_signal_reaches_one_that_is_still_waiting) {
    /* The same holds, and each that comes back holds the mutex. */
    rig r;
    rig_begin(&r, 0);
    pass p = {.mutex = THRUM_MUTEX_INIT, .cond = THRUM_COND_INIT};
    cast *c = cast_new(&r);
    cast_add_mixed(c, 4, 4, wait_on_cond, &p);
    SPIN_UNTIL(atomic_load(&p.late) == 4 && COND_WAITING(&p.cond) == 4);
    thrum_cond_signal(&p.cond);
    SPIN_UNTIL(atomic_load(&p.woken) == 1);
    CHECK_EQ(COND_WAITING(&p.cond), 3);
    thrum_cond_broadcast(&p.cond);
    cast_join(c);
    CHECK_EQ(atomic_load(&p.woken), 4);
    CHECK_EQ(thrum_cond_destroy(&p.cond), 0);
    CHECK_EQ(thrum_mutex_destroy(&p.mutex), 0);
    rig_stop(&r);
}

typedef struct misuse {
    thrum_mutex mutex;
    thrum_cond cond;
} misuse;

static void wait_without_the_mutex(void *arg) {
    misuse *m = arg;
    (void)!thrum_cond_wait_until(&m->cond, &m->mutex, soon());
}

TEST(a_timed_cond_wait_needs_the_mutex) {
    /* It is a misuse: one line and an abort. */
    misuse m = {.mutex = THRUM_MUTEX_INIT, .cond = THRUM_COND_INIT};
    check_dies(wait_without_the_mutex, &m, "not held by the caller");
}
