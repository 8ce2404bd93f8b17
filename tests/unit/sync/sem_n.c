/*
 * sem_n.c: the semaphore, several units at once: all or none, first come, first served.
 */
/* matrix: policy workers */
#include "support/sync/actors.h"
#include "support/times.h"

TEST(units_are_taken_all_or_none) {
    /* A take gets as many as there are, and none when there are fewer. */
    thrum_sem sem = THRUM_SEM_INIT(5);
    CHECK_EQ(thrum_sem_try_wait_n(&sem, 6), -EAGAIN);
    CHECK_EQ(thrum_sem_wait_n(&sem, 3), 0);
    CHECK_EQ(thrum_sem_try_wait_n(&sem, 3), -EAGAIN);
    CHECK_EQ(thrum_sem_wait_n_until(&sem, 3, 0), -ETIMEDOUT);
    CHECK_EQ(thrum_sem_try_wait_n(&sem, 2), 0);
    CHECK_EQ(thrum_sem_try_wait(&sem), -EAGAIN);
    thrum_sem_post_n(&sem, 4);
    CHECK_EQ(thrum_sem_wait_n_until(&sem, 4, 0), 0);
    CHECK_EQ(thrum_sem_try_wait(&sem), -EAGAIN);
    CHECK_EQ(thrum_sem_destroy(&sem), 0);
}

TEST(none_is_none_and_too_many_is_told) {
    /* It holds at the ends of what a count may be. */
    thrum_sem sem = THRUM_SEM_INIT(0);
    CHECK_EQ(thrum_sem_wait_n(&sem, 0), 0);
    CHECK_EQ(thrum_sem_wait_n_until(&sem, 0, 0), 0);
    CHECK_EQ(thrum_sem_try_wait_n(&sem, 0), 0);
    thrum_sem_post_n(&sem, 0);
    CHECK_EQ(thrum_sem_try_wait(&sem), -EAGAIN);
    CHECK_EQ(thrum_sem_wait_n(&sem, (unsigned)THRUM_SEM_MAX + 1), -EINVAL);
    CHECK_EQ(thrum_sem_wait_n_until(&sem, UINT32_MAX, 0), -EINVAL);
    CHECK_EQ(thrum_sem_try_wait_n(&sem, (unsigned)THRUM_SEM_MAX + 1), -EINVAL);
    thrum_sem_post_n(&sem, THRUM_SEM_MAX);
    CHECK_EQ(thrum_sem_try_wait_n(&sem, THRUM_SEM_MAX), 0);
    thrum_sem_post_n(&sem, THRUM_SEM_MAX);
    CHECK_EQ(thrum_sem_wait_n(&sem, THRUM_SEM_MAX), 0);
    CHECK_EQ(thrum_sem_destroy(&sem), 0);
}

static void post_beyond(void *arg) {
    thrum_sem_init(arg, 2);
    thrum_sem_post_n(arg, THRUM_SEM_MAX - 1);
}

static void post_too_many(void *arg) {
    thrum_sem_init(arg, 0);
    thrum_sem_post_n(arg, (unsigned)THRUM_SEM_MAX + 1);
}

TEST(value_beyond_the_maximum_aborts) {
    /* The sum is too large, or the count alone. */
    thrum_sem sem;
    check_dies(post_beyond, &sem, "thrum_sem_post_n: value beyond THRUM_SEM_MAX");
    check_dies(post_too_many, &sem, "thrum_sem_post_n: value beyond THRUM_SEM_MAX");
}

/* ---- the queue ---- */

typedef struct hall {
    thrum_sem sem;
    order log;
    unsigned wants[12];
    atomic_int late;
    int plain; /* ordered by the semaphore */
} hall;

static int want_and_log(void *arg) {
    actor *a = arg;
    hall *h = a->arg;
    CHECK_EQ(thrum_sem_wait_n(&h->sem, h->wants[a->index]), 0);
    order_add(&h->log, a->index);
    return 0;
}

