/*
 * event.c: manual and auto events, by fibers and by plain threads.
 */
/* matrix: policy workers */
#include "support/sync/actors.h"

TEST(manual_stays_signaled_until_cleared) {
    /* Waits and tests change nothing; a second signal adds nothing. */
    thrum_event event;
    thrum_event_init(&event, THRUM_EVENT_MANUAL, false);
    CHECK(!thrum_event_is_signaled(&event));
    CHECK(!thrum_event_test(&event));
    thrum_event_signal(&event);
    thrum_event_signal(&event);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(thrum_event_wait(&event), 0);
        CHECK(thrum_event_test(&event));
        CHECK(thrum_event_is_signaled(&event));
    }
    thrum_event_clear(&event);
    CHECK(!thrum_event_is_signaled(&event));
    thrum_event_clear(&event);
    CHECK(!thrum_event_test(&event));
    CHECK_EQ(thrum_event_destroy(&event), 0);
}

TEST(auto_is_cleared_by_the_wait_that_passes) {
    /* A wait or a test takes the signal, is_signaled does not; signals do not add up. */
    thrum_event event;
    thrum_event_init(&event, THRUM_EVENT_AUTO, true);
    CHECK(thrum_event_is_signaled(&event));
    CHECK(thrum_event_is_signaled(&event));
    CHECK_EQ(thrum_event_wait(&event), 0);
    CHECK(!thrum_event_is_signaled(&event));
    CHECK(!thrum_event_test(&event));
    thrum_event_signal(&event);
    thrum_event_signal(&event);
    CHECK(thrum_event_test(&event));
    CHECK(!thrum_event_test(&event));
    thrum_event_signal(&event);
    thrum_event_clear(&event);
    CHECK(!thrum_event_test(&event));
    CHECK_EQ(thrum_event_destroy(&event), 0);
}

TEST(static_initializer_is_init) {
    /* Both make the same bytes, in each mode and state. */
    static thrum_event by_text[4] = {
        THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false), THRUM_EVENT_INIT(THRUM_EVENT_AUTO, true),
        THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false), THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, true)};
    for (int i = 0; i < 4; i++) {
        thrum_event by_call;
        thrum_event_init(&by_call, i < 2 ? THRUM_EVENT_AUTO : THRUM_EVENT_MANUAL, i % 2 != 0);
        CHECK(memcmp(&by_text[i], &by_call, sizeof(by_call)) == 0);
    }
}

typedef struct stage {
    thrum_event event;
    thrum_event other;
    order log;
    int plain;
    atomic_int data;
    atomic_int left;
    int rounds;
} stage;

static stage *stage_new(thrum_event_mode mode) {
    stage *s = calloc(1, sizeof(*s));
    CHECK(s != NULL);
    thrum_event_init(&s->event, mode, false);
    thrum_event_init(&s->other, mode, false);
    return s;
}

static int wait_and_log(void *arg) {
    actor *a = arg;
    stage *s = a->arg;
    CHECK_EQ(thrum_event_wait(&s->event), 0);
    CHECK_EQ(s->plain, 1);
    order_add(&s->log, a->index);
    return 0;
}

TEST(manual_signal_wakes_everyone) {
    /* All waiters pass, and later ones too; they see what was written before. */
    rig r;
    rig_begin(&r, 0);
    stage *s = stage_new(THRUM_EVENT_MANUAL);
    cast *c = cast_new(&r);
    cast_add_mixed(c, 60, 3, wait_and_log, s);
    YIELD_UNTIL(EVENT_WAITING(&s->event) == 63);
    CHECK(!thrum_event_test(&s->event));
    CHECK_EQ(atomic_load(&s->log.count), 0);
    s->plain = 1;
    thrum_event_signal(&s->event);
    CHECK(thrum_event_is_signaled(&s->event));
    cast_add_mixed(c, 5, 1, wait_and_log, s);
    cast_join(c);
    CHECK_EQ(atomic_load(&s->log.count), 69);
    free(s);
    rig_stop(&r);
}

