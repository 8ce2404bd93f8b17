/*
 * cond.c: the condition variable, by fibers and by plain threads.
 */
/* matrix: policy workers */
#include "support/sync/actors.h"

typedef struct stage {
    thrum_mutex mutex;
    thrum_cond cond;
    thrum_cond full; /* the buffer's second condition */
    order log;
    int turn; /* the mutex protects this and what follows */
    int players;
    int rounds;
    int level;
    int made;
    int taken;
} stage;

static stage *stage_new(void) {
    stage *s = calloc(1, sizeof(*s));
    CHECK(s != NULL);
    thrum_mutex_init(&s->mutex);
    thrum_cond_init(&s->cond);
    thrum_cond_init(&s->full);
    return s;
}

static void lock(stage *s) {
    thrum_mutex_lock(&s->mutex);
}

static void unlock(stage *s) {
    thrum_mutex_unlock(&s->mutex);
}

static int wait_and_log(void *arg) {
    actor *a = arg;
    stage *s = a->arg;
    lock(s);
    CHECK_EQ(thrum_cond_wait(&s->cond, &s->mutex), 0); /* no wake is spurious */
    CHECK_EQ(thrum_mutex_try_lock(&s->mutex), -EBUSY); /* it is ours again: unlock checks that */
    order_add(&s->log, a->index);
    unlock(s);
    return 0;
}

/* Starts n waiters of both kinds, queued in the order of their numbers. */
static cast *queue_up(rig *r, stage *s, int n) {
    cast *c = cast_new(r);
    for (int i = 0; i < n; i++) {
        cast_add(c, i % 3 != 0, wait_and_log, s);
        YIELD_UNTIL(COND_WAITING(&s->cond) == i + 1);
    }
    return c;
}

TEST(signal_wakes_the_first) {
    /* One signal wakes one waiter, in the order they came; the others stay. */
    enum { WAITERS = 9 };
    rig r;
    rig_begin(&r, 0);
    stage *s = stage_new();
    cast *c = queue_up(&r, s, WAITERS);
    for (int i = 0; i < WAITERS; i++) {
        thrum_cond_signal(&s->cond);
        CHECK_EQ(COND_WAITING(&s->cond), WAITERS - i - 1);
        YIELD_UNTIL(atomic_load(&s->log.count) == i + 1);
    }
    cast_join(c);
    for (int i = 0; i < WAITERS; i++) {
        CHECK_EQ(s->log.seen[i], i);
    }
    CHECK_EQ(thrum_cond_destroy(&s->cond), 0);
    free(s);
    rig_stop(&r);
}

TEST(broadcast_wakes_all) {
    /* All that wait at that moment are woken, once each. */
    enum { WAITERS = 40 };
    rig r;
    rig_begin(&r, 0);
    stage *s = stage_new();
    cast *c = queue_up(&r, s, WAITERS);
    lock(s);
    thrum_cond_broadcast(&s->cond);
    CHECK_EQ(COND_WAITING(&s->cond), 0);
    CHECK_EQ(atomic_load(&s->log.count), 0); /* the mutex is ours */
    unlock(s);
    cast_join(c);
    CHECK_EQ(atomic_load(&s->log.count), WAITERS);
    free(s);
    rig_stop(&r);
}

TEST(wakes_are_not_remembered) {
    /* Signal and broadcast without a waiter do nothing: a later waiter needs another. */
    rig r;
    rig_begin(&r, 0);
    stage *s = stage_new();
    thrum_cond_signal(&s->cond);
    thrum_cond_broadcast(&s->cond);
    cast *c = queue_up(&r, s, 1);
    CHECK_EQ(atomic_load(&s->log.count), 0);
    thrum_cond_signal(&s->cond);
    cast_join(c);
    CHECK_EQ(atomic_load(&s->log.count), 1);
    free(s);
    rig_stop(&r);
}

static int take_turns(void *arg) {
    actor *a = arg;
    stage *s = a->arg;
    for (int i = 0; i < s->rounds; i++) {
        lock(s);
        while (s->turn % s->players != a->index) {
            CHECK_EQ(thrum_cond_wait(&s->cond, &s->mutex), 0);
        }
        s->turn++;
        thrum_cond_broadcast(&s->cond);
        unlock(s);
    }
    return 0;
}

TEST(turns_are_taken_in_order) {
    /* Fibers and threads take turns: no wake after an unlock is missed. */
    rig r;
    rig_begin(&r, 0);
    for (int kinds = 0; kinds < 3; kinds++) {
        stage *s = stage_new();
        cast *c = cast_new(&r);
        s->players = 4;
        s->rounds = SCALED(500);
        const int fibers = kinds == 0 ? 4 : kinds == 1 ? 0 : 2;
        cast_add_mixed(c, fibers, 4 - fibers, take_turns, s);
        cast_join(c);
        CHECK_EQ(s->turn, 4 * s->rounds);
        free(s);
    }
    rig_stop(&r);
}

#define CAPACITY 4

static int produce(void *arg) {
    stage *s = ((actor *)arg)->arg;
    for (int i = 0; i < s->rounds; i++) {
        lock(s);
        while (s->level == CAPACITY) {
            CHECK_EQ(thrum_cond_wait(&s->full, &s->mutex), 0);
        }
        s->level++;
        s->made++;
        if (i % 2 == 0) {
            thrum_cond_signal(&s->cond); /* it is sent with the mutex held, and without */
        }
        unlock(s);
        if (i % 2 != 0) {
            thrum_cond_signal(&s->cond);
        }
    }
    return 0;
}

