/*
 * stop_until.c: what a stop does when its deadline has passed: every wait that can be cancelled is.
 */
/* matrix: policy workers */
#include "support/support.h"
#include "support/times.h"

enum { EACH = 25 };

typedef struct hall {
    rig rig;
    thrum_sem sem;
    thrum_event event;
    thrum_waitgroup wg;
    thrum_mutex mutex;
    thrum_cond cond;
    thrum_mutex gate; /* what the joiners' children wait for: no cancel ends that */
    atomic_int cancelled, other;
} hall;

static void said(hall *h, int code) {
    atomic_fetch_add(code == -ECANCELED ? &h->cancelled : &h->other, 1);
}

static int on_sem(void *arg) {
    hall *h = arg;
    said(h, thrum_sem_wait(&h->sem));
    said(h, thrum_sem_wait(&h->sem)); /* from now on each wait that would suspend is cancelled */
    return 0;
}

static int on_event(void *arg) {
    hall *h = arg;
    said(h, thrum_event_wait(&h->event));
    said(h, thrum_event_wait_until(&h->event, far_off()));
    return 0;
}

static int on_waitgroup(void *arg) {
    hall *h = arg;
    said(h, thrum_waitgroup_wait(&h->wg));
    said(h, sleep_until_cancelled());
    return 0;
}

static int on_cond(void *arg) {
    hall *h = arg;
    thrum_mutex_lock(&h->mutex);
    said(h, thrum_cond_wait(&h->cond, &h->mutex));
    thrum_mutex_unlock(&h->mutex); /* it is held, or this would stop the program */
    said(h, thrum_sem_wait_until(&h->sem, THRUM_FOREVER));
    return 0;
}

static int on_gate(void *arg) {
    hall *h = arg;
    thrum_mutex_lock(&h->gate);
    thrum_mutex_unlock(&h->gate);
    return 0;
}

static int on_join(void *arg) {
    hall *h = arg;
    thrum_handle *child;
    CHECK_EQ(thrum_spawn(&child, on_gate, h), 0);
    int result;
    said(h, thrum_join(child, &result));
    CHECK_EQ(thrum_detach(child), 0); /* it is still to be joined or detached */
    return 0;
}

static void go(hall *h, thrum_fn fn) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = h->rig.sched;
    CHECK_EQ(thrum_go_with(&attr, fn, h), 0);
}

static void hall_begin(hall *h) {
    memset(h, 0, sizeof *h);
    rig_begin(&h->rig, 0);
    thrum_sem_init(&h->sem, 0);
    thrum_event_init(&h->event, THRUM_EVENT_AUTO, false);
    thrum_waitgroup_init(&h->wg, 1);
    thrum_mutex_init(&h->mutex);
    thrum_mutex_init(&h->gate);
    thrum_mutex_lock(&h->gate);
    thrum_cond_init(&h->cond);
}

TEST(what_waits_for_ever_is_cancelled) {
    /* The waits are on each primitive; a second wait does not even begin. */
    hall h;
    hall_begin(&h);
    for (int i = 0; i < EACH; i++) {
        go(&h, on_sem);
        go(&h, on_event);
        go(&h, on_waitgroup);
        go(&h, on_cond);
        go(&h, on_join);
    }
    CHECK_EQ(thrum_sched_wait_idle(h.rig.sched, THRUM_FOREVER), 0);
    CHECK_EQ(atomic_load(&h.cancelled) + atomic_load(&h.other), 0);
    CHECK_EQ(thrum_sched_stop_until(h.rig.sched, soon()), -ETIMEDOUT);
    SPIN_UNTIL(atomic_load(&h.cancelled) + atomic_load(&h.other) == EACH * 9);
    thrum_mutex_unlock(&h.gate);
    rig_stop(&h.rig);
    CHECK_EQ(atomic_load(&h.other), 0);
    CHECK_EQ(atomic_load(&h.cancelled), EACH * 9);
}

/* ---- what is no point of cancellation ---- */

static int locks(void *arg) {
    hall *h = arg;
    int code = thrum_mutex_lock_until(&h->mutex, far_off());
    said(h, code);
    if (!code) {
        thrum_mutex_unlock(&h->mutex);
    }
    thrum_mutex_lock(&h->mutex);
    said(h, 0);
    thrum_mutex_unlock(&h->mutex);
    return 0;
}

TEST(locking_a_mutex_is_not_cancelled) {
    /* Waiters, with a deadline or without, get it when it is free. */
    hall h;
    hall_begin(&h);
    thrum_mutex_lock(&h.mutex);
    for (int i = 0; i < EACH; i++) {
        go(&h, locks);
    }
    CHECK_EQ(thrum_sched_wait_idle(h.rig.sched, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_sched_stop_until(h.rig.sched, past()), -ETIMEDOUT);
    CHECK_EQ(atomic_load(&h.cancelled) + atomic_load(&h.other), 0);
    thrum_mutex_unlock(&h.mutex);
    rig_stop(&h.rig);
    CHECK_EQ(atomic_load(&h.cancelled), 0);
    CHECK_EQ(atomic_load(&h.other), 2 * EACH);
}

/* ---- against wakes ---- */

typedef struct crossing {
    thrum_sem sem;
    atomic_int got, cancelled;
} crossing;

static int crosses(void *arg) {
    crossing *c = arg;
    atomic_fetch_add(thrum_sem_wait(&c->sem) ? &c->cancelled : &c->got, 1);
    return 0;
}

static void *posts(void *arg) {
    crossing *c = arg;
    for (int i = 0; i < EACH; i++) {
        thrum_sem_post(&c->sem);
    }
    return NULL;
}

TEST(a_unit_is_taken_or_left_and_never_lost) {
    /* Posts meet a cancel: a cancelled waiter has taken nothing, a woken one has one unit. */
    for (int round = 0; round < check_scaled(100); round++) {
        rig r;
        rig_begin(&r, 0);
        crossing c = {.got = 0};
        thrum_sem_init(&c.sem, 0);
        thrum_attr attr = THRUM_ATTR_INIT;
        attr.sched = r.sched;
        for (int i = 0; i < EACH; i++) {
            CHECK_EQ(thrum_go_with(&attr, crosses, &c), 0);
        }
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, posts, &c), 0);
        int code = thrum_sched_stop_until(r.sched, past());
        CHECK_EQ(pthread_join(thread, NULL), 0);
        CHECK(code == 0 || code == -ETIMEDOUT);
        if (code) {
            rig_stop(&r);
        } else {
            rig_stopped(&r);
        }
        CHECK_EQ(atomic_load(&c.got) + atomic_load(&c.cancelled), EACH);
        int left = 0;
        while (!thrum_sem_try_wait(&c.sem)) {
            left++;
        }
        CHECK_EQ(left, EACH - atomic_load(&c.got));
    }
}