static void pulse_some(thrum_event_mode mode) {
    rig r;
    rig_begin(&r, 0);
    stage *s = stage_new(mode);
    cast *c = cast_new(&r);
    thrum_event_pulse(&s->event); /* nobody waits: it leaves no signal */
    CHECK(!thrum_event_is_signaled(&s->event));
    cast_add_mixed(c, 20, 3, wait_and_log, s);
    YIELD_UNTIL(EVENT_WAITING(&s->event) == 23);
    s->plain = 1;
    thrum_event_pulse(&s->event);
    CHECK(!thrum_event_is_signaled(&s->event));
    CHECK_EQ(EVENT_WAITING(&s->event), 0);
    YIELD_UNTIL(atomic_load(&s->log.count) == 23);
    cast_add_mixed(c, 2, 1, wait_and_log, s);
    YIELD_UNTIL(EVENT_WAITING(&s->event) == 3);
    CHECK_EQ(atomic_load(&s->log.count), 23);
    thrum_event_pulse(&s->event);
    cast_join(c);
    CHECK_EQ(atomic_load(&s->log.count), 26);
    thrum_event_signal(&s->event);
    thrum_event_pulse(&s->event); /* a signal stays */
    CHECK(thrum_event_test(&s->event));
    free(s);
    rig_stop(&r);
}

TEST(a_pulse_wakes_those_that_wait) {
    /* All of them, also at an auto event, and nobody who comes later. */
    pulse_some(THRUM_EVENT_MANUAL);
    pulse_some(THRUM_EVENT_AUTO);
}

TEST(auto_signal_lets_the_first_through) {
    /*
     * One signal lets one waiter through, first come, first served; no other thread takes it from
     * that one.
     */
    enum { WAITERS = 12 };
    rig r;
    rig_begin(&r, 0);
    stage *s = stage_new(THRUM_EVENT_AUTO);
    cast *c = cast_new(&r);
    for (int i = 0; i < WAITERS; i++) {
        cast_add(c, i % 3 != 0, wait_and_log, s);
        YIELD_UNTIL(EVENT_WAITING(&s->event) == i + 1);
    }
    s->plain = 1;
    for (int i = 0; i < WAITERS; i++) {
        thrum_event_signal(&s->event);
        CHECK(!thrum_event_is_signaled(&s->event));
        CHECK(!thrum_event_test(&s->event));
        YIELD_UNTIL(atomic_load(&s->log.count) == i + 1);
    }
    cast_join(c);
    for (int i = 0; i < WAITERS; i++) {
        CHECK_EQ(s->log.seen[i], i);
    }
    free(s);
    rig_stop(&r);
}

static int ping(void *arg) {
    stage *s = ((actor *)arg)->arg;
    for (int i = 0; i < s->rounds; i++) {
        CHECK_EQ(s->plain, 2 * i);
        s->plain++;
        thrum_event_signal(&s->event);
        CHECK_EQ(thrum_event_wait(&s->other), 0);
    }
    return 0;
}

static int pong(void *arg) {
    stage *s = ((actor *)arg)->arg;
    for (int i = 0; i < s->rounds; i++) {
        CHECK_EQ(thrum_event_wait(&s->event), 0);
        CHECK_EQ(s->plain, 2 * i + 1);
        s->plain++;
        thrum_event_signal(&s->other);
    }
    return 0;
}

TEST(ping_pong_in_every_pairing) {
    /* Auto events connect fiber and fiber, thread and thread, and both kinds. */
    rig r;
    rig_begin(&r, 0);
    for (int kinds = 0; kinds < 4; kinds++) {
        cast *c = cast_new(&r);
        stage *s = stage_new(THRUM_EVENT_AUTO);
        s->rounds = SCALED(kinds == 3 ? 10000 : 1000);
        cast_add(c, (kinds & 1) != 0, ping, s);
        cast_add(c, (kinds & 2) != 0, pong, s);
        cast_join(c);
        CHECK_EQ(s->plain, 2 * s->rounds);
        free(s);
    }
    rig_stop(&r);
}

/* ---- signals that come while the event is signaled ---- */

static int produce(void *arg) {
    stage *s = ((actor *)arg)->arg;
    for (int i = 0; i < s->rounds; i++) {
        atomic_fetch_add_explicit(&s->data, 1, memory_order_relaxed);
        thrum_event_signal(&s->event);
        if (i % 16 == 0) {
            thrum_yield();
        }
    }
    return 0;
}

static int consume(void *arg) {
    stage *s = ((actor *)arg)->arg;
    const bool manual = s->event.reserved_mode == THRUM_EVENT_MANUAL;
    const int all = 3 * s->rounds;
    int got = 0;
    while (got < all) {
        if (manual) {
            thrum_event_clear(&s->event);
        }
        const int now = atomic_exchange_explicit(&s->data, 0, memory_order_relaxed);
        got += now;
        if (now == 0 && got < all) {
            CHECK_EQ(thrum_event_wait(&s->event), 0); /* this hangs if a signal is lost */
        }
    }
    return 0;
}

