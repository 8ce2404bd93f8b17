/*
 * wait_any.c: waiting for any of several events, by fibers and by plain threads.
 */
/* matrix: policy workers */
#include "support/sync/actors.h"
#include "support/times.h"

#define MANY THRUM_EVENT_WAIT_ANY_MAX

typedef struct stage {
    thrum_event events[MANY];
    thrum_event *list[MANY];
    size_t n;
    thrum_time deadline;
    atomic_int result;
    atomic_int done;
    int rounds;
    int got[MANY];
} stage;

static stage *stage_new(size_t n, thrum_event_mode mode) {
    stage *s = calloc(1, sizeof(*s));
    CHECK(s != NULL);
    s->n = n;
    s->deadline = THRUM_FOREVER;
    for (size_t i = 0; i < n; i++) {
        thrum_event_init(&s->events[i], mode, false);
        s->list[i] = &s->events[i];
    }
    return s;
}

/* Checks that no waiter is left on any of the lists, by destroying each. */
static void stage_free(stage *s) {
    for (size_t i = 0; i < s->n; i++) {
        CHECK_EQ(EVENT_WAITING(&s->events[i]), 0);
        CHECK_EQ(thrum_event_destroy(&s->events[i]), 0);
    }
    free(s);
}

static int wait_any(void *arg) {
    stage *s = ((actor *)arg)->arg;
    atomic_store(&s->result, thrum_event_wait_any(s->list, s->n, s->deadline));
    atomic_fetch_add(&s->done, 1);
    return 0;
}

