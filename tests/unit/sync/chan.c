/*
 * chan.c: channels, by fibers and by plain threads.
 */
/* matrix: policy workers */
#include "support/sync/chans.h"
#include "support/times.h"

TEST(wrong_arguments_are_refused) {
    /* Sizes that do not fit are -EINVAL; destroying no channel is fine. */
    thrum_chan *c = NULL;
    CHECK_EQ(thrum_chan_create(NULL, 8, 1), -EINVAL);
    CHECK_EQ(thrum_chan_create(&c, SIZE_MAX / 2, 4), -EINVAL);
    CHECK_EQ(thrum_chan_create(&c, 8, SIZE_MAX / 8), -EINVAL);
    CHECK_EQ(thrum_chan_create(&c, SIZE_MAX / 2, THRUM_UNBOUNDED), -EINVAL);
    CHECK(c == NULL);
    CHECK_EQ(thrum_chan_destroy(NULL), 0);
}

typedef struct large {
    unsigned char bytes[301];
} large;

static void fill(void *to, size_t size, unsigned seed) {
    unsigned char *p = to;
    for (size_t i = 0; i < size; i++) {
        p[i] = (unsigned char)(seed * 31 + i * 7 + 1);
    }
}

TEST(elements_of_any_size_arrive_in_order) {
    /*
     * Elements have sizes that are copied inline, other sizes, none; capacities are 1, 3,
     * unbounded; they go round more than once.
     */
    const size_t sizes[] = {0, 1, 3, 4, 8, 12, 16, 24, 301};
    const size_t capacities[] = {1, 3, THRUM_UNBOUNDED};
    for (size_t k = 0; k < COUNT_OF(sizes) * COUNT_OF(capacities); k++) {
        const size_t size = sizes[k % COUNT_OF(sizes)];
        const size_t capacity = capacities[k / COUNT_OF(sizes)];
        thrum_chan *c;
        CHECK_EQ(thrum_chan_create(&c, size, capacity), 0);
        large in, out;
        unsigned sent = 0;
        unsigned got = 0;
        for (int round = 0; round < 40; round++) {
            unsigned most = capacity == THRUM_UNBOUNDED ? (unsigned)round * 20 : (unsigned)capacity;
            for (unsigned i = 0; i < most; i++) {
                fill(&in, sizeof(in), sent++);
                CHECK_EQ(thrum_chan_send(c, &in), 0);
                CHECK_EQ(thrum_chan_len(c), i + 1);
            }
            if (capacity != THRUM_UNBOUNDED) {
                CHECK_EQ(thrum_chan_try_send(c, &in), -EAGAIN);
            }
            for (unsigned i = 0; i < most; i++) {
                memset(&out, 0, sizeof(out));
                fill(&in, size, got++);
                CHECK_EQ(thrum_chan_recv(c, &out), 0);
                CHECK(memcmp(&in, &out, size) == 0);
                CHECK(size == sizeof(out) || out.bytes[size] == 0); /* no byte more than that */
            }
            CHECK_EQ(thrum_chan_try_recv(c, &out), -EAGAIN);
        }
        CHECK_EQ(thrum_chan_destroy(c), 0);
    }
}

TEST(an_unbounded_channel_takes_all) {
    /*
     * Half a million are sent without a receiver; then they come back in order, and again
     * interleaved.
     */
    thrum_chan *c;
    CHECK_EQ(thrum_chan_create(&c, sizeof(int), THRUM_UNBOUNDED), 0);
    const int n = SCALED(500000);
    int got;
    for (int i = 0; i < n; i++) {
        CHECK_EQ(thrum_chan_send(c, &i), 0);
    }
    CHECK_EQ(thrum_chan_len(c), n);
    for (int i = 0; i < n; i++) {
        CHECK_EQ(thrum_chan_recv(c, &got), 0);
        CHECK_EQ(got, i);
    }
    int out = 0;
    for (int i = 0; i < n; i++) {
        CHECK_EQ(thrum_chan_try_send(c, &i), 0);
        if (i % 3 != 0) {
            CHECK_EQ(thrum_chan_recv(c, &got), 0);
            CHECK_EQ(got, out++);
        }
    }
    CHECK_EQ(thrum_chan_destroy(c), 0); /* elements are still in it */
}