/* Starts fibers and threads that want what the hall says, in the queue one behind the other. */
static cast *queue_up(rig *r, hall *h, int n) {
    cast *c = cast_new(r);
    for (int i = 0; i < n; i++) {
        cast_add(c, i % 3 != 1, want_and_log, h);
        YIELD_UNTIL(SEM_WAITING(&h->sem) == i + 1);
    }
    return c;
}

TEST(waiters_are_served_in_their_order_whatever_they_want) {
    /* One that wants little does not pass one that wants much, nor does one that only tries. */
    rig r;
    rig_begin(&r, 0);
    hall h = {.sem = THRUM_SEM_INIT(2), .wants = {5, 1, 2, 4}};
    cast *c = queue_up(&r, &h, 4);
    CHECK_EQ(thrum_sem_try_wait(&h.sem), -EAGAIN); /* there were two units */
    thrum_sem_post(&h.sem);
    CHECK_EQ(thrum_sem_try_wait(&h.sem), -EAGAIN);
    thrum_sem_post(&h.sem);
    CHECK_EQ(SEM_WAITING(&h.sem), 4);
    thrum_sem_post_n(&h.sem, 3); /* the fifth unit, one for the next, one put by */
    CHECK_EQ(SEM_WAITING(&h.sem), 2);
    YIELD_UNTIL(atomic_load(&h.log.count) == 2);
    thrum_sem_post(&h.sem);
    CHECK_EQ(SEM_WAITING(&h.sem), 1);
    YIELD_UNTIL(atomic_load(&h.log.count) == 3);
    thrum_sem_post_n(&h.sem, 7);
    cast_join(c);
    CHECK_EQ(h.log.seen[2], 2);
    CHECK_EQ(h.log.seen[3], 3);
    CHECK_EQ(thrum_sem_try_wait_n(&h.sem, 4), -EAGAIN);
    CHECK_EQ(thrum_sem_try_wait_n(&h.sem, 3), 0); /* nothing is lost or doubled */
    CHECK_EQ(thrum_sem_destroy(&h.sem), 0);
    rig_stop(&r);
}

static int want_in_vain(void *arg) {
    hall *h = ((actor *)arg)->arg;
    CHECK_EQ(thrum_sem_wait_n_until(&h->sem, 9, soon()), -ETIMEDOUT);
    atomic_fetch_add(&h->late, 1);
    return 0;
}

TEST(what_was_put_by_for_one_that_is_late_goes_on) {
    /* It goes to those behind it, in their order, and the rest to the next to come. */
    for (int fiber = 0; fiber <= 1; fiber++) {
        rig r;
        rig_begin(&r, 0);
        hall h = {.sem = THRUM_SEM_INIT(4), .wants = {0, 1, 2, 9}};
        cast *c = cast_new(&r);
        cast_add(c, fiber, want_in_vain, &h);
        YIELD_UNTIL(SEM_WAITING(&h.sem) == 1 || atomic_load(&h.late) == 1);
        cast_add(c, true, want_and_log, &h);
        cast_add(c, false, want_and_log, &h);
        YIELD_UNTIL(atomic_load(&h.log.count) == 2);
        cast_join(c);
        CHECK_EQ(atomic_load(&h.late), 1);
        CHECK_EQ(thrum_sem_try_wait_n(&h.sem, 2), -EAGAIN);
        CHECK_EQ(thrum_sem_try_wait(&h.sem), 0);
        CHECK_EQ(thrum_sem_destroy(&h.sem), 0);
        rig_stop(&r);
    }
}

static int want_until_cancelled(void *arg) {
    hall *h = arg;
    CHECK_EQ(thrum_sem_wait_n(&h->sem, 3), -ECANCELED);
    return 0;
}

