/*
 * chan_favourite.c: the favourite of a channel's lock comes and goes, while a plain thread and
 * another fiber come in between.
 */
/* matrix: policy workers */
/* matrix: quick 1 2 8 */
#define WATCHDOG_SECONDS 110
#include "support/chans.h"

enum { CAPACITY = 64, USERS = 3 };

/* An element: its number at its sender, times USERS, plus the sender. */
typedef struct game {
    thrum_chan *chan;
    atomic_int guests;           /* the others than the first, as long as they come */
    uint64_t sent[USERS];        /* by sender */
    uint64_t last[USERS][USERS]; /* by receiver and sender: the last number, plus one */
    uint64_t received[USERS];    /* by receiver */
    uint64_t sum_sent[USERS], sum_received[USERS];
} game;

static void send_one(game *g, unsigned user) {
    uint64_t elem = g->sent[user] * USERS + user;
    if (thrum_chan_try_send(g->chan, &elem) == 0) {
        g->sent[user]++;
        g->sum_sent[user] += elem;
    }
}

static void receive_one(game *g, unsigned user) {
    uint64_t elem;
    if (thrum_chan_try_recv(g->chan, &elem) == 0) {
        const uint64_t number = elem / USERS + 1;
        uint64_t *last = &g->last[user][elem % USERS];
        CHECK(number > *last); /* each receiver sees a sender's elements in order */
        *last = number;
        g->received[user]++;
        g->sum_received[user] += elem;
    }
}

static void use(game *g, unsigned user, int times) {
    for (int i = 0; i < times; i++) {
        for (int k = 0; k < 16; k++) {
            send_one(g, user);
        }
        for (int k = 0; k < 16; k++) {
            receive_one(g, user);
        }
    }
}

static int first_user(void *arg) {
    game *g = arg;
    int rounds = 0;
    do {
        use(g, 0, 100);
        if (++rounds % 64 == 0) {
            thrum_yield();
        }
    } while (atomic_load(&g->guests) > 0);
    return 0;
}

/* Now and then, so that there is a favourite to be revoked again. */
static int second_user(void *arg) {
    game *g = arg;
    for (int i = 0; i < SCALED(100); i++) {
        use(g, 1, 1);
        CHECK_EQ(thrum_sleep(2000000), 0);
    }
    atomic_fetch_sub(&g->guests, 1);
    return 0;
}

static void *third_user(void *arg) {
    game *g = arg;
    for (int i = 0; i < SCALED(70); i++) {
        use(g, 2, 1);
        const struct timespec pause = {.tv_nsec = 3000000};
        nanosleep(&pause, NULL);
    }
    atomic_fetch_sub(&g->guests, 1);
    return NULL;
}

static int play(void *arg) {
    game *g = arg;
    thrum_handle *second = NULL;
    CHECK_EQ(thrum_spawn(&second, second_user, g), 0);
    CHECK_EQ(first_user(g), 0);
    CHECK_EQ(thrum_join(second, NULL), 0);
    return 0;
}

TEST(favourites_come_and_go) {
    /* Nothing is lost, doubled or overtaken. */
    rig r;
    game g = {.guests = 2};
    pthread_t third;
    CHECK_EQ(thrum_chan_create(&g.chan, sizeof(uint64_t), CAPACITY), 0);
    rig_begin(&r, 0);
    CHECK_EQ(pthread_create(&third, NULL, third_user, &g), 0);
    CHECK_EQ(rig_run(&r, play, &g), 0);
    CHECK_EQ(pthread_join(third, NULL), 0);
    rig_stop(&r);
    uint64_t before = UINT64_MAX;
    while (g.received[0] != before) {
        before = g.received[0];
        receive_one(&g, 0);
    }
    uint64_t sent = 0, received = 0, sum_sent = 0, sum_received = 0;
    for (unsigned u = 0; u < USERS; u++) {
        sent += g.sent[u];
        received += g.received[u];
        sum_sent += g.sum_sent[u];
        sum_received += g.sum_received[u];
    }
    CHECK_EQ(sent, received);
    CHECK_EQ(sum_sent, sum_received);
    CHECK_EQ(thrum_chan_destroy(g.chan), 0);
}