TEST(closed_channels_drain) {
    /* What was sent before the close is received; then comes -EPIPE; a second close is refused. */
    const size_t capacities[] = {4, THRUM_UNBOUNDED, 0};
    for (size_t k = 0; k < COUNT_OF(capacities); k++) {
        thrum_chan *c;
        CHECK_EQ(thrum_chan_create(&c, sizeof(int), capacities[k]), 0);
        int left = capacities[k] == 0 ? 0 : 3;
        for (int i = 0; i < left; i++) {
            CHECK_EQ(thrum_chan_send(c, &i), 0);
        }
        CHECK_EQ(thrum_chan_close(c), 0);
        CHECK_EQ(thrum_chan_close(c), -EPIPE);
        int got = 7;
        CHECK_EQ(thrum_chan_send(c, &got), -EPIPE);
        CHECK_EQ(thrum_chan_try_send(c, &got), -EPIPE);
        CHECK_EQ(thrum_chan_send_until(c, &got, past()), -EPIPE);
        for (int i = 0; i < left; i++) {
            CHECK_EQ(thrum_chan_recv(c, &got), 0);
            CHECK_EQ(got, i);
        }
        got = 7;
        CHECK_EQ(thrum_chan_recv(c, &got), -EPIPE);
        CHECK_EQ(thrum_chan_try_recv(c, &got), -EPIPE);
        CHECK_EQ(thrum_chan_recv_until(c, &got, past()), -EPIPE);
        CHECK_EQ(got, 7);
        CHECK_EQ(thrum_chan_destroy(c), 0);
    }
}

typedef struct stage {
    thrum_chan *chan;
    thrum_chan *back;
    order log;
    atomic_int done;
    atomic_long sum;
    atomic_int count;
    int rounds;
    int expected;
    int plain; /* ordered by the channel */
} stage;

static stage *stage_new(size_t capacity) {
    stage *s = calloc(1, sizeof(*s));
    CHECK(s != NULL);
    CHECK_EQ(thrum_chan_create(&s->chan, sizeof(int), capacity), 0);
    CHECK_EQ(thrum_chan_create(&s->back, sizeof(int), capacity), 0);
    return s;
}

static void stage_free(stage *s) {
    CHECK_EQ(thrum_chan_destroy(s->chan), 0);
    CHECK_EQ(thrum_chan_destroy(s->back), 0);
    free(s);
}

static int send_index(void *arg) {
    actor *a = arg;
    stage *s = a->arg;
    CHECK_EQ(thrum_chan_send(s->chan, &a->index), s->expected);
    atomic_fetch_add(&s->done, 1);
    return 0;
}

static int recv_and_log(void *arg) {
    actor *a = arg;
    stage *s = a->arg;
    int got = -1;
    CHECK_EQ(thrum_chan_recv(s->chan, &got), s->expected);
    CHECK_EQ(got, s->expected ? -1 : a->index);
    order_add(&s->log, a->index);
    return 0;
}