TEST(no_signal_is_lost_between_clear_and_look) {
    /* Clear, look, wait: what was written before a signal is found by the look or ends the wait. */
    rig r;
    rig_begin(&r, 0);
    for (int kinds = 0; kinds < 4; kinds++) {
        cast *c = cast_new(&r);
        stage *s = stage_new(kinds % 2 == 0 ? THRUM_EVENT_MANUAL : THRUM_EVENT_AUTO);
        s->rounds = SCALED(4000);
        cast_add(c, kinds < 2, consume, s);
        cast_add_mixed(c, 2, 1, produce, s);
        cast_join(c);
        free(s);
    }
    rig_stop(&r);
}

static int pass_and_count(void *arg) {
    stage *s = ((actor *)arg)->arg;
    CHECK_EQ(thrum_event_wait(&s->event), 0);
    atomic_fetch_sub(&s->left, 1);
    thrum_event_signal(&s->other); /* tells the signaler that one has passed */
    return 0;
}

TEST(each_auto_signal_lets_exactly_one_through) {
    /* A crowd gets one signal at a time: after each exactly one more has passed. */
    rig r;
    rig_begin(&r, 0);
    stage *s = stage_new(THRUM_EVENT_AUTO);
    cast *c = cast_new(&r);
    const int n = SCALED(300) + 3;
    atomic_store(&s->left, n);
    cast_add_mixed(c, n - 3, 3, pass_and_count, s);
    for (int i = 1; i <= n; i++) {
        thrum_event_signal(&s->event);
        CHECK_EQ(thrum_event_wait(&s->other), 0);
        CHECK_EQ(atomic_load(&s->left), n - i);
    }
    cast_join(c);
    CHECK(!thrum_event_is_signaled(&s->event));
    free(s);
    rig_stop(&r);
}

/* ---- the end of an event ---- */

TEST(destroy_is_refused_while_waited_for) {
    /* -EBUSY changes nothing; afterwards it is zero, also when it was signaled. */
    static const thrum_event zero;
    rig r;
    rig_begin(&r, 0);
    for (int mode = 0; mode < 2; mode++) {
        stage *s = stage_new(mode == 0 ? THRUM_EVENT_AUTO : THRUM_EVENT_MANUAL);
        cast *c = cast_new(&r);
        s->plain = 1;
        cast_add_mixed(c, 1, 1, wait_and_log, s);
        YIELD_UNTIL(EVENT_WAITING(&s->event) == 2);
        const thrum_event before = s->event;
        CHECK_EQ(thrum_event_destroy(&s->event), -EBUSY);
        CHECK(memcmp(&before, &s->event, sizeof(before)) == 0);
        thrum_event_signal(&s->event);
        thrum_event_signal(&s->event);
        cast_join(c);
        thrum_event_signal(&s->event);
        CHECK_EQ(thrum_event_destroy(&s->event), 0);
        CHECK(memcmp(&zero, &s->event, sizeof(zero)) == 0);
        free(s);
    }
    rig_stop(&r);
}

/* The waiter makes the event and frees it as soon as its wait has returned. */
typedef struct handover {
    _Atomic(thrum_event *) event;
    int rounds;
} handover;

static int free_after_wait(void *arg) {
    handover *h = ((actor *)arg)->arg;
    for (int i = 0; i < h->rounds; i++) {
        thrum_event *event = malloc(sizeof(*event));
        CHECK(event != NULL);
        thrum_event_init(event, i % 2 == 0 ? THRUM_EVENT_AUTO : THRUM_EVENT_MANUAL, false);
        atomic_store(&h->event, event);
        CHECK_EQ(thrum_event_wait(event), 0);
        memset(event, 0xee, sizeof(*event));
        free(event);
        YIELD_UNTIL(atomic_load(&h->event) == NULL);
    }
    return 0;
}

static int signal_freed(void *arg) {
    handover *h = ((actor *)arg)->arg;
    for (int i = 0; i < h->rounds; i++) {
        thrum_event *event;
        YIELD_UNTIL((event = atomic_exchange(&h->event, NULL)) != NULL);
        thrum_event_signal(event);
    }
    return 0;
}

TEST(freed_as_soon_as_the_wait_returned) {
    /* The signaler does not touch the event after the waiter may go on. */
    rig r;
    rig_begin(&r, 0);
    for (int kinds = 0; kinds < 4; kinds++) {
        cast *c = cast_new(&r);
        handover h = {.rounds = SCALED(kinds == 3 ? 3000 : 150)};
        cast_add(c, (kinds & 1) != 0, free_after_wait, &h);
        cast_add(c, (kinds & 2) != 0, signal_freed, &h);
        cast_join(c);
    }
    rig_stop(&r);
}