TEST(wrong_counts_are_refused) {
    /* No event, too many, or no list is -EINVAL, and a signal stays. */
    thrum_event event = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, true);
    thrum_event *list[MANY + 1];
    for (size_t i = 0; i <= MANY; i++) {
        list[i] = &event;
    }
    CHECK_EQ(thrum_event_wait_any(list, 0, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_event_wait_any(list, MANY + 1, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_event_wait_any(NULL, 1, THRUM_FOREVER), -EINVAL);
    CHECK(thrum_event_is_signaled(&event));
    CHECK(thrum_event_wait_any(list, MANY, THRUM_FOREVER) >= 0);
    CHECK(!thrum_event_is_signaled(&event));
}

TEST(one_signaled_event_is_consumed_alone) {
    /* Of several that are signaled one is taken; over many calls each has its turn. */
    stage *s = stage_new(5, THRUM_EVENT_AUTO);
    for (int round = 0; round < 300; round++) {
        for (size_t i = 0; i < s->n; i++) {
            thrum_event_signal(&s->events[i]);
        }
        int got = thrum_event_wait_any(s->list, s->n, THRUM_FOREVER);
        CHECK(got >= 0 && got < 5);
        s->got[got]++;
        for (int i = 0; i < 5; i++) {
            CHECK_EQ(thrum_event_test(&s->events[i]), i != got);
        }
    }
    for (int i = 0; i < 5; i++) {
        CHECK(s->got[i] > 20); /* 60 are expected */
    }
    stage_free(s);
}

TEST(a_signal_wakes_and_is_consumed) {
    /* Each event at each position wakes fiber and thread; the others stay as they are. */
    rig r;
    rig_begin(&r, 0);
    const size_t sizes[] = {1, 2, 8, 9, MANY};
    for (size_t k = 0; k < COUNT_OF(sizes); k++) {
        for (size_t at = 0; at < sizes[k]; at += 1 + sizes[k] / 3) {
            cast *c = cast_new(&r);
            stage *s = stage_new(sizes[k], THRUM_EVENT_AUTO);
            cast_add(c, at % 2 == 0, wait_any, s);
            YIELD_UNTIL(EVENT_WAITING(&s->events[s->n - 1]) == 1);
            thrum_event_signal(&s->events[at]);
            YIELD_UNTIL(atomic_load(&s->done) == 1);
            CHECK_EQ(atomic_load(&s->result), (int)at);
            for (size_t i = 0; i < s->n; i++) {
                CHECK(!thrum_event_is_signaled(&s->events[i]));
            }
            cast_join(c);
            stage_free(s);
        }
    }
    rig_stop(&r);
}

TEST(a_manual_event_stays) {
    /* It lets all through and stays signaled; an auto event beside it is not consumed. */
    rig r;
    rig_begin(&r, 0);
    cast *c = cast_new(&r);
    stage *s = stage_new(3, THRUM_EVENT_AUTO);
    thrum_event_init(&s->events[1], THRUM_EVENT_MANUAL, false);
    cast_add_mixed(c, 3, 3, wait_any, s);
    YIELD_UNTIL(EVENT_WAITING(&s->events[2]) == 6);
    thrum_event_signal(&s->events[1]);
    thrum_event_signal(&s->events[2]);
    cast_join(c);
    CHECK(thrum_event_is_signaled(&s->events[1]));
    CHECK(thrum_event_test(&s->events[2])); /* nothing waited there any more */
    stage_free(s);
    rig_stop(&r);
}

TEST(the_same_event_may_stand_twice) {
    /* A signal ends the wait by one of the two places and is gone. */
    rig r;
    rig_begin(&r, 0);
    for (int mode = 0; mode < 2; mode++) {
        cast *c = cast_new(&r);
        stage *s = stage_new(3, mode == 0 ? THRUM_EVENT_AUTO : THRUM_EVENT_MANUAL);
        s->list[0] = s->list[2] = &s->events[1];
        cast_add_mixed(c, 1, 0, wait_any, s);
        YIELD_UNTIL(EVENT_WAITING(&s->events[1]) == 3);
        thrum_event_signal(&s->events[1]);
        cast_join(c);
        CHECK(atomic_load(&s->result) >= 0);
        CHECK_EQ(thrum_event_test(&s->events[1]), mode == 1);
        stage_free(s);
    }
    rig_stop(&r);
}

static int wait_late(void *arg) {
    stage *s = ((actor *)arg)->arg;
    CHECK_EQ(thrum_event_wait_any(s->list, s->n, past()), -ETIMEDOUT);
    thrum_time until = soon();
    CHECK_EQ(thrum_event_wait_any(s->list, s->n, until), -ETIMEDOUT);
    CHECK_PASSED(until);
    return 0;
}

TEST(a_timeout_consumes_nothing) {
    /* A late wait is on no list; signals that come then stay. */
    rig r;
    rig_begin(&r, 0);
    cast *c = cast_new(&r);
    stage *s = stage_new(12, THRUM_EVENT_AUTO);
    cast_add_mixed(c, 2, 2, wait_late, s);
    cast_join(c);
    for (size_t i = 0; i < s->n; i++) {
        thrum_event_signal(&s->events[i]);
        CHECK(thrum_event_test(&s->events[i]));
    }
    stage_free(s);
    rig_stop(&r);
}

TEST(a_wait_allocates_nothing) {
    /* A thousand waits, some late, leave the allocator's count of calls as it was. */
    rig r;
    rig_begin(&r, 0);
    stage *s = stage_new(16, THRUM_EVENT_AUTO);
    cast *c = cast_new(&r);
    cast_add(c, true, wait_late, s);
    cast_join(c);
    const long before = atomic_load(&r.live);
    for (int i = 0; i < 1000; i++) {
        CHECK_EQ(thrum_event_wait_any(s->list, s->n, i % 8 ? past() : soon()), -ETIMEDOUT);
        CHECK_EQ(EVENT_WAITING(&s->events[i % 16]), 0);
    }
    CHECK_EQ(atomic_load(&r.live), before);
    stage_free(s);
    rig_stop(&r);
}

static int wait_rounds(void *arg) {
    actor *a = arg;
    stage *s = a->arg;
    int taken = 0;
    while (atomic_load(&s->result) == 0) {
        int got = thrum_event_wait_any(s->list, s->n, past() + 50000 + 1000 * a->index);
        if (got >= 0) {
            taken++;
        } else {
            CHECK_EQ(got, -ETIMEDOUT);
        }
    }
    atomic_fetch_add(&s->done, taken);
    return 0;
}

static int signal_rounds(void *arg) {
    actor *a = arg;
    stage *s = a->arg;
    for (int i = 0; i < s->rounds; i++) {
        thrum_event *event = &s->events[(size_t)(i * 7 + a->index) % s->n];
        /* an event carries one signal: the next one waits until that was taken */
        while (thrum_event_is_signaled(event) && atomic_load(&s->result) == 0) {
            thrum_yield();
        }
        thrum_event_signal(event);
    }
    return 0;
}

TEST(signals_against_timeouts) {
    /*
     * One signaler meets many waits that time out all the time: each signal is taken once, or is
     * left.
     */
    rig r;
    rig_begin(&r, 0);
    cast *c = cast_new(&r);
    cast *signaler = cast_new(&r);
    stage *s = stage_new(4, THRUM_EVENT_AUTO);
    s->rounds = SCALED(3000);
    cast_add_mixed(c, 3, 2, wait_rounds, s);
    cast_add(signaler, false, signal_rounds, s);
    cast_join(signaler);
    atomic_store(&s->result, 1);
    cast_join(c);
    int left = 0;
    for (size_t i = 0; i < s->n; i++) {
        left += thrum_event_test(&s->events[i]);
    }
    CHECK_EQ(atomic_load(&s->done) + left, s->rounds);
    stage_free(s);
    rig_stop(&r);
}

/* ---- signaled at every moment ---- */

typedef struct always {
    thrum_event events[2];
    bool selects;
    atomic_int round;
    atomic_int moved;
} always;

/* The second event is signaled before the first one is cleared. */
static void *moves_on(void *arg) {
    always *a = arg;
    for (int i = 1; i <= SCALED(50); i++) {
        SPIN_UNTIL(atomic_load(&a->round) == i);
        thrum_event_signal(&a->events[1]);
        thrum_event_clear(&a->events[0]);
        atomic_store(&a->moved, i);
    }
    return NULL;
}

static int finds_one(void *arg) {
    always *a = arg;
    thrum_event *list[MANY]; /* the others are never signaled */
    thrum_event others[MANY];
    thrum_case cases[MANY];
    for (size_t i = 0; i < MANY; i++) {
        thrum_event_init(&others[i], THRUM_EVENT_MANUAL, false);
        list[i] = i == 0 ? &a->events[1] : i == MANY - 1 ? &a->events[0] : &others[i];
        cases[i] = THRUM_EVENT_CASE(list[i]);
    }
    for (int i = 1; i <= SCALED(50); i++) {
        thrum_event_clear(&a->events[1]);
        thrum_event_signal(&a->events[0]);
        atomic_store(&a->round, i);
        for (volatile int turns = i * 7 % 200; turns > 0; turns--) {
        }
        CHECK((a->selects ? thrum_select(cases, MANY, past())
                          : thrum_event_wait_any(list, MANY, past())) >= 0);
        SPIN_UNTIL(atomic_load(&a->moved) == i);
    }
    return 0;
}

TEST(a_late_wait_finds_a_signal_that_is_always_there) {
    /* One of two events is signaled at every moment; the same for a select of events. */
    rig r;
    rig_begin(&r, 0);
    for (int i = 0; i < 2; i++) {
        always a = {.selects = i == 1};
        pthread_t thread;
        thrum_event_init(&a.events[0], THRUM_EVENT_MANUAL, false);
        thrum_event_init(&a.events[1], THRUM_EVENT_MANUAL, false);
        CHECK_EQ(pthread_create(&thread, NULL, moves_on, &a), 0);
        CHECK_EQ(rig_run(&r, finds_one, &a), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
    }
    rig_stop(&r);
}