static int consume(void *arg) {
    stage *s = ((actor *)arg)->arg;
    for (int i = 0; i < s->rounds; i++) {
        lock(s);
        while (s->level == 0) {
            CHECK_EQ(thrum_cond_wait(&s->cond, &s->mutex), 0);
        }
        s->level--;
        s->taken++;
        unlock(s);
        thrum_cond_signal(&s->full);
    }
    return 0;
}

TEST(bounded_buffer) {
    /* Producers and consumers of both kinds through a small buffer: all of it arrives. */
    rig r;
    rig_begin(&r, 0);
    stage *s = stage_new();
    cast *c = cast_new(&r);
    s->rounds = SCALED(2000);
    cast_add_mixed(c, 3, 2, produce, s);
    cast_add_mixed(c, 3, 2, consume, s);
    cast_join(c);
    CHECK_EQ(s->made, 5 * s->rounds);
    CHECK_EQ(s->taken, 5 * s->rounds);
    CHECK_EQ(s->level, 0);
    CHECK_EQ(thrum_cond_destroy(&s->cond), 0);
    CHECK_EQ(thrum_cond_destroy(&s->full), 0);
    free(s);
    rig_stop(&r);
}

TEST(a_crowd_waits_and_is_woken) {
    /* A thousand fibers wait; one broadcast lets all of them go on. */
    rig r;
    rig_begin(&r, 0);
    stage *s = stage_new();
    cast *c = cast_new(&r);
    const int n = SCALED(1000);
    cast_add_mixed(c, n, 0, wait_and_log, s);
    YIELD_UNTIL(COND_WAITING(&s->cond) == n);
    thrum_cond_broadcast(&s->cond);
    cast_join(c);
    CHECK_EQ(atomic_load(&s->log.count), n);
    free(s);
    rig_stop(&r);
}

/* ---- misuse, and the end of a cond ---- */

static void wait_without_mutex(void *arg) {
    stage *s = arg;
    CHECK_EQ(thrum_cond_wait(&s->cond, &s->mutex), 0);
}

TEST(wait_without_the_mutex_aborts) {
    /* The caller must hold it. */
    stage *s = stage_new();
    check_dies(wait_without_mutex, s, "thrum_cond_wait: mutex not held by the caller");
    free(s);
}

TEST(static_initializer_is_init) {
    /* Both make the same bytes. */
    static thrum_cond by_text = THRUM_COND_INIT;
    thrum_cond by_call;
    thrum_cond_init(&by_call);
    CHECK(memcmp(&by_text, &by_call, sizeof(by_call)) == 0);
}

TEST(destroy_is_refused_while_waited_for) {
    /* -EBUSY changes nothing; afterwards it is zero. */
    static const thrum_cond zero;
    rig r;
    rig_begin(&r, 0);
    stage *s = stage_new();
    cast *c = queue_up(&r, s, 2);
    const thrum_cond before = s->cond;
    CHECK_EQ(thrum_cond_destroy(&s->cond), -EBUSY);
    CHECK(memcmp(&before, &s->cond, sizeof(before)) == 0);
    thrum_cond_broadcast(&s->cond);
    cast_join(c);
    CHECK_EQ(thrum_cond_destroy(&s->cond), 0);
    CHECK(memcmp(&zero, &s->cond, sizeof(zero)) == 0);
    free(s);
    rig_stop(&r);
}

/* The waiter makes the cond and frees it as soon as its wait has returned; the mutex stays. */
typedef struct handover {
    thrum_mutex mutex;
    thrum_cond *cond; /* protected by the mutex; NULL: nothing waits */
    int done;
    int rounds;
} handover;

static int free_after_wait(void *arg) {
    handover *h = ((actor *)arg)->arg;
    for (int i = 0; i < h->rounds; i++) {
        thrum_cond *cond = malloc(sizeof(*cond));
        CHECK(cond != NULL);
        thrum_cond_init(cond);
        thrum_mutex_lock(&h->mutex);
        h->cond = cond;
        CHECK_EQ(thrum_cond_wait(cond, &h->mutex), 0);
        CHECK(h->cond == NULL);
        h->done++;
        thrum_mutex_unlock(&h->mutex);
        memset(cond, 0xee, sizeof(*cond));
        free(cond);
    }
    return 0;
}

static int signal_freed(void *arg) {
    handover *h = ((actor *)arg)->arg;
    for (int i = 0; i < h->rounds;) {
        thrum_mutex_lock(&h->mutex);
        thrum_cond *cond = h->cond;
        h->cond = NULL;
        const bool early = i % 2 == 0;
        if (cond && early) {
            thrum_cond_signal(cond);
        }
        thrum_mutex_unlock(&h->mutex);
        if (cond && !early) {
            thrum_cond_broadcast(cond);
        }
        if (cond) {
            i++;
        } else {
            thrum_yield();
        }
    }
    return 0;
}

TEST(freed_as_soon_as_the_wait_returned) {
    /* Neither signal nor broadcast touches the cond after the waiter may go on. */
    rig r;
    rig_begin(&r, 0);
    for (int kinds = 0; kinds < 4; kinds++) {
        cast *c = cast_new(&r);
        handover h = {.mutex = THRUM_MUTEX_INIT, .rounds = SCALED(kinds == 3 ? 3000 : 150)};
        cast_add(c, (kinds & 1) != 0, free_after_wait, &h);
        cast_add(c, (kinds & 2) != 0, signal_freed, &h);
        cast_join(c);
        CHECK_EQ(h.done, h.rounds);
    }
    rig_stop(&r);
}
