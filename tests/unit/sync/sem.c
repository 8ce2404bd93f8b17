/*
 * sem.c: the semaphore, by fibers and by plain threads.
 */
/* matrix: policy workers */
#include "support/sync/actors.h"

TEST(units_are_taken_without_waiting) {
    /* As many takes as there are units succeed; then there is none until a post. */
    thrum_sem sem;
    thrum_sem_init(&sem, 3);
    CHECK_EQ(thrum_sem_wait(&sem), 0);
    CHECK_EQ(thrum_sem_try_wait(&sem), 0);
    CHECK_EQ(thrum_sem_wait(&sem), 0);
    CHECK_EQ(thrum_sem_try_wait(&sem), -EAGAIN);
    thrum_sem_post(&sem);
    CHECK_EQ(thrum_sem_try_wait(&sem), 0);
    CHECK_EQ(thrum_sem_try_wait(&sem), -EAGAIN);
    CHECK_EQ(thrum_sem_destroy(&sem), 0);
}

TEST(static_initializer_is_init) {
    /* Both make the same bytes. */
    static thrum_sem by_text = THRUM_SEM_INIT(7);
    thrum_sem by_call;
    thrum_sem_init(&by_call, 7);
    CHECK(memcmp(&by_text, &by_call, sizeof(by_call)) == 0);
}

TEST(value_goes_up_to_the_maximum) {
    /* The last value that fits can be posted and taken. */
    thrum_sem sem;
    thrum_sem_init(&sem, THRUM_SEM_MAX - 1);
    thrum_sem_post(&sem);
    CHECK_EQ(thrum_sem_wait(&sem), 0);
    CHECK_EQ(thrum_sem_try_wait(&sem), 0);
    thrum_sem_post(&sem);
    CHECK_EQ(thrum_sem_destroy(&sem), 0);
}

static void post_beyond(void *arg) {
    thrum_sem_init(arg, THRUM_SEM_MAX);
    thrum_sem_post(arg);
}

static void init_beyond(void *arg) {
    thrum_sem_init(arg, (unsigned)THRUM_SEM_MAX + 1);
}

TEST(value_beyond_the_maximum_aborts) {
    /* It aborts in a post and in the init, with a line that names the call. */
    thrum_sem sem;
    check_dies(post_beyond, &sem, "thrum_sem_post: value beyond THRUM_SEM_MAX");
    check_dies(init_beyond, &sem, "thrum_sem_init: value beyond THRUM_SEM_MAX");
}

typedef struct stage {
    thrum_sem sem;
    thrum_sem other;
    order log;
    atomic_int in;
    int plain; /* ordered by the semaphore under test */
    int rounds;
} stage;

static stage *stage_new(unsigned value) {
    stage *s = calloc(1, sizeof(*s));
    CHECK(s != NULL);
    thrum_sem_init(&s->sem, value);
    thrum_sem_init(&s->other, 0);
    return s;
}

static int wait_and_log(void *arg) {
    actor *a = arg;
    stage *s = a->arg;
    CHECK_EQ(thrum_sem_wait(&s->sem), 0);
    order_add(&s->log, a->index);
    return 0;
}

TEST(waiters_are_served_first_come_first_served) {
    /* Fibers and threads queue one after the other; each post lets the next one through. */
    enum { WAITERS = 12 };
    rig r;
    rig_begin(&r, 0);
    cast *c = cast_new(&r);
    stage *s = stage_new(0);
    for (int i = 0; i < WAITERS; i++) {
        cast_add(c, i % 3 != 0, wait_and_log, s);
        YIELD_UNTIL(SEM_WAITING(&s->sem) == i + 1);
    }
    for (int i = 0; i < WAITERS; i++) {
        thrum_sem_post(&s->sem);
        CHECK_EQ(SEM_WAITING(&s->sem), WAITERS - i - 1);
        YIELD_UNTIL(atomic_load(&s->log.count) == i + 1);
    }
    cast_join(c);
    for (int i = 0; i < WAITERS; i++) {
        CHECK_EQ(s->log.seen[i], i);
    }
    CHECK_EQ(thrum_sem_destroy(&s->sem), 0);
    free(s);
    rig_stop(&r);
}

