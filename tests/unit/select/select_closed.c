/*
 * select_closed.c: selects that wait for the close of a channel, and selects in the order of their
 * cases, by fibers and by plain threads.
 */
/* matrix: policy workers */
#include "support/sync/actors.h"
#include "support/times.h"
#include "sync/chan.h"

static thrum_chan *chan_new(size_t capacity) {
    thrum_chan *c = NULL;
    CHECK_EQ(thrum_chan_create(&c, sizeof(int), capacity), 0);
    return c;
}

static int closers_waiting(thrum_chan *chan) {
    th_chan_lock(chan);
    int n = waiting_count(th_chan_closers(chan).first);
    th_chan_unlock(chan);
    return n;
}

TEST(a_close_can_be_asked_for) {
    /* The elements in the channel do not matter, and are still received. */
    thrum_chan *c = chan_new(1);
    int value = 3;
    thrum_case none[] = {THRUM_CLOSED_CASE(NULL), THRUM_CLOSED_CASE(c)};
    CHECK(!thrum_chan_is_closed(c));
    CHECK_EQ(thrum_select(none, 2, past()), -ETIMEDOUT);
    CHECK_EQ(thrum_chan_send(c, &value), 0);
    CHECK_EQ(thrum_select(none, 2, soon()), -ETIMEDOUT);
    CHECK_EQ(thrum_chan_close(c), 0);
    CHECK(thrum_chan_is_closed(c));
    CHECK_EQ(thrum_select(none, 2, past()), 1);
    CHECK_EQ(none[1].status, 0);
    CHECK_EQ(thrum_select(none, 2, THRUM_FOREVER), 1);
    value = 0;
    CHECK_EQ(thrum_chan_recv(c, &value), 0);
    CHECK_EQ(value, 3);
    none[1].chan = c;
    CHECK_EQ(thrum_select(none, 2, past()), -EINVAL);
    CHECK_EQ(thrum_chan_destroy(c), 0);
}

typedef struct stage {
    thrum_chan *closes, *other;
    int plain;
} stage;

static int wait_for_close(void *arg) {
    stage *s = ((actor *)arg)->arg;
    int value = 0;
    thrum_case cases[] = {THRUM_RECV_CASE(s->other, &value), THRUM_CLOSED_CASE(s->closes)};
    CHECK_EQ(thrum_select(cases, 2, ((actor *)arg)->index % 2 ? far_off() : THRUM_FOREVER), 1);
    CHECK_EQ(cases[1].status, 0);
    CHECK_EQ(s->plain, 7);
    return 0;
}

TEST(a_close_wakes_all_that_wait_for_it) {
    /* Sends do not; a channel that somebody waits for is not destroyed. */
    rig r;
    rig_begin(&r, 0);
    stage s = {chan_new(4), chan_new(0), 0};
    cast *c = cast_new(&r);
    int value = 1;
    cast_add_mixed(c, 8, 3, wait_for_close, &s);
    SPIN_UNTIL(closers_waiting(s.closes) == 11);
    CHECK_EQ(thrum_chan_destroy(s.closes), -EBUSY);
    CHECK_EQ(thrum_chan_send(s.closes, &value), 0);
    CHECK_EQ(closers_waiting(s.closes), 11);
    s.plain = 7;
    CHECK_EQ(thrum_chan_close(s.closes), 0);
    cast_join(c);
    CHECK_EQ(thrum_chan_destroy(s.closes), 0);
    CHECK_EQ(thrum_chan_destroy(s.other), 0);
    rig_stop(&r);
}

TEST(an_ordered_select_does_the_first_case) {
    /* It does so as long as that can be done, and with any kind of case before or behind it. */
    thrum_chan *a = chan_new(200);
    thrum_chan *b = chan_new(200);
    thrum_event stop = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(thrum_chan_send(a, &i), 0);
        CHECK_EQ(thrum_chan_send(b, &i), 0);
    }
    for (int i = 0; i < 201; i++) {
        int value = -1;
        thrum_case cases[] = {THRUM_EVENT_CASE(&stop), THRUM_RECV_CASE(a, &value),
                              THRUM_RECV_CASE(b, &value)};
        if (i == 150) {
            thrum_event_signal(&stop);
        }
        CHECK_EQ(thrum_select_ordered(cases, 3, i % 2 ? past() : far_off()), i < 100   ? 1
                                                                             : i < 150 ? 2
                                                                                       : 0);
        CHECK_EQ(cases[1].status, 0);
        CHECK_EQ(value, i < 150 ? i % 100 : -1);
    }
    thrum_case cases[] = {THRUM_RECV_CASE(a, NULL), THRUM_CLOSED_CASE(a)};
    CHECK_EQ(thrum_select_ordered(cases, 2, past()), -ETIMEDOUT);
    CHECK_EQ(thrum_select_ordered(NULL, 2, past()), -EINVAL);
    CHECK_EQ(thrum_chan_close(a), 0);
    CHECK_EQ(thrum_select_ordered(cases, 2, past()), 0);
    CHECK_EQ(cases[0].status, -EPIPE);
    CHECK_EQ(thrum_chan_destroy(a), 0);
    CHECK_EQ(thrum_chan_destroy(b), 0);
}

static int wait_in_order(void *arg) {
    stage *s = ((actor *)arg)->arg;
    int got = 0;
    for (;;) {
        int value = 0;
        thrum_case cases[] = {THRUM_RECV_CASE(s->other, &value), THRUM_RECV_CASE(s->closes, NULL)};
        int i = thrum_select_ordered(cases, 2, THRUM_FOREVER);
        if (i == 1) {
            CHECK_EQ(got, 1); /* the element was there before the close */
            return 0;
        }
        CHECK_EQ(i, 0);
        got++;
    }
}

TEST(an_ordered_select_waits) {
    /* An element that was sent before another channel was closed is received first. */
    for (int round = 0; round < SCALED(50); round++) {
        rig r;
        rig_begin(&r, 0);
        stage s = {chan_new(0), chan_new(1), 0};
        cast *c = cast_new(&r);
        int value = 1;
        cast_add_mixed(c, round % 2, 1 - round % 2, wait_in_order, &s);
        CHECK_EQ(thrum_chan_send(s.other, &value), 0);
        CHECK_EQ(thrum_chan_close(s.closes), 0);
        cast_join(c);
        CHECK_EQ(thrum_chan_destroy(s.closes), 0);
        CHECK_EQ(thrum_chan_destroy(s.other), 0);
        rig_stop(&r);
    }
}
