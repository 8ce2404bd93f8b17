/*
 * select.c: select over channels, by fibers and by plain threads.
 */
/* matrix: policy workers */
#include "support/sync/chans.h"
#include "support/times.h"

#define MANY 200

static thrum_chan *chan_new(size_t capacity) {
    thrum_chan *c = NULL;
    CHECK_EQ(thrum_chan_create(&c, sizeof(int), capacity), 0);
    return c;
}

static void chan_free(thrum_chan *c) {
    CHECK_EQ(thrum_chan_destroy(c), 0);
}

TEST(wrong_cases_are_refused) {
    /* A kind that does not exist, or no cases at all, is -EINVAL, and nothing was done. */
    thrum_chan *c = chan_new(1);
    int elem = 1;
    thrum_case cases[] = {THRUM_SEND_CASE(c, &elem), THRUM_RECV_CASE(c, &elem)};
    cases[1].kind = 77;
    CHECK_EQ(thrum_select(cases, 2, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_select(NULL, 1, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_select(cases, (size_t)1 << 40, THRUM_FOREVER), -EINVAL);
    CHECK_EQ(thrum_chan_len(c), 0);
    chan_free(c);
}

TEST(cases_without_a_channel_never_happen) {
    /* Alone they wait for the deadline, as no cases do; beside another case that one happens. */
    thrum_chan *c = chan_new(1);
    int elem = 1;
    thrum_time until = soon();
    CHECK_EQ(thrum_select(NULL, 0, until), -ETIMEDOUT);
    CHECK_PASSED(until);
    thrum_case cases[] = {THRUM_SEND_CASE(NULL, &elem), THRUM_RECV_CASE(NULL, &elem),
                          THRUM_SEND_CASE(c, &elem)};
    until = soon();
    CHECK_EQ(thrum_select(cases, 2, until), -ETIMEDOUT);
    CHECK_PASSED(until);
    CHECK_EQ(thrum_select(cases, 3, THRUM_FOREVER), 2);
    CHECK_EQ(cases[2].status, 0);
    chan_free(c);
}

TEST(what_can_be_done_is_done_at_once) {
    /* A deadline in the past does not prevent it; with nothing to do it is -ETIMEDOUT. */
    thrum_chan *c = chan_new(1);
    int in = 5;
    int out = 0;
    thrum_case take[] = {THRUM_RECV_CASE(c, &out)};
    thrum_case give[] = {THRUM_SEND_CASE(c, &in)};
    CHECK_EQ(thrum_select(take, 1, past()), -ETIMEDOUT);
    CHECK_EQ(thrum_select(give, 1, past()), 0);
    CHECK_EQ(thrum_select(give, 1, past()), -ETIMEDOUT);
    CHECK_EQ(thrum_select(take, 1, past()), 0);
    CHECK_EQ(out, 5);
    CHECK_EQ(thrum_chan_close(c), 0);
    CHECK_EQ(thrum_select(take, 1, THRUM_FOREVER), 0);
    CHECK_EQ(take[0].status, -EPIPE);
    CHECK_EQ(thrum_select(give, 1, THRUM_FOREVER), 0);
    CHECK_EQ(give[0].status, -EPIPE);
    chan_free(c);
}

TEST(each_that_is_ready_has_its_turn) {
    /* Of eight cases some can be done: over many calls each of those happens often. */
    thrum_chan *chans[8];
    thrum_case cases[8];
    int elem = 1;
    int got[8] = {0};
    for (int i = 0; i < 8; i++) {
        chans[i] = chan_new(1);
        cases[i] = i % 2 == 0 ? THRUM_RECV_CASE(chans[i], &elem) : THRUM_SEND_CASE(chans[i], &elem);
    }
    enum { ROUNDS = 1000, READY = 4 }; /* 0, 1, 2, and 7 */
    CHECK_EQ(thrum_chan_send(chans[0], &elem), 0);
    CHECK_EQ(thrum_chan_send(chans[2], &elem), 0);
    CHECK_EQ(thrum_chan_send(chans[3], &elem), 0);
    CHECK_EQ(thrum_chan_send(chans[5], &elem), 0);
    for (int round = 0; round < ROUNDS; round++) {
        int i = thrum_select(cases, 8, THRUM_FOREVER);
        CHECK(i == 0 || i == 1 || i == 2 || i == 7);
        got[i]++;
        if (i % 2 == 0) {
            CHECK_EQ(thrum_chan_send(chans[i], &elem), 0);
        } else {
            CHECK_EQ(thrum_chan_recv(chans[i], &elem), 0);
        }
    }
    for (int i = 0; i < 8; i++) {
        if (i == 0 || i == 1 || i == 2 || i == 7) {
            CHECK(got[i] > ROUNDS / READY / 2);
        }
        chan_free(chans[i]);
    }
}

typedef struct stage {
    thrum_chan *chans[MANY];
    size_t n;
    thrum_time deadline;
    int send_at; /* the case that sends; -1: all receive */
    atomic_int result;
    atomic_int status;
    atomic_int got;
    atomic_int done;
} stage;

static stage *stage_new(size_t n, size_t capacity) {
    stage *s = calloc(1, sizeof(*s));
    CHECK(s != NULL);
    s->n = n;
    s->deadline = THRUM_FOREVER;
    s->send_at = -1;
    for (size_t i = 0; i < n; i++) {
        s->chans[i] = chan_new(capacity);
    }
    return s;
}

static void stage_free(stage *s) {
    for (size_t i = 0; i < s->n; i++) {
        CHECK_EQ(CHAN_SENDERS_WAITING(s->chans[i]), 0);
        CHECK_EQ(CHAN_RECEIVERS_WAITING(s->chans[i]), 0);
        chan_free(s->chans[i]);
    }
    free(s);
}

static int select_one(void *arg) {
    actor *a = arg;
    stage *s = a->arg;
    thrum_case cases[MANY];
    int in[MANY];
    int out = 1000 + a->index;
    for (size_t i = 0; i < s->n; i++) {
        in[i] = -1;
        cases[i] = (int)i == s->send_at ? THRUM_SEND_CASE(s->chans[i], &out)
                                        : THRUM_RECV_CASE(s->chans[i], &in[i]);
        cases[i].status = 55;
    }
    int result = thrum_select(cases, s->n, s->deadline);
    for (size_t i = 0; i < s->n; i++) {
        CHECK(((int)i == result) != (cases[i].status == 55));
        CHECK(((int)i == result && result != s->send_at && cases[i].status == 0) != (in[i] == -1));
    }
    atomic_store(&s->result, result);
    if (result >= 0) {
        atomic_store(&s->status, cases[result].status);
        atomic_store(&s->got, in[result]);
    }
    atomic_fetch_add(&s->done, 1);
    return 0;
}

TEST(an_element_is_handed_to_a_select) {
    /* It stands at some place of few, many and a crowd of cases; no waiter is left on a list. */
    rig r;
    rig_begin(&r, 0);
    const size_t sizes[] = {1, 2, 8, 9, 64, 65, MANY};
    for (size_t k = 0; k < COUNT_OF(sizes) * 2; k++) {
        const size_t n = sizes[k / 2];
        for (size_t at = 0; at < n; at += 1 + n / 2) {
            cast *c = cast_new(&r);
            stage *s = stage_new(n, k % 2);
            cast_add(c, at % 2 == 0, select_one, s);
            for (size_t i = 0; i < n; i++) {
                YIELD_UNTIL(CHAN_RECEIVERS_WAITING(s->chans[i]) == 1);
            }
            int elem = 42;
            CHECK_EQ(thrum_chan_send(s->chans[at], &elem), 0);
            cast_join(c);
            CHECK_EQ(atomic_load(&s->result), (int)at);
            CHECK_EQ(atomic_load(&s->status), 0);
            CHECK_EQ(atomic_load(&s->got), 42);
            stage_free(s);
        }
    }
    rig_stop(&r);
}

TEST(an_element_is_taken_from_a_select) {
    /* A receive finds a select that would send; through a full buffer as well. */
    rig r;
    rig_begin(&r, 0);
    for (int k = 0; k < 4; k++) {
        cast *c = cast_new(&r);
        stage *s = stage_new(3, (size_t)k / 2);
        int elem = 7;
        if (k / 2) {
            CHECK_EQ(thrum_chan_send(s->chans[1], &elem), 0);
        }
        s->send_at = 1;
        cast_add(c, k % 2, select_one, s);
        YIELD_UNTIL(CHAN_SENDERS_WAITING(s->chans[1]) == 1);
        if (k / 2) {
            CHECK_EQ(thrum_chan_recv(s->chans[1], &elem), 0);
            CHECK_EQ(elem, 7);
            CHECK_EQ(thrum_chan_len(s->chans[1]), 1); /* its element has moved in */
        }
        CHECK_EQ(thrum_chan_recv(s->chans[1], &elem), 0);
        CHECK_EQ(elem, 1000);
        cast_join(c);
        CHECK_EQ(atomic_load(&s->result), 1);
        stage_free(s);
    }
    rig_stop(&r);
}

TEST(a_close_ends_a_select) {
    /* It returns its number and -EPIPE, for a send and for a receive. */
    rig r;
    rig_begin(&r, 0);
    for (int k = 0; k < 4; k++) {
        cast *c = cast_new(&r);
        stage *s = stage_new(3, 0);
        s->send_at = k / 2 ? 2 : -1;
        cast_add(c, k % 2, select_one, s);
        YIELD_UNTIL(CHAN_SENDERS_WAITING(s->chans[2]) + CHAN_RECEIVERS_WAITING(s->chans[2]) == 1);
        CHECK_EQ(thrum_chan_close(s->chans[2]), 0);
        cast_join(c);
        CHECK_EQ(atomic_load(&s->result), 2);
        CHECK_EQ(atomic_load(&s->status), -EPIPE);
        stage_free(s);
    }
    rig_stop(&r);
}

TEST(a_late_select_has_moved_nothing) {
    /* It is on no list afterwards. */
    rig r;
    rig_begin(&r, 0);
    cast *c = cast_new(&r);
    stage *s = stage_new(70, 0);
    s->send_at = 3;
    s->deadline = soon();
    cast_add_mixed(c, 3, 3, select_one, s);
    cast_join(c);
    CHECK_EQ(atomic_load(&s->result), -ETIMEDOUT);
    CHECK_PASSED(s->deadline);
    stage_free(s);
    rig_stop(&r);
}

typedef struct mirror {
    thrum_chan *chan;
    int rounds;
    atomic_int sent;
    atomic_int received;
    atomic_long balance;
} mirror;

/* Sends and receives on one channel in one select. */
static int both_ways(void *arg) {
    actor *a = arg;
    mirror *m = a->arg;
    for (int i = 0; i < m->rounds; i++) {
        int in = -1;
        int out = a->index;
        thrum_case cases[] = {THRUM_RECV_CASE(m->chan, &in), THRUM_SEND_CASE(m->chan, &out),
                              THRUM_RECV_CASE(m->chan, &in)};
        int k = thrum_select(cases, 3, THRUM_FOREVER);
        CHECK(k >= 0);
        CHECK(cases[k].status == 0);
        if (k == 1) {
            atomic_fetch_add(&m->sent, 1);
            atomic_fetch_add(&m->balance, out);
        } else {
            CHECK(in != -1 && in != a->index);
            atomic_fetch_add(&m->received, 1);
            atomic_fetch_sub(&m->balance, in);
        }
    }
    return 0;
}

TEST(a_select_does_not_meet_itself) {
    /* Alone with both sides of a rendezvous it waits until it is late. */
    thrum_chan *c = chan_new(0);
    int in = -1;
    int out = 1;
    thrum_case cases[] = {THRUM_RECV_CASE(c, &in), THRUM_SEND_CASE(c, &out)};
    CHECK_EQ(thrum_select(cases, 2, past()), -ETIMEDOUT);
    CHECK_EQ(thrum_select(cases, 2, soon()), -ETIMEDOUT);
    CHECK_EQ(in, -1);
    chan_free(c);
}

TEST(selects_meet_each_other) {
    /* Two would do both: each meeting is one send and one receive. */
    rig r;
    rig_begin(&r, 0);
    for (int k = 0; k < 3; k++) {
        cast *c = cast_new(&r);
        mirror m = {.chan = chan_new(0), .rounds = SCALED(2000)};
        cast_add(c, k != 0, both_ways, &m);
        cast_add(c, k == 1, both_ways, &m);
        cast_join(c);
        CHECK_EQ(atomic_load(&m.sent), m.rounds);
        CHECK_EQ(atomic_load(&m.received), m.rounds);
        CHECK_EQ(atomic_load(&m.balance), 0);
        chan_free(m.chan);
    }
    rig_stop(&r);
}

typedef struct ring {
    thrum_chan *chans[3];
    int rounds;
    atomic_int sent[3];
    atomic_int received[3];
    atomic_bool over;
    thrum_chan *quit;
} ring;

/* Selects over any of three rendezvous, either way, in an order of its own; until told to quit. */
static int cycle(void *arg) {
    actor *a = arg;
    ring *s = a->arg;
    for (;;) {
        int in[3];
        int out = a->index;
        thrum_case cases[7];
        for (int i = 0; i < 3; i++) {
            int k = (i + a->index) % 3;
            cases[2 * i] = THRUM_RECV_CASE(s->chans[k], &in[k]);
            cases[2 * i + 1] = THRUM_SEND_CASE(s->chans[k], &out);
        }
        cases[6] = THRUM_RECV_CASE(s->quit, &in[0]);
        int i = thrum_select(cases, 7, THRUM_FOREVER);
        CHECK(i >= 0);
        if (i == 6) {
            CHECK_EQ(cases[6].status, -EPIPE);
            return 0;
        }
        CHECK_EQ(cases[i].status, 0);
        int k = (i / 2 + a->index) % 3;
        if (i % 2 == 0) {
            CHECK(in[k] != a->index);
        }
        if (atomic_fetch_add(i % 2 ? &s->sent[k] : &s->received[k], 1) == s->rounds) {
            thrum_chan_close(s->quit);
        }
    }
}

TEST(selects_over_common_channels_do_not_deadlock) {
    /* Five of them, fibers and threads, name three channels in different orders. */
    rig r;
    rig_begin(&r, 0);
    cast *c = cast_new(&r);
    ring s = {.rounds = SCALED(1000), .quit = chan_new(0)};
    for (int i = 0; i < 3; i++) {
        s.chans[i] = chan_new(0);
    }
    cast_add_mixed(c, 3, 2, cycle, &s);
    cast_join(c);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(atomic_load(&s.sent[i]), atomic_load(&s.received[i]));
        chan_free(s.chans[i]);
    }
    chan_free(s.quit);
    rig_stop(&r);
}

static atomic_int selects_cancelled;

static int cancelled_select(void *arg) {
    thrum_chan **chans = arg;
    int elem = 3;
    thrum_case cases[] = {THRUM_RECV_CASE(chans[0], &elem), THRUM_SEND_CASE(chans[1], &elem)};
    CHECK_EQ(thrum_select(cases, 2, THRUM_FOREVER), -ECANCELED);
    CHECK_EQ(thrum_select(cases, 2, far_off()), -ECANCELED);
    CHECK_EQ(thrum_select(NULL, 0, THRUM_FOREVER), -ECANCELED);
    CHECK_EQ(elem, 3);
    atomic_fetch_add(&selects_cancelled, 1);
    return 0;
}

TEST(a_cancelled_select_has_moved_nothing) {
    /* stop_until ends those that wait, and each that begins. */
    rig r;
    rig_begin(&r, 0);
    thrum_chan *chans[] = {chan_new(0), chan_new(0)};
    for (int i = 0; i < 4; i++) {
        rig_go(&r, cancelled_select, chans);
    }
    SPIN_UNTIL(CHAN_RECEIVERS_WAITING(chans[0]) == 4);
    watchdog_remove(&r);
    CHECK_EQ(thrum_sched_stop_until(r.sched, past()), -ETIMEDOUT);
    CHECK_EQ(thrum_sched_stop(r.sched), 0);
    rig_check_freed(&r);
    CHECK_EQ(atomic_load(&selects_cancelled), 4);
    chan_free(chans[0]);
    chan_free(chans[1]);
}

/* ---- ready at every moment ---- */

typedef struct always {
    thrum_chan *chans[2];
    size_t n; /* cases, all but the first and the last without a channel */
    atomic_int round;
    atomic_int moved;
} always;

/* The second channel has an element before the first one may have none. */
static void *moves_on(void *arg) {
    always *a = arg;
    for (int i = 1; i <= SCALED(50); i++) {
        int elem = 1;
        SPIN_UNTIL(atomic_load(&a->round) == i);
        CHECK_EQ(thrum_chan_try_send(a->chans[1], &elem), 0);
        const int code = thrum_chan_try_recv(a->chans[0], &elem);
        CHECK(code == 0 || code == -EAGAIN);
        atomic_store(&a->moved, i);
    }
    return NULL;
}

static int finds_one(void *arg) {
    always *a = arg;
    thrum_case *cases = calloc(a->n, sizeof *cases);
    int elem = 1;
    CHECK(cases != NULL);
    for (int i = 1; i <= SCALED(50); i++) {
        for (size_t k = 0; k < a->n; k++) {
            cases[k] = THRUM_RECV_CASE(NULL, &elem);
        }
        cases[0] = THRUM_RECV_CASE(a->chans[1], &elem); /* the other is in front for the look */
        cases[a->n - 1] = THRUM_RECV_CASE(a->chans[0], &elem);
        CHECK_EQ(thrum_chan_try_send(a->chans[0], &elem), 0);
        atomic_store(&a->round, i);
        for (volatile int turns = i * 7 % 200; turns > 0; turns--) {
        }
        CHECK(thrum_select(cases, a->n, past()) >= 0);
        SPIN_UNTIL(atomic_load(&a->moved) == i);
        while (thrum_chan_try_recv(a->chans[0], &elem) == 0 ||
               thrum_chan_try_recv(a->chans[1], &elem) == 0) {
        }
    }
    free(cases);
    return 0;
}

TEST(a_late_select_finds_an_element_that_is_always_there) {
    /* One of two channels has an element at every moment; few cases, many, and a crowd. */
    const size_t counts[] = {2, 40, 200};
    rig r;
    rig_begin(&r, 0);
    for (size_t i = 0; i < COUNT_OF(counts); i++) {
        always a = {.chans = {chan_new(1), chan_new(1)}, .n = counts[i]};
        pthread_t thread;
        CHECK_EQ(pthread_create(&thread, NULL, moves_on, &a), 0);
        CHECK_EQ(rig_run(&r, finds_one, &a), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
        chan_free(a.chans[0]);
        chan_free(a.chans[1]);
    }
    rig_stop(&r);
}