TEST(waiting_receivers_are_served_first_come_first_served) {
    /* Fibers and threads wait one after the other; the n-th element goes to the n-th one. */
    enum { WAITERS = 10 };
    for (int capacity = 0; capacity < 3; capacity++) {
        rig r;
        rig_begin(&r, 0);
        cast *c = cast_new(&r);
        stage *s = stage_new((size_t)capacity);
        for (int i = 0; i < WAITERS; i++) {
            cast_add(c, i % 3 != 0, recv_and_log, s);
            YIELD_UNTIL(CHAN_RECEIVERS_WAITING(s->chan) == i + 1);
        }
        CHECK_EQ(thrum_chan_destroy(s->chan), -EBUSY);
        for (int i = 0; i < WAITERS; i++) {
            CHECK_EQ(thrum_chan_send(s->chan, &i), 0);
            CHECK_EQ(CHAN_RECEIVERS_WAITING(s->chan), WAITERS - i - 1);
            CHECK_EQ(thrum_chan_len(s->chan), 0); /* it went straight there */
        }
        cast_join(c);
        stage_free(s);
        rig_stop(&r);
    }
}

TEST(waiting_senders_are_served_first_come_first_served) {
    /* They wait behind a full buffer; each receive lets the first of them put its element in. */
    enum { WAITERS = 10 };
    for (int capacity = 0; capacity < 3; capacity++) {
        rig r;
        rig_begin(&r, 0);
        cast *c = cast_new(&r);
        stage *s = stage_new((size_t)capacity);
        for (int i = 0; i < WAITERS; i++) {
            cast_add(c, i % 3 != 0, send_index, s);
            if (i < capacity) {
                YIELD_UNTIL(thrum_chan_len(s->chan) == (size_t)i + 1);
            } else {
                YIELD_UNTIL(CHAN_SENDERS_WAITING(s->chan) == i + 1 - capacity);
            }
        }
        CHECK_EQ(thrum_chan_destroy(s->chan), -EBUSY);
        for (int i = 0; i < WAITERS; i++) {
            int got;
            CHECK_EQ(thrum_chan_try_recv(s->chan, &got), 0);
            CHECK_EQ(got, i);
            int left = WAITERS - capacity - i - 1;
            CHECK_EQ(CHAN_SENDERS_WAITING(s->chan), left > 0 ? left : 0);
        }
        cast_join(c);
        CHECK_EQ(atomic_load(&s->done), WAITERS);
        stage_free(s);
        rig_stop(&r);
    }
}

TEST(a_rendezvous_holds_the_sender) {
    /* A send does not return before its element was taken. */
    rig r;
    rig_begin(&r, 0);
    for (int i = 0; i < 6; i++) {
        cast *c = cast_new(&r);
        stage *s = stage_new(0);
        cast_add(c, i % 2 == 0, send_index, s);
        YIELD_UNTIL(CHAN_SENDERS_WAITING(s->chan) == 1);
        CHECK_EQ(atomic_load(&s->done), 0);
        CHECK_EQ(thrum_chan_len(s->chan), 0);
        int got = -1;
        CHECK_EQ(thrum_chan_recv(s->chan, &got), 0);
        CHECK_EQ(got, 0);
        cast_join(c);
        stage_free(s);
    }
    rig_stop(&r);
}

TEST(a_close_turns_senders_away) {
    /* Waiting senders get -EPIPE and their elements are not sent; what lies there is received. */
    rig r;
    rig_begin(&r, 0);
    for (int capacity = 0; capacity < 2; capacity++) {
        cast *c = cast_new(&r);
        stage *s = stage_new((size_t)capacity);
        int first = 77;
        if (capacity) {
            CHECK_EQ(thrum_chan_send(s->chan, &first), 0);
        }
        s->expected = -EPIPE;
        cast_add_mixed(c, 3, 3, send_index, s);
        YIELD_UNTIL(CHAN_SENDERS_WAITING(s->chan) == 6);
        CHECK_EQ(thrum_chan_close(s->chan), 0);
        cast_join(c);
        int got = 0;
        CHECK_EQ(thrum_chan_recv(s->chan, &got), capacity ? 0 : -EPIPE);
        CHECK_EQ(got, capacity ? 77 : 0);
        CHECK_EQ(thrum_chan_recv(s->chan, &got), -EPIPE);
        stage_free(s);
    }
    rig_stop(&r);
}

