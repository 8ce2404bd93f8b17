/*
 * events.c: marl's tests of its events, restated: automatic, manual, test, clear, any of several.
 */
/* matrix: bound */
#include "support/sync/bound.h"

#include "support/sync/actors.h"
#include "support/times.h"

enum { N = 100 };

typedef struct hall {
    rig r; /* first: the allocator's ctx */
    thrum_event event;
    thrum_event many[4];
    atomic_int passed;
    atomic_int by[4];
} hall;

static int passes(void *arg) {
    hall *h = arg;
    CHECK_EQ(thrum_event_wait(&h->event), 0);
    atomic_fetch_add(&h->passed, 1);
    return 0;
}

static void fill(hall *h, thrum_event_mode mode) {
    bound_begin(&h->r);
    thrum_event_init(&h->event, mode, false);
    for (int i = 0; i < N; i++) {
        rig_go(&h->r, passes, h);
    }
    bound_settle(&h->r);
    CHECK_EQ(atomic_load(&h->passed), 0);
}

TEST(auto_lets_one_through_a_signal) {
    /* A hundred wait: each signal wakes one of them, and is gone. */
    static hall h;
    fill(&h, THRUM_EVENT_AUTO);
    for (int i = 0; i < N; i++) {
        thrum_event_signal(&h.event);
        bound_settle(&h.r);
        CHECK_EQ(atomic_load(&h.passed), i + 1);
        CHECK(!thrum_event_is_signaled(&h.event));
    }
    bound_end(&h.r);
}

TEST(manual_lets_all_through) {
    /* One signal wakes a hundred, and stays for those to come until it is cleared. */
    static hall h;
    fill(&h, THRUM_EVENT_MANUAL);
    thrum_event_signal(&h.event);
    bound_settle(&h.r);
    CHECK_EQ(atomic_load(&h.passed), N);
    CHECK_EQ(thrum_event_wait(&h.event), 0);
    CHECK(thrum_event_test(&h.event));
    CHECK(thrum_event_is_signaled(&h.event));
    thrum_event_clear(&h.event);
    CHECK(!thrum_event_test(&h.event));
    CHECK_EQ(thrum_event_wait_until(&h.event, soon()), -ETIMEDOUT);
    bound_end(&h.r);
}

TEST(a_test_takes_the_signal_of_an_auto_event) {
    /* While no task waits, signals do not add up, and thrum_event_is_signaled takes none. */
    rig r;
    thrum_event event = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, true);
    bound_begin(&r);
    CHECK(thrum_event_is_signaled(&event));
    CHECK(thrum_event_test(&event));
    CHECK(!thrum_event_test(&event));
    thrum_event_signal(&event);
    thrum_event_signal(&event);
    CHECK_EQ(thrum_event_wait(&event), 0);
    CHECK_EQ(thrum_event_wait_until(&event, past()), -ETIMEDOUT);
    bound_end(&r);
}

static int waits_for_any(void *arg) {
    hall *h = arg;
    thrum_event *list[4];
    for (int i = 0; i < 4; i++) {
        list[i] = &h->many[i];
    }
    const int which = thrum_event_wait_any(list, 4, far_off());
    CHECK(which >= 0 && which < 4);
    atomic_fetch_add(&h->by[which], 1);
    atomic_fetch_add(&h->passed, 1);
    return 0;
}

TEST(waiting_for_any_consumes_that_one_alone) {
    /* A hundred wait for any of four; each signal lets one through, by the event signaled. */
    static hall h;
    bound_begin(&h.r);
    for (int i = 0; i < 4; i++) {
        thrum_event_init(&h.many[i], THRUM_EVENT_AUTO, false);
    }
    for (int i = 0; i < N; i++) {
        rig_go(&h.r, waits_for_any, &h);
    }
    bound_settle(&h.r);
    for (int i = 0; i < N; i++) {
        thrum_event_signal(&h.many[i % 4]);
        bound_settle(&h.r);
        CHECK_EQ(atomic_load(&h.passed), i + 1);
    }
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(atomic_load(&h.by[i]), N / 4);
        CHECK_EQ(EVENT_WAITING(&h.many[i]), 0);
        CHECK(!thrum_event_is_signaled(&h.many[i]));
    }
    for (int i = 0; i < 4; i++) {
        thrum_event_signal(&h.many[i]);
    }
    CHECK_EQ(waits_for_any(&h), 0);
    int left = 0;
    for (int i = 0; i < 4; i++) {
        left += thrum_event_test(&h.many[i]);
    }
    CHECK_EQ(left, 3);
    bound_end(&h.r);
}

/* ---- from one to the next ---- */

typedef struct runner {
    thrum_event *mine, *next;
} runner;

static int passes_on(void *arg) {
    runner *me = arg;
    CHECK_EQ(thrum_event_wait(me->mine), 0);
    thrum_event_signal(me->next);
    return 0;
}

TEST(a_baton_goes_through_a_chain) {
    /* Each of 512 tasks waits for the one before it; the thread begins and ends the chain. */
    enum { CHAIN = 512 };
    static thrum_event events[CHAIN + 1];
    static runner runners[CHAIN];
    rig r;
    bound_begin(&r);
    for (int i = 0; i <= CHAIN; i++) {
        thrum_event_init(&events[i], THRUM_EVENT_AUTO, false);
    }
    for (int i = 0; i < CHAIN; i++) {
        runners[i] = (runner){&events[i], &events[i + 1]};
        rig_go(&r, passes_on, &runners[i]);
    }
    thrum_event_signal(&events[0]);
    CHECK_EQ(thrum_event_wait(&events[CHAIN]), 0);
    bound_end(&r);
}
