/*
 * rows_chan.c: channels: one to one, four to four, ping-pong, select over eight, skynet.
 *
 * Each element carries a number; the receivers add them up, and the sums are checked.
 */
#include <stdlib.h>

#include "base/cc.h"
#include "harness.h"

#define SIDES_MAX 8
#define BUFFER 64

/* ---- streams from senders to receivers ---- */

typedef struct stream {
    bench_sample *out;
    unsigned senders;
    /* all on one channel, or a single one that selects over a channel for each sender */
    unsigned receivers;
    bool select;
    uint64_t elems; /* of each sender */
    thrum_chan *chans[SIDES_MAX];
    thrum_waitgroup sending;
    thrum_waitgroup receiving;
    uint64_t sums[SIDES_MAX][16]; /* of each receiver: elements and sum, on a line of its own */
} stream;

typedef struct side {
    stream *stream;
    unsigned index;
} side;

static int send_side(void *arg) {
    side *me = arg;
    stream *s = me->stream;
    thrum_chan *chan = s->chans[s->select ? me->index : 0];
    uint64_t elems = s->elems;
    for (uint64_t i = 1; i <= elems; i++) {
        bench_ok(thrum_chan_send(chan, &i));
    }
    thrum_waitgroup_done(&s->sending);
    return 0;
}

static int recv_side(void *arg) {
    side *me = arg;
    stream *s = me->stream;
    uint64_t n = 0;
    uint64_t sum = 0;
    uint64_t elem;
    while (thrum_chan_recv(s->chans[0], &elem) == 0) {
        n++;
        sum += elem;
    }
    s->sums[me->index][0] = n;
    s->sums[me->index][1] = sum;
    thrum_waitgroup_done(&s->receiving);
    return 0;
}

static int select_side(void *arg) {
    side *me = arg;
    stream *s = me->stream;
    uint64_t n = 0;
    uint64_t sum = 0;
    uint64_t elem;
    thrum_case cases[SIDES_MAX];
    for (unsigned i = 0; i < s->senders; i++) {
        cases[i] = THRUM_RECV_CASE(s->chans[i], &elem);
    }
    while (n < s->elems * s->senders) {
        int i = thrum_select(cases, s->senders, THRUM_FOREVER);
        bench_check(i >= 0 && cases[i].status == 0, "select failed");
        n++;
        sum += elem;
    }
    s->sums[me->index][0] = n;
    s->sums[me->index][1] = sum;
    thrum_waitgroup_done(&s->receiving);
    return 0;
}

static int time_stream(void *arg) {
    stream *s = arg;
    side sides[2 * SIDES_MAX];
    unsigned chans = s->select ? s->senders : 1;
    for (unsigned i = 0; i < chans; i++) {
        bench_ok(thrum_chan_create(&s->chans[i], sizeof(uint64_t), BUFFER));
    }
    thrum_waitgroup_init(&s->sending, s->senders);
    thrum_waitgroup_init(&s->receiving, s->receivers);
    bench_span span;
    bench_span_begin(&span, thrum_sched_current());
    for (unsigned i = 0; i < s->receivers; i++) {
        sides[i] = (side){s, i};
        bench_ok(thrum_go(s->select ? select_side : recv_side, &sides[i]));
    }
    for (unsigned i = 0; i < s->senders; i++) {
        sides[SIDES_MAX + i] = (side){s, i};
        bench_ok(thrum_go(send_side, &sides[SIDES_MAX + i]));
    }
    bench_ok(thrum_waitgroup_wait(&s->sending));
    if (!s->select) {
        bench_ok(thrum_chan_close(s->chans[0]));
    }
    bench_ok(thrum_waitgroup_wait(&s->receiving));
    bench_span_end(&span);
    uint64_t n = 0;
    uint64_t sum = 0;
    for (unsigned i = 0; i < s->receivers; i++) {
        n += s->sums[i][0];
        sum += s->sums[i][1];
    }
    bench_check(n == s->senders * s->elems, "%llu elements arrived", (unsigned long long)n);
    bench_check(sum == s->senders * (s->elems * (s->elems + 1) / 2), "the sum is wrong");
    *s->out = bench_span_per_op(&span, n);
    for (unsigned i = 0; i < chans; i++) {
        bench_ok(thrum_chan_destroy(s->chans[i]));
    }
    return 0;
}

static void run_stream(const bench_args *args, bench_sample *out, unsigned senders,
                       unsigned receivers, bool select, unsigned elems) {
    stream *s = calloc(1, sizeof(*s));
    bench_check(s != NULL, "no memory");
    s->out = out;
    s->senders = senders;
    s->receivers = receivers;
    s->select = select;
    s->elems = bench_scale(args, elems, 1000);
    bench_inside(args, time_stream, s);
    free(s);
}

static void run_chan_1_1(const bench_args *args, bench_sample *out) {
    run_stream(args, out, 1, 1, false, 4000000);
}

static void run_chan_4_4(const bench_args *args, bench_sample *out) {
    run_stream(args, out, 4, 4, false, 1000000);
}

static void run_select_8(const bench_args *args, bench_sample *out) {
    run_stream(args, out, 8, 1, true, 200000);
}

/* ---- ping-pong ---- */

typedef struct table {
    bench_sample *out;
    size_t capacity;
    uint64_t rounds;
    thrum_chan *there;
    thrum_chan *back;
} table;

