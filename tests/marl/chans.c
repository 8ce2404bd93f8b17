/*
 * chans.c: channels and select between tasks and the thread.
 */
/* matrix: bound */
#include "support/sync/bound.h"

#include "support/sync/chans.h"
#include "support/times.h"

enum { N = 500, SIDES = 10 };

static const size_t capacities[] = {0, 1, 7, THRUM_UNBOUNDED};

typedef struct pipe_end {
    thrum_chan *in, *out;
    thrum_waitgroup *left; /* the last one to leave closes */
    atomic_int *sum;
    int count;
} pipe_end;

/* ---- a pipeline ---- */

static int adds_one(void *arg) {
    pipe_end *p = arg;
    int value;
    while (thrum_chan_recv(p->in, &value) == 0) {
        value++;
        CHECK_EQ(thrum_chan_send(p->out, &value), 0);
    }
    CHECK_EQ(thrum_chan_close(p->out), 0);
    return 0;
}

static int feeds(void *arg) {
    pipe_end *p = arg;
    for (int i = 0; i < N; i++) {
        CHECK_EQ(thrum_chan_send(p->out, &i), 0);
    }
    CHECK_EQ(thrum_chan_close(p->out), 0);
    return 0;
}

TEST(a_pipeline_keeps_the_order) {
    /* Three stages of tasks keep the order; the thread receives. A close goes through all. */
    for (size_t c = 0; c < COUNT_OF(capacities); c++) {
        rig r;
        thrum_chan *chans[4];
        pipe_end stages[4];
        bound_begin(&r);
        for (int i = 0; i < 4; i++) {
            CHECK_EQ(thrum_chan_create(&chans[i], sizeof(int), capacities[c]), 0);
            stages[i] = (pipe_end){.in = i > 0 ? chans[i - 1] : NULL, .out = chans[i]};
            rig_go(&r, i > 0 ? adds_one : feeds, &stages[i]);
        }
        for (int i = 0; i < N; i++) {
            int value = -1;
            CHECK_EQ(thrum_chan_recv(chans[3], &value), 0);
            CHECK_EQ(value, i + 3);
        }
        int value = -1;
        CHECK_EQ(thrum_chan_recv(chans[3], &value), -EPIPE);
        CHECK_EQ(value, -1);
        rig_wait_done(&r);
        for (int i = 0; i < 4; i++) {
            CHECK_EQ(thrum_chan_destroy(chans[i]), 0);
        }
        bound_end(&r);
    }
}

/* ---- many to many ---- */

static int sends_its_share(void *arg) {
    pipe_end *p = arg;
    for (int i = 1; i <= p->count; i++) {
        CHECK_EQ(thrum_chan_send(p->out, &i), 0);
    }
    thrum_waitgroup_done(p->left);
    return 0;
}

static int receives_till_the_end(void *arg) {
    pipe_end *p = arg;
    int value;
    int code;
    while ((code = thrum_chan_recv(p->out, &value)) == 0) {
        atomic_fetch_add(p->sum, value);
    }
    CHECK_EQ(code, -EPIPE);
    return 0;
}

TEST(many_send_to_many) {
    /* Nothing is lost or doubled; the thread waits for the senders, closes, and receives too. */
    for (size_t c = 0; c < COUNT_OF(capacities); c++) {
        rig r;
        thrum_chan *chan;
        thrum_waitgroup left = THRUM_WAITGROUP_INIT(SIDES);
        atomic_int sum = 0;
        bound_begin(&r);
        CHECK_EQ(thrum_chan_create(&chan, sizeof(int), capacities[c]), 0);
        pipe_end p = {.out = chan, .left = &left, .sum = &sum, .count = 100};
        for (int i = 0; i < SIDES; i++) {
            rig_go(&r, sends_its_share, &p);
            rig_go(&r, receives_till_the_end, &p);
        }
        CHECK_EQ(thrum_waitgroup_wait(&left), 0);
        CHECK_EQ(thrum_chan_close(chan), 0);
        CHECK_EQ(thrum_chan_close(chan), -EPIPE);
        CHECK_EQ(receives_till_the_end(&p), 0);
        rig_wait_done(&r);
        CHECK_EQ(atomic_load(&sum), SIDES * 100 * 101 / 2);
        CHECK_EQ(thrum_chan_destroy(chan), 0);
        bound_end(&r);
    }
}