TEST(a_close_turns_receivers_away) {
    /* All waiting receivers get -EPIPE; where they would have received is untouched. */
    rig r;
    rig_begin(&r, 0);
    cast *c = cast_new(&r);
    stage *s = stage_new(2);
    s->expected = -EPIPE;
    cast_add_mixed(c, 3, 3, recv_and_log, s);
    YIELD_UNTIL(CHAN_RECEIVERS_WAITING(s->chan) == 6);
    CHECK_EQ(thrum_chan_close(s->chan), 0);
    cast_join(c);
    stage_free(s);
    rig_stop(&r);
}

static int be_late(void *arg) {
    stage *s = ((actor *)arg)->arg;
    int elem = 5;
    CHECK_EQ(thrum_chan_recv_until(s->chan, &elem, past()), -ETIMEDOUT);
    thrum_time until = soon();
    CHECK_EQ(thrum_chan_recv_until(s->chan, &elem, until), -ETIMEDOUT);
    CHECK_PASSED(until);
    CHECK_EQ(elem, 5);
    CHECK_EQ(thrum_chan_send_until(s->back, &elem, past()), -ETIMEDOUT);
    until = soon();
    CHECK_EQ(thrum_chan_send_until(s->back, &elem, until), -ETIMEDOUT);
    CHECK_PASSED(until);
    return 0;
}

TEST(a_timeout_moves_nothing) {
    /* Nothing is received or sent, it is never early, and no waiter is left. */
    rig r;
    rig_begin(&r, 0);
    for (int capacity = 0; capacity < 2; capacity++) {
        cast *c = cast_new(&r);
        stage *s = stage_new((size_t)capacity);
        int elem = 9;
        if (capacity) {
            CHECK_EQ(thrum_chan_send(s->back, &elem), 0);
        }
        cast_add_mixed(c, 2, 2, be_late, s);
        cast_join(c);
        CHECK_EQ(CHAN_RECEIVERS_WAITING(s->chan), 0);
        CHECK_EQ(CHAN_SENDERS_WAITING(s->back), 0);
        CHECK_EQ(thrum_chan_len(s->back), capacity);
        stage_free(s);
    }
    rig_stop(&r);
}

static int send_many(void *arg) {
    actor *a = arg;
    stage *s = a->arg;
    for (int i = 1; i <= s->rounds; i++) {
        CHECK_EQ(thrum_chan_send(s->chan, &i), 0);
        if (i % 64 == 0) {
            thrum_yield();
        }
    }
    atomic_fetch_add(&s->done, 1);
    return 0;
}

static int recv_many(void *arg) {
    stage *s = ((actor *)arg)->arg;
    int got;
    int code;
    while ((code = thrum_chan_recv(s->chan, &got)) == 0) {
        atomic_fetch_add(&s->sum, got);
        atomic_fetch_add(&s->count, 1);
    }
    CHECK_EQ(code, -EPIPE);
    return 0;
}

TEST(each_element_arrives_once) {
    /*
     * Many senders and receivers of both kinds share each kind of channel; sums and counts agree.
     */
    const size_t capacities[] = {0, 1, 7, THRUM_UNBOUNDED};
    for (size_t k = 0; k < COUNT_OF(capacities); k++) {
        rig r;
        rig_begin(&r, 0);
        cast *senders = cast_new(&r);
        cast *receivers = cast_new(&r);
        stage *s = stage_new(capacities[k]);
        s->rounds = SCALED(1000);
        cast_add_mixed(receivers, 3, 2, recv_many, s);
        cast_add_mixed(senders, 3, 2, send_many, s);
        cast_join(senders);
        CHECK_EQ(thrum_chan_close(s->chan), 0);
        cast_join(receivers);
        CHECK_EQ(atomic_load(&s->count), 5 * s->rounds);
        CHECK_EQ(atomic_load(&s->sum), 5L * s->rounds * (s->rounds + 1) / 2);
        stage_free(s);
        rig_stop(&r);
    }
}

