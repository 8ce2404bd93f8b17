/*
 * flows.c: channels, select and close; scopes with their first error, cancel and deadline.
 */
#include "storm.h"

/* ---- channels ---- */

enum { SENDERS = 4, RECEIVERS = 4, SENT = SLOWNESS > 3 ? 15 : 60, CHANS = 3 };

typedef struct flow {
    thrum_chan *chans[CHANS];
    bool selects;
    atomic_long sent, received, sum_sent, sum_received;
    atomic_uint seeds;
} flow;

static int sends(void *arg) {
    flow *f = arg;
    uint32_t seed = atomic_fetch_add(&f->seeds, 77);
    for (long i = 1; i <= SENT; i++) {
        const uint32_t r = storm_random(&seed);
        thrum_chan *chan = f->chans[r % CHANS];
        int result;
        if (f->selects) {
            thrum_case cases[] = {THRUM_SEND_CASE(f->chans[0], &i),
                                  THRUM_SEND_CASE(f->chans[1], &i),
                                  THRUM_SEND_CASE(f->chans[2], &i)};
            result = thrum_select(cases, CHANS, r % 2 != 0 ? THRUM_FOREVER : thrum_after_us(30));
            if (result >= 0) {
                result = cases[result].status;
            }
        } else if (r % 3 == 0) {
            result = thrum_chan_send_until(chan, &i, thrum_after_us(r % 50));
        } else {
            result = r % 3 == 1 ? thrum_chan_send(chan, &i) : thrum_chan_try_send(chan, &i);
        }
        REQUIRE(result == 0 || result == -ETIMEDOUT || result == -EAGAIN || result == -EPIPE);
        if (result == 0) {
            atomic_fetch_add(&f->sent, 1);
            atomic_fetch_add(&f->sum_sent, i);
        }
    }
    return 0;
}

static int receives(void *arg) {
    flow *f = arg;
    uint32_t seed = atomic_fetch_add(&f->seeds, 77);
    for (int closed = 0; closed != (1 << CHANS) - 1;) {
        const uint32_t r = storm_random(&seed);
        int which = (int)(r % CHANS), result;
        long got = 0, gots[CHANS] = {0, 0, 0};
        if (f->selects) {
            thrum_case cases[CHANS];
            for (int i = 0; i < CHANS; i++) {
                cases[i] = THRUM_RECV_CASE((closed >> i & 1) != 0 ? NULL : f->chans[i], &gots[i]);
            }
            which = thrum_select(cases, CHANS, THRUM_FOREVER);
            REQUIRE(which >= 0);
            result = cases[which].status;
            got = gots[which];
        } else {
            result = thrum_chan_recv_until(f->chans[which], &got, thrum_after_us(r % 80));
        }
        REQUIRE(result == 0 || result == -ETIMEDOUT || result == -EPIPE);
        if (result == 0) {
            atomic_fetch_add(&f->received, 1);
            atomic_fetch_add(&f->sum_received, got);
        } else if (result == -EPIPE) {
            closed |= 1 << which;
        }
    }
    return 0;
}