TEST(what_was_put_by_for_one_that_is_cancelled_goes_on) {
    /* It is taken off the queue, and the one behind it has enough. */
    rig r;
    rig_begin(&r, 0);
    hall h = {.sem = THRUM_SEM_INIT(2), .wants = {2}};
    thrum_handle *handle;
    const thrum_attr attr = rig_attr(&r);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, want_until_cancelled, &h), 0);
    YIELD_UNTIL(SEM_WAITING(&h.sem) == 1);
    cast *c = cast_new(&r);
    cast_add(c, true, want_and_log, &h);
    YIELD_UNTIL(SEM_WAITING(&h.sem) == 2);
    CHECK_EQ(thrum_cancel(handle), 0);
    cast_join(c);
    CHECK_EQ(thrum_join(handle, NULL), 0);
    CHECK_EQ(thrum_sem_try_wait(&h.sem), -EAGAIN);
    CHECK_EQ(thrum_sem_destroy(&h.sem), 0);
    rig_stop(&r);
}

/* ---- crowds ---- */

enum { ALL = 6 };

/* Each takes some of six units; in turn it waits, or waits only briefly; all of them exclude. */
static int take_some(void *arg) {
    actor *a = arg;
    hall *h = a->arg;
    for (int i = 0; i < SCALED(600); i++) {
        const unsigned n = 1 + (unsigned)(a->index * 7 + i * 5) % ALL;
        if ((a->index + i) % 3 != 0) {
            CHECK_EQ(thrum_sem_wait_n(&h->sem, n), 0);
        } else if (thrum_sem_wait_n_until(&h->sem, n, thrum_after_us(i % 50)) != 0) {
            atomic_fetch_add(&h->late, 1);
            continue;
        }
        if (n == ALL) {
            h->plain++; /* alone in here */
        }
        thrum_sem_post_n(&h->sem, n);
    }
    return 0;
}

TEST(a_crowd_takes_and_gives_back) {
    /* Fibers and threads take; in the end all units are there. */
    rig r;
    rig_begin(&r, 0);
    hall h = {.sem = THRUM_SEM_INIT(ALL)};
    cast *c = cast_new(&r);
    for (int i = 0; i < 9; i++) {
        cast_add(c, i % 3 != 0, take_some, &h);
    }
    cast_join(c);
    CHECK_EQ(thrum_sem_try_wait_n(&h.sem, ALL), 0);
    CHECK_EQ(thrum_sem_try_wait(&h.sem), -EAGAIN);
    CHECK_EQ(thrum_sem_destroy(&h.sem), 0);
    rig_stop(&r);
}

/* ---- closing ---- */

static int wait_for_close(void *arg) {
    actor *a = arg;
    const unsigned n = 1 + (unsigned)a->index % 3;
    const thrum_time until = a->index % 2 ? far_off() : THRUM_FOREVER;
    CHECK_EQ(thrum_sem_wait_n_until(a->arg, 1 + n, until), -EPIPE);
    return 0;
}

TEST(a_close_ends_all_waits) {
    /* Those of fibers and threads, for more units than were set aside; later calls take nothing. */
    rig r;
    rig_begin(&r, 0);
    thrum_sem sem = THRUM_SEM_INIT(1);
    cast *c = cast_new(&r);
    cast_add_mixed(c, 9, 3, wait_for_close, &sem);
    SPIN_UNTIL(SEM_WAITING(&sem) == 12);
    CHECK_EQ(thrum_sem_close(&sem), 0);
    cast_join(c);
    CHECK_EQ(thrum_sem_close(&sem), -EPIPE);
    thrum_sem_post(&sem);
    thrum_sem_post_n(&sem, 5);
    CHECK_EQ(thrum_sem_try_wait(&sem), -EPIPE);
    CHECK_EQ(thrum_sem_try_wait_n(&sem, 0), 0);
    CHECK_EQ(thrum_sem_wait(&sem), -EPIPE);
    CHECK_EQ(thrum_sem_wait_until(&sem, past()), -EPIPE);
    CHECK_EQ(thrum_sem_destroy(&sem), 0);
    CHECK_EQ(thrum_sem_try_wait(&sem), -EAGAIN);
    rig_stop(&r);
}