/* ---- waiting for nothing ---- */

static int is_late(void *arg) {
    thrum_chan *chan = arg;
    int value = 7;
    const thrum_time deadline = soon();
    CHECK_EQ(thrum_chan_try_recv(chan, &value), -EAGAIN);
    CHECK_EQ(thrum_chan_recv_until(chan, &value, deadline), -ETIMEDOUT);
    CHECK_PASSED(deadline);
    CHECK_EQ(value, 7);
    CHECK_EQ(thrum_chan_try_send(chan, &value), -EAGAIN);
    CHECK_EQ(thrum_chan_send_until(chan, &value, soon()), -ETIMEDOUT);
    return 0;
}

static int is_turned_away(void *arg) {
    int value = 7;
    CHECK_EQ(thrum_chan_recv(arg, &value), -EPIPE);
    return 0;
}

TEST(waits_in_vain_end) {
    /* They end at their deadlines, having moved nothing, and by a close. */
    rig r;
    thrum_chan *chan;
    bound_begin(&r);
    CHECK_EQ(thrum_chan_create(&chan, sizeof(int), 0), 0);
    CHECK_EQ(is_late(chan), 0);
    CHECK_EQ(rig_run(&r, is_late, chan), 0);
    for (int i = 0; i < SIDES; i++) {
        rig_go(&r, is_turned_away, chan);
    }
    bound_settle(&r);
    CHECK_EQ(CHAN_RECEIVERS_WAITING(chan), SIDES);
    CHECK_EQ(thrum_chan_destroy(chan), -EBUSY);
    CHECK_EQ(thrum_chan_close(chan), 0);
    rig_wait_done(&r);
    CHECK_EQ(thrum_chan_destroy(chan), 0);
    bound_end(&r);
}

/* ---- select ---- */

enum { WAYS = 4 };

typedef struct crossing {
    thrum_chan *in[WAYS], *out;
    atomic_int sent, received;
} crossing;

static int sends_on_its_way(void *arg) {
    pipe_end *p = arg;
    for (int i = 1; i <= 100; i++) {
        CHECK_EQ(thrum_chan_send(p->out, &i), 0);
        atomic_fetch_add(p->sum, i);
    }
    CHECK_EQ(thrum_chan_close(p->out), 0);
    return 0;
}

/* Receives from all ways, sends what it got, until all are closed. */
static int crosses(void *arg) {
    crossing *x = arg;
    thrum_case cases[WAYS + 1];
    int value = 0;
    int open = WAYS;
    for (int i = 0; i < WAYS; i++) {
        cases[i] = THRUM_RECV_CASE(x->in[i], &value);
    }
    while (open > 0) {
        const int which = thrum_select(cases, WAYS, THRUM_FOREVER);
        CHECK(which >= 0 && which < WAYS);
        if (cases[which].status != 0) {
            CHECK_EQ(cases[which].status, -EPIPE);
            cases[which].chan = NULL; /* this case never happens again */
            open--;
            continue;
        }
        thrum_case out = THRUM_SEND_CASE(x->out, &value);
        CHECK_EQ(thrum_select(&out, 1, THRUM_FOREVER), 0);
        CHECK_EQ(out.status, 0);
    }
    CHECK_EQ(thrum_chan_close(x->out), 0);
    return 0;
}

