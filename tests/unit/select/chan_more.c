/*
 * chan_more.c: selects that wait for the close of a channel, selects in the order of their cases,
 * and receives of several elements, by fibers and by plain threads.
 */
/* matrix: policy workers */
#include "support/sync/chans.h"
#include "support/times.h"

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

/* ---- several elements at once ---- */

TEST(all_that_is_there_is_received) {
    /* Oldest first, at most so many; across the end of a ring, and of segments. */
    static const size_t capacities[] = {100, THRUM_UNBOUNDED};
    for (int k = 0; k < 2; k++) {
        thrum_chan *c = chan_new(capacities[k]);
        int got[3000];
        int next = 0;
        int sent = 0;
        CHECK_EQ(thrum_chan_try_recv_many(c, got, 0), -EINVAL);
        CHECK_EQ(thrum_chan_try_recv_many(c, got, 3), -EAGAIN);
        for (int round = 0; round < 50; round++) {
            const int n = k == 0 ? 70 : 2500;
            for (int i = 0; i < n; i++, sent++) {
                CHECK_EQ(thrum_chan_send(c, &sent), 0);
            }
            CHECK_EQ(thrum_chan_recv_many(c, got, 30), 30);
            CHECK_EQ(thrum_chan_recv_many_until(c, got + 30, 2970, past()), n - 30);
            for (int i = 0; i < n; i++) {
                CHECK_EQ(got[i], next++);
            }
            CHECK_EQ(thrum_chan_len(c), 0);
        }
        CHECK_EQ(thrum_chan_recv_many_until(c, got, 3, soon()), -ETIMEDOUT);
        CHECK_EQ(thrum_chan_send(c, &sent), 0);
        CHECK_EQ(thrum_chan_close(c), 0);
        CHECK_EQ(thrum_chan_recv_many(c, got, 3), 1);
        CHECK_EQ(thrum_chan_recv_many(c, got, 3), -EPIPE);
        CHECK_EQ(thrum_chan_destroy(c), 0);
    }
}

TEST(elements_of_no_size_are_counted) {
    /* They need no memory. */
    thrum_chan *c = NULL;
    CHECK_EQ(thrum_chan_create(&c, 0, 4), 0);
    CHECK_EQ(thrum_chan_send(c, NULL), 0);
    CHECK_EQ(thrum_chan_send(c, NULL), 0);
    CHECK_EQ(thrum_chan_recv_many(c, NULL, 9), 2);
    CHECK_EQ(thrum_chan_destroy(c), 0);
}

static int send_index(void *arg) {
    actor *a = arg;
    CHECK_EQ(thrum_chan_send_until(a->arg, &a->index, a->index % 2 ? far_off() : THRUM_FOREVER), 0);
    return 0;
}

TEST(senders_that_wait_are_received_from) {
    /* With and without a buffer, with and without a deadline: each is woken, each element arrives
     * once. */
    for (size_t capacity = 0; capacity < 6; capacity += 5) {
        rig r;
        rig_begin(&r, 0);
        thrum_chan *c = chan_new(capacity);
        cast *all = cast_new(&r);
        int got[32];
        int times[20] = {0};
        cast_add_mixed(all, 16, 4, send_index, c);
        SPIN_UNTIL(CHAN_SENDERS_WAITING(c) == 20 - (int)capacity);
        CHECK_EQ(thrum_chan_recv_many(c, got, 7), 7);
        CHECK_EQ(thrum_chan_recv_many(c, got + 7, 25), 13);
        cast_join(all);
        for (int i = 0; i < 20; i++) {
            CHECK_EQ(times[got[i]]++, 0);
        }
        CHECK_EQ(thrum_chan_destroy(c), 0);
        rig_stop(&r);
    }
}

static int receive_batches(void *arg) {
    thrum_chan *c = ((actor *)arg)->arg;
    int sum = 0;
    int64_t n;
    int got[8];
    while ((n = thrum_chan_recv_many(c, got, 8)) > 0) {
        for (int64_t i = 0; i < n; i++) {
            sum += got[i];
        }
    }
    CHECK_EQ(n, -EPIPE);
    return sum == 499500 ? 0 : 1;
}

TEST(a_receiver_of_batches_waits) {
    /* A fiber, and a thread. */
    for (int fibers = 0; fibers < 2; fibers++) {
        rig r;
        rig_begin(&r, 0);
        thrum_chan *c = chan_new(fibers ? 0 : 3);
        cast *all = cast_new(&r);
        cast_add_mixed(all, fibers, 1 - fibers, receive_batches, c);
        for (int i = 0; i < 1000; i++) {
            CHECK_EQ(thrum_chan_send(c, &i), 0);
        }
        CHECK_EQ(thrum_chan_close(c), 0);
        cast_join(all);
        CHECK_EQ(thrum_chan_destroy(c), 0);
        rig_stop(&r);
    }
}