static int answer(void *arg) {
    table *t = arg;
    uint64_t ball;
    while (thrum_chan_recv(t->there, &ball) == 0) {
        ball++;
        bench_ok(thrum_chan_send(t->back, &ball));
    }
    return 0;
}

static int time_pingpong(void *arg) {
    table *t = arg;
    bench_ok(thrum_chan_create(&t->there, sizeof(uint64_t), t->capacity));
    bench_ok(thrum_chan_create(&t->back, sizeof(uint64_t), t->capacity));
    thrum_handle *other;
    bench_ok(thrum_spawn(&other, answer, t));
    uint64_t ball = 0;
    bench_span span = {0};
    for (uint64_t i = 0; i < t->rounds + t->rounds / 10; i++) {
        if (i == t->rounds / 10) {
            bench_span_begin(&span, thrum_sched_current());
        }
        bench_ok(thrum_chan_send(t->there, &ball));
        bench_ok(thrum_chan_recv(t->back, &ball));
        ball++;
    }
    bench_span_end(&span);
    bench_check(ball == 2 * (t->rounds + t->rounds / 10), "the ball was lost");
    *t->out = bench_span_per_op(&span, t->rounds);
    bench_ok(thrum_chan_close(t->there));
    bench_ok(thrum_join(other, NULL));
    bench_ok(thrum_chan_destroy(t->there));
    bench_ok(thrum_chan_destroy(t->back));
    return 0;
}

static void run_pingpong(const bench_args *args, bench_sample *out, size_t capacity) {
    table t = {.out = out, .capacity = capacity, .rounds = bench_scale(args, 1000000, 10000)};
    bench_inside(args, time_pingpong, &t);
}

static void run_pingpong_rendezvous(const bench_args *args, bench_sample *out) {
    run_pingpong(args, out, 0);
}

static void run_pingpong_buffered(const bench_args *args, bench_sample *out) {
    run_pingpong(args, out, BUFFER);
}

/* ---- skynet ---- */

#define WAYS 10

typedef struct node {
    thrum_chan *up;
    uint64_t first; /* the leaves below are numbered from here */
    uint64_t leaves;
} node;

static int grow(void *arg) {
    const node me = *(node *)arg;
    uint64_t sum = me.first;
    if (me.leaves > 1) {
        node children[WAYS];
        thrum_chan *chan;
        bench_ok(thrum_chan_create(&chan, sizeof(uint64_t), WAYS));
        for (unsigned i = 0; i < WAYS; i++) {
            uint64_t leaves = me.leaves / WAYS;
            children[i] = (node){chan, me.first + i * leaves, leaves};
            bench_ok(thrum_go(grow, &children[i]));
        }
        sum = 0;
        for (unsigned i = 0; i < WAYS; i++) {
            uint64_t part;
            bench_ok(thrum_chan_recv(chan, &part));
            sum += part;
        }
        bench_ok(thrum_chan_destroy(chan));
    }
    bench_ok(thrum_chan_send(me.up, &sum));
    return 0;
}

typedef struct sky {
    bench_sample *out;
    uint64_t leaves;
} sky;

static int time_skynet(void *arg) {
    sky *s = arg;
    thrum_chan *chan;
    uint64_t sum;
    bench_ok(thrum_chan_create(&chan, sizeof(uint64_t), 1));
    node root = {chan, 0, s->leaves};
    bench_span span;
    bench_span_begin(&span, thrum_sched_current());
    bench_ok(thrum_go(grow, &root));
    bench_ok(thrum_chan_recv(chan, &sum));
    bench_span_end(&span);
    bench_check(sum == s->leaves * (s->leaves - 1) / 2, "the sum is wrong");
    *s->out = bench_span_value(&span, 1, span.ns / 1e6);
    bench_ok(thrum_chan_destroy(chan));
    return 0;
}

static void run_skynet(const bench_args *args, bench_sample *out) {
    sky s = {.out = out, .leaves = args->divide > 1 ? 10000 : 1000000};
    bench_inside(args, time_skynet, &s);
}

static const bench_case cases[] = {
    {.what = "one fiber sends to another through a buffer of 64",
     .rows = {{.name = "chan-1-1", .unit = "ns/op", .must = BENCH_SCALED, .limit = {16, 16}}},
     .count = 1,
     .workers_min = 1,
     .run = run_chan_1_1},
    {.what = "four send to four through one buffer of 64",
     .rows = {{.name = "chan-4-4", .unit = "ns/op"}},
     .count = 1,
     .workers_min = 1,
     .run = run_chan_4_4},
    {.what = "a ball goes between two fibers over two rendezvous",
     .rows = {{.name = "chan-pingpong", .unit = "ns/op"}},
     .count = 1,
     .workers_min = 1,
     .run = run_pingpong_rendezvous},
    {.what = "the same over two buffers",
     .rows = {{.name = "chan-pingpong-buffered", .unit = "ns/op"}},
     .count = 1,
     .workers_min = 1,
     .run = run_pingpong_buffered},
    {.what = "one fiber selects over eight channels, each with a sender",
     .rows = {{.name = "select-8", .unit = "ns/op"}},
     .count = 1,
     .workers_min = 1,
     .run = run_select_8},
    {.what = "a million leaves, ten-ary, sums over channels",
     .rows = {{.name = "skynet-chan", .unit = "ms"}},
     .count = 1,
     .workers_min = 1,
     .run = run_skynet},
};

const bench_theme bench_chan = {cases, sizeof(cases) / sizeof(cases[0])};