TEST(a_waiters_unit_is_not_taken) {
    /*
     * A unit that is posted while a waiter is there cannot be taken by another, whether the waiter
     * has run or not.
     */
    rig r;
    rig_begin(&r, 0);
    for (int i = 0; i < 20; i++) {
        cast *c = cast_new(&r);
        stage *s = stage_new(0);
        cast_add(c, i % 2 == 0, wait_and_log, s);
        YIELD_UNTIL(SEM_WAITING(&s->sem) == 1);
        thrum_sem_post(&s->sem);
        CHECK_EQ(thrum_sem_try_wait(&s->sem), -EAGAIN);
        cast_join(c);
        free(s);
    }
    rig_stop(&r);
}

static int take_many(void *arg) {
    stage *s = ((actor *)arg)->arg;
    for (int i = 0; i < s->rounds; i++) {
        CHECK_EQ(thrum_sem_wait(&s->sem), 0);
        if (i % 64 == 0) {
            thrum_yield();
        }
    }
    return 0;
}

static int post_many(void *arg) {
    stage *s = ((actor *)arg)->arg;
    for (int i = 0; i < s->rounds; i++) {
        thrum_sem_post(&s->sem);
        if (i % 32 == 0) {
            thrum_yield();
        }
    }
    return 0;
}

TEST(each_unit_is_taken_once) {
    /* Many posters and as many takers, of both kinds: all of them end, nothing is left. */
    rig r;
    rig_begin(&r, 0);
    cast *c = cast_new(&r);
    stage *s = stage_new(0);
    s->rounds = SCALED(2000);
    for (int i = 0; i < 3; i++) {
        cast_add_mixed(c, 2, 1, take_many, s);
        cast_add_mixed(c, 2, 1, post_many, s);
    }
    cast_join(c);
    CHECK_EQ(thrum_sem_try_wait(&s->sem), -EAGAIN);
    CHECK_EQ(thrum_sem_destroy(&s->sem), 0);
    free(s);
    rig_stop(&r);
}

static int guarded_count(void *arg) {
    stage *s = ((actor *)arg)->arg;
    for (int i = 0; i < s->rounds; i++) {
        CHECK_EQ(thrum_sem_wait(&s->sem), 0);
        CHECK_EQ(atomic_fetch_add(&s->in, 1), 0);
        s->plain++;
        if (i % 16 == 0) {
            thrum_yield();
        }
        atomic_fetch_sub(&s->in, 1);
        thrum_sem_post(&s->sem);
    }
    return 0;
}

TEST(one_unit_excludes) {
    /* With one unit, its taker is alone and sees what the one before wrote. */
    rig r;
    rig_begin(&r, 0);
    cast *c = cast_new(&r);
    stage *s = stage_new(1);
    s->rounds = SCALED(1000);
    cast_add_mixed(c, 4, 3, guarded_count, s);
    cast_join(c);
    CHECK_EQ(s->plain, 7 * s->rounds);
    free(s);
    rig_stop(&r);
}

static int ping(void *arg) {
    stage *s = ((actor *)arg)->arg;
    for (int i = 0; i < s->rounds; i++) {
        CHECK_EQ(s->plain, 2 * i);
        s->plain++;
        thrum_sem_post(&s->sem);
        CHECK_EQ(thrum_sem_wait(&s->other), 0);
    }
    return 0;
}

static int pong(void *arg) {
    stage *s = ((actor *)arg)->arg;
    for (int i = 0; i < s->rounds; i++) {
        CHECK_EQ(thrum_sem_wait(&s->sem), 0);
        CHECK_EQ(s->plain, 2 * i + 1);
        s->plain++;
        thrum_sem_post(&s->other);
    }
    return 0;
}

