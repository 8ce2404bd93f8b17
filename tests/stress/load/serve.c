/*
 * serve.c: a server and guests of all kinds: short ones, slow ones, resets, half-open ones,
 * garbage; then its end in the middle of them.
 */
/* matrix: policy workers */
#include "support/io/served.h"

typedef struct crowd {
    hall *h;
    atomic_bool ended;  /* the server: what a guest sees then is not looked at */
    atomic_int visits;  /* of all guests */
    atomic_int answers; /* that were asked for, and came */
} crowd;

enum { THREADS = 4 };

/* Connects, or -1: the server has ended. */
static int visit(crowd *c) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    at.sin_port = htons((uint16_t)atoi(strrchr(c->h->where, ':') + 1));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    if (connect(fd, (struct sockaddr *)&at, sizeof at) != 0) {
        close(fd);
        return -1;
    }
    atomic_fetch_add(&c->visits, 1);
    return fd;
}

/* Asks once; false: the server has ended it. */
static bool ask(crowd *c, int fd) {
    char byte = 0;
    const bool answered = send(fd, "x", 1, MSG_NOSIGNAL) == 1 && recv(fd, &byte, 1, 0) == 1;
    CHECK(answered || atomic_load(&c->ended));
    CHECK(!answered || byte == 'x');
    atomic_fetch_add(&c->answers, answered);
    return answered;
}

static void reset(int fd) {
    const struct linger none = {.l_onoff = 1, .l_linger = 0};
    CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_LINGER, &none, sizeof none), 0);
    close(fd);
}

static void one_guest(crowd *c, int kind) {
    char garbage[300];
    int fd = visit(c);
    if (fd < 0) {
        CHECK(atomic_load(&c->ended));
        return;
    }
    switch (kind % 8) {
    case 0: /* half-open: it ends its side first */
        if (ask(c, fd)) {
            shutdown(fd, SHUT_WR);
            (void)!recv(fd, garbage, sizeof garbage, 0);
        }
        close(fd);
        break;
    case 1: /* it says nothing */
        reset(fd);
        break;
    case 2: /* it does not wait for answers */
        memset(garbage, kind, sizeof garbage);
        (void)!send(fd, garbage, sizeof garbage, MSG_NOSIGNAL);
        reset(fd);
        break;
    case 3:
        (void)!send(fd, "x", 1, MSG_NOSIGNAL);
        close(fd);
        break;
    case 4: /* slow */
        for (int i = 0; i < 5 && ask(c, fd); i++) {
            sched_yield();
        }
        close(fd);
        break;
    default:
        (void)ask(c, fd);
        close(fd);
        break;
    }
}

static void *guest_main(void *arg) {
    const crew_seat *seat = arg;
    crowd *c = seat->arg;
    for (int i = 0; i < SCALED(400) && !atomic_load(&c->ended); i++) {
        one_guest(c, i + 3 * seat->index);
    }
    return NULL;
}

static void *guest_until_the_end(void *arg) {
    const crew_seat *seat = arg;
    crowd *c = seat->arg;
    for (int i = 0; !atomic_load(&c->ended); i++) {
        one_guest(c, i + 3 * seat->index);
    }
    return NULL;
}

static void run(unsigned connections_max) {
    hall h;
    crowd c = {.h = &h};
    crew guests;
    hall_init(&h, echo);
    h.options.connections_max = connections_max;
    const int before = descriptors();
    hall_open(&h);
    crew_start(&guests, THREADS, guest_main, &c);
    crew_join(&guests);
    int last = guest_at(h.where); /* behind all others */
    guest_asks(last);
    SPIN_UNTIL(atomic_load(&h.now) == 1);
    atomic_store(&c.ended, true);
    CHECK_EQ(hall_end(&h), 0);
    guest_sees_the_end(last);
    CHECK(atomic_load(&h.requests) >= atomic_load(&c.answers));
    CHECK(!connections_max || atomic_load(&h.most) <= (int)connections_max);
    hall_close(&h);
    CHECK(descriptors() <= before + 1); /* the watchdog needs none, the library may keep one */
}

TEST(guests_of_all_kinds) {
    /* Each that asks is answered, and nothing is left of them. */
    run(0);
}

TEST(guests_of_all_kinds_and_a_limit) {
    /* Places come back whatever a guest does. */
    run(3);
}

TEST(the_end_in_the_middle) {
    /* By an event, a close of the listener, and a signal, at any moment. */
    static const int ends[] = {SIGUSR1, 0};
    for (int round = 0; round < SCALED(24); round++) {
        hall h;
        crowd c = {.h = &h};
        crew guests;
        hall_init(&h, echo);
        h.options.connections_max = round % 2 ? 5 : 0;
        h.options.stop_signals = ends;
        hall_open(&h);
        crew_start(&guests, THREADS, guest_until_the_end, &c);
        SPIN_UNTIL(atomic_load(&h.requests) >= 20 + round);
        atomic_store(&c.ended, true);
        if (round % 3 == 0) {
            thrum_event_signal(&h.stop);
        } else if (round % 3 == 1) {
            CHECK_EQ(thrum_io_close(h.listener), 0);
        } else {
            CHECK_EQ(raise(SIGUSR1), 0);
        }
        CHECK_EQ(hall_wait(&h), 0);
        (void)thrum_io_close(h.listener); /* who is in the backlog sees the end */
        crew_join(&guests);
        rig_stop(&h.r);
    }
}