TEST(select_merges_what_comes) {
    /* A task sends from four channels into one; the thread receives by a select with a deadline. */
    for (size_t c = 0; c < COUNT_OF(capacities); c++) {
        rig r;
        crossing x = {.sent = 0};
        pipe_end ways[WAYS];
        bound_begin(&r);
        CHECK_EQ(thrum_chan_create(&x.out, sizeof(int), capacities[c]), 0);
        for (int i = 0; i < WAYS; i++) {
            CHECK_EQ(thrum_chan_create(&x.in[i], sizeof(int), capacities[c]), 0);
            ways[i] = (pipe_end){.out = x.in[i], .sum = &x.sent};
            rig_go(&r, sends_on_its_way, &ways[i]);
        }
        rig_go(&r, crosses, &x);
        int value = 0;
        thrum_case in = THRUM_RECV_CASE(x.out, &value);
        while (thrum_select(&in, 1, far_off()) == 0 && in.status == 0) {
            atomic_fetch_add(&x.received, value);
        }
        CHECK_EQ(in.status, -EPIPE);
        rig_wait_done(&r);
        CHECK_EQ(atomic_load(&x.received), WAYS * 100 * 101 / 2);
        CHECK_EQ(atomic_load(&x.sent), atomic_load(&x.received));
        for (int i = 0; i < WAYS; i++) {
            CHECK_EQ(thrum_chan_destroy(x.in[i]), 0);
        }
        CHECK_EQ(thrum_chan_destroy(x.out), 0);
        bound_end(&r);
    }
}

static int selects_in_vain(void *arg) {
    crossing *x = arg;
    int value = 7;
    thrum_case cases[] = {THRUM_RECV_CASE(x->in[0], &value), THRUM_SEND_CASE(x->in[1], &value),
                          THRUM_RECV_CASE(NULL, &value)};
    const thrum_time deadline = soon();
    CHECK_EQ(thrum_select(cases, 3, deadline), -ETIMEDOUT);
    CHECK_PASSED(deadline);
    CHECK_EQ(value, 7);
    return 0;
}

TEST(a_select_in_vain_leaves_nothing) {
    /* No waiter is left at the cases that did not happen. */
    rig r;
    crossing x = {.sent = 0};
    bound_begin(&r);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(thrum_chan_create(&x.in[i], sizeof(int), 0), 0);
    }
    CHECK_EQ(selects_in_vain(&x), 0);
    bound_run_all(&r, SIDES, selects_in_vain, &x);
    CHECK_EQ(CHAN_RECEIVERS_WAITING(x.in[0]), 0);
    CHECK_EQ(CHAN_SENDERS_WAITING(x.in[1]), 0);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(thrum_chan_destroy(x.in[i]), 0);
    }
    bound_end(&r);
}

/* ---- a broadcast ---- */

typedef struct listener {
    thrum_bcast_receiver receiver;
    atomic_int *sum;
} listener;

static int listens(void *arg) {
    listener *l = arg;
    int value;
    while (thrum_bcast_recv(&l->receiver, &value) == 0) {
        atomic_fetch_add(l->sum, value);
    }
    return 0;
}

TEST(each_of_many_hears_everything) {
    /* The thread sends, and listens as well. */
    rig r;
    thrum_bcast *bcast;
    atomic_int sum = 0;
    listener all[SIDES + 1];
    bound_begin(&r);
    CHECK_EQ(thrum_bcast_create(&bcast, sizeof(int), N), 0);
    for (int i = 0; i <= SIDES; i++) {
        all[i].sum = &sum;
        thrum_bcast_subscribe(bcast, &all[i].receiver);
    }
    for (int i = 0; i < SIDES; i++) {
        rig_go(&r, listens, &all[i]);
    }
    for (int i = 0; i < N; i++) {
        CHECK_EQ(thrum_bcast_send(bcast, &i), 0);
        if (i % 50 == 0) {
            thrum_yield();
        }
    }
    CHECK_EQ(thrum_bcast_close(bcast), 0);
    CHECK_EQ(listens(&all[SIDES]), 0);
    rig_wait_done(&r);
    CHECK_EQ(atomic_load(&sum), (SIDES + 1) * (N * (N - 1) / 2));
    CHECK_EQ(thrum_bcast_destroy(bcast), 0);
    bound_end(&r);
}
