/*
 * chan.c: random operations over channels, all at once, and one by one beside a model.
 */
/* matrix: policy workers */
#include "support/sync/chans.h"
#include "support/times.h"

/* xorshift; each actor has its own */
static uint32_t dice(uint32_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

/* ---- all at once ---- */

#define CHANS 6
#define SENDERS 8

/* An element: its sender, its number at that sender, and a check of both. */
typedef struct packet {
    uint32_t sender;
    uint32_t number;
    uint64_t check;
} packet;

static packet packet_make(uint32_t sender, uint32_t number) {
    return (packet){sender, number, ((uint64_t)sender * 7919 + number) * 0x9e3779b97f4a7c15u};
}

typedef struct storm {
    thrum_chan *chans[CHANS];
    atomic_int sent;     /* what was reported as sent */
    atomic_int received; /* what was received, or drained at the end */
    atomic_ulong sum_sent;
    atomic_ulong sum_received;
    atomic_uchar *seen[SENDERS]; /* how often each number was received */
    int rounds;
    atomic_int senders;
    bool closing;
} storm;

static void count_sent(storm *s, const packet *e) {
    atomic_fetch_add(&s->sent, 1);
    atomic_fetch_add(&s->sum_sent, (unsigned long)e->check);
}

static void count_received(storm *s, const packet *e) {
    const packet right = packet_make(e->sender, e->number);
    CHECK(e->sender < SENDERS && e->number < (uint32_t)s->rounds);
    CHECK(e->check == right.check);
    CHECK_EQ(atomic_fetch_add(&s->seen[e->sender][e->number], 1), 0);
    atomic_fetch_add(&s->received, 1);
    atomic_fetch_add(&s->sum_received, (unsigned long)e->check);
}

static void check_code(int code) {
    CHECK(code == 0 || code == -EPIPE || code == -EAGAIN || code == -ETIMEDOUT);
}

static thrum_time shortly(uint32_t *state) {
    return thrum_after_us(dice(state) % 200);
}

static int storm_sender(void *arg) {
    actor *a = arg;
    storm *s = a->arg;
    uint32_t state = 77u + (uint32_t)a->index;
    for (uint32_t n = 0; n < (uint32_t)s->rounds; n++) {
        const packet e = packet_make((uint32_t)a->index, n);
        thrum_chan *c = s->chans[dice(&state) % CHANS];
        int code = -EAGAIN;
        switch (dice(&state) % 4) {
        case 0:
            code = thrum_chan_send_until(c, &e, shortly(&state));
            break;
        case 1:
            code = thrum_chan_try_send(c, &e);
            break;
        case 2:
            code = thrum_chan_send(c, &e);
            break;
        default: {
            thrum_case cases[] = {THRUM_SEND_CASE(c, &e),
                                  THRUM_SEND_CASE(s->chans[dice(&state) % CHANS], &e),
                                  THRUM_SEND_CASE(s->chans[dice(&state) % CHANS], &e)};
            int i = thrum_select(cases, 3, dice(&state) % 2 ? THRUM_FOREVER : shortly(&state));
            code = i < 0 ? i : cases[i].status;
        }
        }
        check_code(code);
        if (code == 0) {
            count_sent(s, &e);
        }
    }
    atomic_fetch_sub(&s->senders, 1);
    return 0;
}

static int storm_receiver(void *arg) {
    actor *a = arg;
    storm *s = a->arg;
    uint32_t state = 777u + (uint32_t)a->index;
    unsigned open = CHANS;
    bool over[CHANS] = {false};
    while (open > 0) {
        packet e[CHANS] = {0};
        unsigned k = dice(&state) % CHANS;
        thrum_chan *c = over[k] ? NULL : s->chans[k];
        int code = -EAGAIN;
        switch (c ? dice(&state) % 3 : 2) {
        case 0:
            code = thrum_chan_recv_until(c, &e[k], shortly(&state));
            break;
        case 1:
            code = thrum_chan_try_recv(c, &e[k]);
            break;
        default: {
            thrum_case cases[CHANS];
            for (unsigned i = 0; i < CHANS; i++) {
                cases[i] = THRUM_RECV_CASE(over[i] ? NULL : s->chans[i], &e[i]);
            }
            int i = thrum_select(cases, CHANS, dice(&state) % 2 ? THRUM_FOREVER : shortly(&state));
            code = i < 0 ? i : cases[i].status;
            k = i < 0 ? k : (unsigned)i;
        }
        }
        check_code(code);
        if (code == 0) {
            count_received(s, &e[k]);
        } else if (code == -EPIPE) {
            CHECK(!over[k]);
            over[k] = true;
            open--;
        }
    }
    return 0;
}

/* Closes the channels one after the other while all goes on. */
static int storm_closer(void *arg) {
    actor *a = arg;
    storm *s = a->arg;
    for (int i = 0; i < CHANS; i++) {
        int goal = s->closing ? (i + 1) * s->rounds / 2 : INT_MAX;
        while (atomic_load(&s->senders) > 0 && atomic_load(&s->sent) < goal) {
            nap();
        }
        CHECK_EQ(thrum_chan_close(s->chans[i]), 0);
    }
    return 0;
}

static void run_storm(bool closing) {
    rig r;
    rig_begin(&r, 0);
    cast *senders = cast_new(&r);
    cast *others = cast_new(&r);
    storm s = {.rounds = SCALED(1500), .closing = closing};
    const size_t capacities[CHANS] = {0, 0, 1, 3, 64, THRUM_UNBOUNDED};
    for (int i = 0; i < CHANS; i++) {
        CHECK_EQ(thrum_chan_create(&s.chans[i], sizeof(packet), capacities[i]), 0);
    }
    for (int i = 0; i < SENDERS; i++) {
        s.seen[i] = calloc((size_t)s.rounds, sizeof(*s.seen[i]));
    }
    atomic_store(&s.senders, SENDERS);
    cast_add_mixed(others, 4, 2, storm_receiver, &s);
    cast_add_mixed(senders, SENDERS - 2, 2, storm_sender, &s);
    cast_add(others, true, storm_closer, &s);
    cast_join(senders);
    cast_join(others);
    CHECK_EQ(atomic_load(&s.sent), atomic_load(&s.received));
    CHECK(atomic_load(&s.sum_sent) == atomic_load(&s.sum_received));
    for (int i = 0; i < CHANS; i++) {
        CHECK_EQ(thrum_chan_len(s.chans[i]), 0);
        CHECK_EQ(thrum_chan_destroy(s.chans[i]), 0);
    }
    for (int i = 0; i < SENDERS; i++) {
        free(s.seen[i]);
    }
    rig_stop(&r);
}

TEST(nothing_is_lost_or_doubled) {
    /* Senders and receivers, plain, timed, trying and selecting; closed when the senders are done.
     */
    run_storm(false);
}

TEST(nothing_is_lost_when_channels_close) {
    /* The same holds while the channels are closed one after the other. */
    run_storm(true);
}

/* ---- one by one, beside a model ---- */

#define MODEL_CHANS 4
#define MODEL_MAX 100000

typedef struct model {
    thrum_chan *chan;
    size_t capacity;
    bool closed;
    int *elems; /* from head to tail */
    size_t head;
    size_t tail;
} model;

static int model_send(model *m, int elem) {
    if (m->closed) {
        return -EPIPE;
    }
    if (m->tail - m->head >= m->capacity) {
        return -EAGAIN;
    }
    CHECK(m->tail < MODEL_MAX);
    m->elems[m->tail++] = elem;
    return 0;
}

static int model_recv(model *m, int *elem) {
    if (m->tail > m->head) {
        *elem = m->elems[m->head++];
        return 0;
    }
    return m->closed ? -EPIPE : -EAGAIN;
}

/* What the call must return where the model would wait. */
static int or_late(int code) {
    return code == -EAGAIN ? -ETIMEDOUT : code;
}

static void model_select(model *models, uint32_t *state) {
    enum { CASES = 5 };
    thrum_case cases[CASES];
    int in[CASES];
    int out[CASES];
    model *of[CASES];
    for (int i = 0; i < CASES; i++) {
        of[i] = &models[dice(state) % MODEL_CHANS];
        in[i] = -1;
        out[i] = (int)(dice(state) >> 1);
        bool none = dice(state) % 8 == 0;
        cases[i] = dice(state) % 2 ? THRUM_SEND_CASE(none ? NULL : of[i]->chan, &out[i])
                                   : THRUM_RECV_CASE(none ? NULL : of[i]->chan, &in[i]);
    }
    int k = thrum_select(cases, CASES, dice(state) % 64 ? past() : soon());
    if (k >= 0) {
        int elem = -1;
        int code =
            cases[k].kind == THRUM_CASE_SEND ? model_send(of[k], out[k]) : model_recv(of[k], &elem);
        CHECK_EQ(cases[k].status, code);
        CHECK_EQ(in[k], elem);
        return;
    }
    CHECK_EQ(k, -ETIMEDOUT);
    for (int i = 0; i < CASES; i++) { /* none of them could be done */
        const model *m = of[i];
        bool send = cases[i].kind == THRUM_CASE_SEND;
        size_t n = m->tail - m->head;
        CHECK(!cases[i].chan || (!m->closed && (send ? n >= m->capacity : n == 0)));
    }
}

TEST(one_caller_sees_what_the_model_says) {
    /* Each code and each element agree, for random operations by one fiber, and by one thread. */
    uint32_t state = 20200202;
    for (int round = 0; round < SCALED(40); round++) {
        model models[MODEL_CHANS];
        const size_t capacities[] = {0, 1, 5, THRUM_UNBOUNDED};
        for (int i = 0; i < MODEL_CHANS; i++) {
            models[i] = (model){.capacity = capacities[i]};
            models[i].elems = malloc(MODEL_MAX * sizeof(int));
            CHECK(models[i].elems != NULL);
            CHECK_EQ(thrum_chan_create(&models[i].chan, sizeof(int), capacities[i]), 0);
        }
        for (int step = 0; step < 4000; step++) {
            model *m = &models[dice(&state) % MODEL_CHANS];
            int elem = (int)(dice(&state) >> 1);
            int right = -1;
            int got = -1;
            switch (dice(&state) % 8) {
            case 0:
                CHECK_EQ(thrum_chan_try_send(m->chan, &elem), model_send(m, elem));
                break;
            case 1:
            case 2:
                CHECK_EQ(thrum_chan_send_until(m->chan, &elem, past()),
                         or_late(model_send(m, elem)));
                break;
            case 3:
                CHECK_EQ(thrum_chan_try_recv(m->chan, &got), model_recv(m, &right));
                CHECK_EQ(got, right);
                break;
            case 4:
                CHECK_EQ(thrum_chan_recv_until(m->chan, &got, past()),
                         or_late(model_recv(m, &right)));
                CHECK_EQ(got, right);
                break;
            case 5:
                CHECK_EQ(thrum_chan_len(m->chan), m->tail - m->head);
                if (dice(&state) % 500 == 0) {
                    CHECK_EQ(thrum_chan_close(m->chan), m->closed ? -EPIPE : 0);
                    m->closed = true;
                }
                break;
            default:
                model_select(models, &state);
            }
        }
        for (int i = 0; i < MODEL_CHANS; i++) {
            CHECK_EQ(thrum_chan_destroy(models[i].chan), 0);
            free(models[i].elems);
        }
    }
}
