/*
 * timed.c: waits with a deadline: by fibers and by plain threads.
 */
/* matrix: policy workers */
/* matrix: quick 1 2 8 */
#include "support/actors.h"

static int wait_in_vain(void *arg) {
    rig *r = arg;
    (void)r;
    thrum_time until = thrum_after_ms(2);
    thrum_sem sem = THRUM_SEM_INIT(0);
    CHECK_EQ(thrum_sem_wait_until(&sem, until), -ETIMEDOUT);
    CHECK(thrum_now() >= until);
    CHECK_EQ(thrum_sem_destroy(&sem), 0);
    thrum_event event = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false);
    CHECK_EQ(thrum_event_wait_until(&event, thrum_after_ms(1)), -ETIMEDOUT);
    CHECK_EQ(thrum_event_destroy(&event), 0);
    thrum_waitgroup wg = THRUM_WAITGROUP_INIT(1);
    CHECK_EQ(thrum_waitgroup_wait_until(&wg, thrum_after_ms(1)), -ETIMEDOUT);
    thrum_waitgroup_done(&wg);
    CHECK_EQ(thrum_waitgroup_wait_until(&wg, thrum_after_ms(1)), 0);
    CHECK_EQ(thrum_waitgroup_destroy(&wg), 0);
    thrum_mutex mutex = THRUM_MUTEX_INIT;
    thrum_cond cond = THRUM_COND_INIT;
    CHECK_EQ(thrum_mutex_lock(&mutex), 0);
    CHECK_EQ(thrum_cond_wait_until(&cond, &mutex, thrum_after_ms(1)), -ETIMEDOUT);
    thrum_mutex_unlock(&mutex);
    CHECK_EQ(thrum_mutex_destroy(&mutex), 0);
    CHECK_EQ(thrum_cond_destroy(&cond), 0);
    return 0;
}

TEST(a_wait_in_vain_ends_at_its_deadline) {
    /* Not before, and the primitive is free to be destroyed. */
    rig r;
    rig_init(&r);
    rig_start(&r);
    CHECK_EQ(rig_run(&r, wait_in_vain, &r), 0);
    CHECK_EQ(wait_in_vain(&r), 0);
    rig_stop(&r);
}

typedef struct race {
    thrum_sem sem;
    atomic_long taken;
    atomic_long late;
} race;

static int take_or_not(void *arg) {
    race *x = ((actor *)arg)->arg;
    for (int i = 0; i < 200; i++) {
        int result = thrum_sem_wait_until(&x->sem, thrum_after_us(20));
        if (result == 0) {
            x->taken++;
        } else {
            CHECK_EQ(result, -ETIMEDOUT);
            x->late++;
        }
    }
    return 0;
}

static int give_some(void *arg) {
    race *x = ((actor *)arg)->arg;
    for (int i = 0; i < 300; i++) {
        thrum_sem_post(&x->sem);
        if (i % 3 == 0) {
            thrum_sleep(15000);
        }
    }
    return 0;
}

TEST(no_unit_is_lost_between_a_post_and_a_deadline) {
    /* What was posted is what was taken and what is left. */
    rig r;
    race x = {.sem = THRUM_SEM_INIT(0)};
    rig_init(&r);
    rig_start(&r);
    cast *c = cast_new(&r);
    cast_add_mixed(c, 4, 2, take_or_not, &x);
    cast_add_mixed(c, 2, 1, give_some, &x);
    cast_join(c);
    long left = 0;
    while (thrum_sem_trywait(&x.sem) == 0) {
        left++;
    }
    CHECK_EQ(x.taken + left, 900);
    CHECK_EQ(x.taken + x.late, 1200);
    CHECK_EQ(thrum_sem_destroy(&x.sem), 0);
    rig_stop(&r);
}
