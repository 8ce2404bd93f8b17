/*
 * timed.c: waits with a deadline, by fibers and by plain threads at a time: a late one takes
 * nothing that others wait for.
 */
/* matrix: policy workers */
#include "support/sync/actors.h"
#include "support/times.h"

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

static void tick_without_a_period(void *arg) {
    thrum_interval_init(arg, 0, 0, THRUM_MISSED_SKIP);
}

static void tick_in_no_way(void *arg) {
    thrum_interval_init(arg, 0, 1, (thrum_missed)3);
}

TEST(an_interval_needs_a_period) {
    /* Without one, or with an unknown policy for late ticks, it is a misuse. */
    thrum_interval interval;
    check_dies(tick_without_a_period, &interval, "thrum_interval_init: a period below 1 ns");
    check_dies(tick_in_no_way, &interval, "thrum_interval_init: missed is no thrum_missed");
}