static void flow_round(lane *l, bool selects) {
    flow *f = calloc(1, sizeof(*f));
    const size_t capacities[CHANS] = {0, 3, THRUM_UNBOUNDED};
    const bool early = storm_random(&l->seed) % 2 == 0; /* closed before the senders end */
    thrum_handle *senders[SENDERS], *receivers[RECEIVERS];
    REQUIRE(f != NULL);
    f->selects = selects;
    atomic_store(&f->seeds, storm_random(&l->seed));
    for (int i = 0; i < CHANS; i++) {
        REQUIRE_EQ(thrum_chan_create(&f->chans[i], sizeof(long), capacities[i]), 0);
    }
    for (int i = 0; i < RECEIVERS; i++) {
        receivers[i] = world_spawn(l->w, receives, f);
    }
    for (int i = 0; i < SENDERS; i++) {
        senders[i] = world_spawn(l->w, sends, f);
    }
    if (early) {
        for (uint32_t n = storm_random(&l->seed) % 8; n > 0; n--) {
            thrum_yield();
        }
        for (int i = 0; i < CHANS; i++) {
            REQUIRE_EQ(thrum_chan_close(f->chans[i]), 0);
        }
    }
    for (int i = 0; i < SENDERS; i++) {
        world_join(senders[i]);
    }
    for (int i = 0; i < CHANS && !early; i++) {
        REQUIRE_EQ(thrum_chan_close(f->chans[i]), 0);
    }
    for (int i = 0; i < RECEIVERS; i++) {
        world_join(receivers[i]);
    }
    REQUIRE_EQ(atomic_load(&f->received), atomic_load(&f->sent));
    REQUIRE_EQ(atomic_load(&f->sum_received), atomic_load(&f->sum_sent));
    for (int i = 0; i < CHANS; i++) {
        REQUIRE_EQ(thrum_chan_destroy(f->chans[i]), 0);
    }
    storm_did(l, SENDERS * SENT + atomic_load(&f->received));
    free(f);
}

void round_channels(lane *l) {
    flow_round(l, false);
}

void round_select(lane *l) {
    flow_round(l, true);
}

/* ---- scopes ---- */

enum { CHILDREN = 24 };

typedef struct family {
    thrum_sem never;
    bool late; /* it ends by its deadline, which inner scopes inherit */
    atomic_int begun, ended, failed;
} family;

static int child_waits(void *arg) {
    family *f = arg;
    atomic_fetch_add(&f->begun, 1);
    const int result = thrum_sem_wait(&f->never);
    REQUIRE_EQ(result, -ECANCELED);
    atomic_fetch_add(&f->ended, 1);
    return 0;
}

static int child_fails(void *arg) {
    family *f = arg;
    atomic_fetch_add(&f->begun, 1);
    thrum_yield();
    atomic_fetch_add(&f->failed, 1);
    atomic_fetch_add(&f->ended, 1);
    return -EIO;
}

static int child_nests(void *arg) {
    family *f = arg;
    thrum_scope inner;
    atomic_fetch_add(&f->begun, 1);
    REQUIRE_EQ(thrum_scope_open(&inner, THRUM_FOREVER), 0);
    REQUIRE_EQ(thrum_scope_go(&inner, child_waits, f), 0);
    REQUIRE_EQ(thrum_scope_go(&inner, child_waits, f), 0);
    const int result = thrum_scope_join(&inner);
    REQUIRE(result == -ECANCELED || (f->late && result == -ETIMEDOUT));
    atomic_fetch_add(&f->ended, 1);
    return 0;
}

void round_scopes(lane *l) {
    const uint32_t way = storm_random(&l->seed) % 3; /* an error, a cancel, a deadline */
    family f = {.late = way == 2};
    thrum_scope scope;
    int expected = 0;
    thrum_sem_init(&f.never, 0);
    const thrum_time t = way == 2 ? thrum_after_us(storm_random(&l->seed) % 300) : THRUM_FOREVER;
    REQUIRE_EQ(thrum_scope_open(&scope, t), 0);
    for (int i = 0; i < CHILDREN; i++) {
        thrum_fn fn = i % 6 == 5 ? child_nests : child_waits;
        if (way == 0 && i % 10 == 7) {
            fn = child_fails;
        }
        REQUIRE_EQ(thrum_scope_go(&scope, fn, &f), 0);
        expected += fn == child_nests ? 3 : 1;
    }
    if (way == 1) {
        thrum_scope_cancel(&scope);
    }
    const int reasons[] = {-EIO, -ECANCELED, -ETIMEDOUT};
    REQUIRE_EQ(thrum_scope_join(&scope), reasons[way]);
    REQUIRE_EQ(atomic_load(&f.begun), expected);
    REQUIRE_EQ(atomic_load(&f.ended), expected);
    REQUIRE_EQ(thrum_sem_destroy(&f.never), 0);
    storm_did(l, expected);
}