TEST(ping_pong_in_every_pairing) {
    /* Plain data goes to and fro between fiber and fiber, thread and thread, and both kinds. */
    rig r;
    rig_begin(&r, 0);
    for (int kinds = 0; kinds < 4; kinds++) {
        cast *c = cast_new(&r);
        stage *s = stage_new(0);
        s->rounds = SCALED(kinds == 3 ? 20000 : 1000);
        cast_add(c, (kinds & 1) != 0, ping, s);
        cast_add(c, (kinds & 2) != 0, pong, s);
        cast_join(c);
        CHECK_EQ(s->plain, 2 * s->rounds);
        free(s);
    }
    rig_stop(&r);
}

TEST(a_crowd_waits_and_is_let_through) {
    /* A thousand fibers wait on one semaphore; as many posts let all of them through. */
    rig r;
    rig_begin(&r, 0);
    cast *c = cast_new(&r);
    stage *s = stage_new(0);
    const int n = SCALED(1000);
    for (int i = 0; i < n; i++) {
        cast_add(c, true, wait_and_log, s);
    }
    YIELD_UNTIL(SEM_WAITING(&s->sem) == n);
    for (int i = 0; i < n; i++) {
        thrum_sem_post(&s->sem);
    }
    cast_join(c);
    CHECK_EQ(atomic_load(&s->log.count), n);
    CHECK_EQ(thrum_sem_try_wait(&s->sem), -EAGAIN);
    free(s);
    rig_stop(&r);
}

/* ---- the end of a semaphore ---- */

TEST(destroy_is_refused_while_waited_for) {
    /*
     * It is -EBUSY and changes nothing: the waiter is served afterwards. Then it is destroyed and
     * zero.
     */
    static const thrum_sem zero;
    rig r;
    rig_begin(&r, 0);
    cast *c = cast_new(&r);
    stage *s = stage_new(0);
    cast_add_mixed(c, 1, 1, wait_and_log, s);
    YIELD_UNTIL(SEM_WAITING(&s->sem) == 2);
    const thrum_sem before = s->sem;
    CHECK_EQ(thrum_sem_destroy(&s->sem), -EBUSY);
    CHECK(memcmp(&before, &s->sem, sizeof(before)) == 0);
    thrum_sem_post(&s->sem);
    thrum_sem_post(&s->sem);
    cast_join(c);
    thrum_sem_post(&s->sem);
    CHECK_EQ(thrum_sem_destroy(&s->sem), 0);
    CHECK(memcmp(&zero, &s->sem, sizeof(zero)) == 0);
    free(s);
    rig_stop(&r);
}

/* The waiter makes the semaphore and frees it as soon as its wait has returned. */
typedef struct handover {
    _Atomic(thrum_sem *) sem;
    int rounds;
} handover;

static int free_after_wait(void *arg) {
    handover *h = ((actor *)arg)->arg;
    for (int i = 0; i < h->rounds; i++) {
        thrum_sem *sem = malloc(sizeof(*sem));
        CHECK(sem != NULL);
        thrum_sem_init(sem, 0);
        atomic_store(&h->sem, sem);
        if (i % 2 == 0) {
            YIELD_UNTIL(atomic_load(&h->sem) == NULL); /* the post may come first */
        }
        CHECK_EQ(thrum_sem_wait(sem), 0);
        memset(sem, 0xee, sizeof(*sem));
        free(sem);
        YIELD_UNTIL(atomic_load(&h->sem) == NULL);
    }
    return 0;
}

static int post_to_freed(void *arg) {
    handover *h = ((actor *)arg)->arg;
    for (int i = 0; i < h->rounds; i++) {
        thrum_sem *sem;
        YIELD_UNTIL((sem = atomic_exchange(&h->sem, NULL)) != NULL);
        thrum_sem_post(sem);
    }
    return 0;
}

TEST(freed_as_soon_as_the_wait_returned) {
    /* The poster does not touch the semaphore after the waiter may go on (address sanitizer). */
    rig r;
    rig_begin(&r, 0);
    for (int kinds = 0; kinds < 4; kinds++) {
        cast *c = cast_new(&r);
        handover h = {.rounds = SCALED(kinds == 3 ? 3000 : 150)};
        cast_add(c, (kinds & 1) != 0, free_after_wait, &h);
        cast_add(c, (kinds & 2) != 0, post_to_freed, &h);
        cast_join(c);
    }
    rig_stop(&r);
}