static int ping(void *arg) {
    stage *s = ((actor *)arg)->arg;
    int ball = 0;
    for (int i = 0; i < s->rounds; i++) {
        CHECK_EQ(s->plain, 2 * i);
        s->plain++;
        CHECK_EQ(thrum_chan_send(s->chan, &ball), 0);
        CHECK_EQ(thrum_chan_recv(s->back, &ball), 0);
    }
    CHECK_EQ(ball, s->rounds);
    CHECK_EQ(thrum_chan_close(s->chan), 0);
    return 0;
}

static int pong(void *arg) {
    stage *s = ((actor *)arg)->arg;
    int ball;
    while (thrum_chan_recv(s->chan, &ball) == 0) {
        s->plain++;
        ball++;
        CHECK_EQ(thrum_chan_send(s->back, &ball), 0);
    }
    return 0;
}

TEST(an_element_orders_what_came_before) {
    /* A ball goes between two fibers, two threads, one of each: plain data goes with it. */
    rig r;
    rig_begin(&r, 0);
    for (int kind = 0; kind < 6; kind++) {
        cast *c = cast_new(&r);
        stage *s = stage_new((size_t)kind / 3);
        s->rounds = SCALED(500);
        cast_add(c, kind % 3 != 1, ping, s);
        cast_add(c, kind % 3 == 0, pong, s);
        cast_join(c);
        CHECK_EQ(s->plain, 2 * s->rounds);
        stage_free(s);
    }
    rig_stop(&r);
}

typedef struct cancelled {
    thrum_chan *full;
    thrum_chan *empty;
    atomic_int waiting;
    atomic_int ended;
} cancelled;

static int cancelled_recv(void *arg) {
    cancelled *c = arg;
    int elem = 3;
    CHECK_EQ(thrum_chan_recv(c->empty, &elem), -ECANCELED);
    CHECK_EQ(elem, 3);
    CHECK_EQ(thrum_chan_recv_until(c->empty, &elem, far_off()), -ECANCELED);
    atomic_fetch_add(&c->ended, 1);
    return 0;
}

static int cancelled_send(void *arg) {
    cancelled *c = arg;
    int elem = 4;
    CHECK_EQ(thrum_chan_send_until(c->full, &elem, far_off()), -ECANCELED);
    CHECK_EQ(thrum_chan_send(c->full, &elem), -ECANCELED);
    atomic_fetch_add(&c->ended, 1);
    return 0;
}

TEST(a_cancelled_wait_moves_nothing) {
    /* stop_until ends sends and receives that wait, timed or not; the channels are as they were. */
    rig r;
    rig_begin(&r, 0);
    cancelled c = {0};
    int elem = 1;
    CHECK_EQ(thrum_chan_create(&c.full, sizeof(int), 1), 0);
    CHECK_EQ(thrum_chan_create(&c.empty, sizeof(int), 1), 0);
    CHECK_EQ(thrum_chan_send(c.full, &elem), 0);
    for (int i = 0; i < 4; i++) {
        rig_go(&r, cancelled_recv, &c);
        rig_go(&r, cancelled_send, &c);
    }
    SPIN_UNTIL(CHAN_RECEIVERS_WAITING(c.empty) == 4 && CHAN_SENDERS_WAITING(c.full) == 4);
    watchdog_remove(&r);
    CHECK_EQ(thrum_sched_stop_until(r.sched, past()), -ETIMEDOUT);
    CHECK_EQ(thrum_sched_stop(r.sched), 0);
    rig_check_freed(&r);
    CHECK_EQ(atomic_load(&c.ended), 8);
    CHECK_EQ(thrum_chan_len(c.full), 1);
    CHECK_EQ(thrum_chan_len(c.empty), 0);
    CHECK_EQ(thrum_chan_destroy(c.full), 0);
    CHECK_EQ(thrum_chan_destroy(c.empty), 0);
}
