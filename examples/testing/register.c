/*
 * register.c: a value that is replicated on three hosts, and its test. A write or a read is done
 * when two of the three replicas have answered. Unless the file is compiled with -DFIXED, a read
 * may return an older value than the read before.
 */
#include <thrum.h>
#include <thrum/test.h>

#define REPLICAS 3u
#define MAJORITY 2
#define PATIENCE THRUM_MS(10) /* then a request is sent again */
#define PORT 7000

static const char *const names[REPLICAS] = {"a", "b", "c"};

typedef struct message {
    unsigned request; /* an answer has that of its request */
    unsigned replica; /* which one has answered */
    int value;
    int version; /* a higher one replaces a lower one; 0: only asks */
} message;

/* ---- a replica ---- */

static message newest; /* each host has its own */

static int replica(void *arg) {
    const unsigned me = *(const unsigned *)arg;
    thrum_io io;
    thrum_address from;
    message m;
    THRUM_TEST(thrum_listen(&io, "udp::7000", NULL) == 0);
    for (;;) {
        THRUM_TEST(thrum_receive_from(io, &m, sizeof m, &from, THRUM_FOREVER) == sizeof m);
        if (m.version > newest.version) {
            newest = m;
        }
        const message answer = {m.request, me, newest.value, newest.version};
        THRUM_TEST(thrum_send_to(io, &answer, sizeof answer, &from, THRUM_FOREVER) == sizeof m);
    }
}

/* ---- a client ---- */

typedef struct client {
    thrum_io io;
    thrum_address replicas[REPLICAS];
    unsigned requests;
} client;

static void client_open(client *c) {
    *c = (client){.requests = 0};
    THRUM_TEST(thrum_listen(&c->io, "udp::0", NULL) == 0);
    for (unsigned i = 0; i < REPLICAS; i++) {
        THRUM_TEST(thrum_resolve(names[i], PORT, THRUM_IPV4, &c->replicas[i], 1, THRUM_FOREVER) ==
                   1);
    }
}

/* Sends a message until a majority has answered; returns the newest answer. */
static message ask(client *c, message m) {
    message best = {.version = -1}, answer;
    unsigned answered = 0; /* a bit for each replica */
    m.request = ++c->requests;
    while (__builtin_popcount(answered) < MAJORITY) {
        for (unsigned i = 0; i < REPLICAS; i++) {
            THRUM_TEST(thrum_send_to(c->io, &m, sizeof m, &c->replicas[i], THRUM_FOREVER) > 0);
        }
        const thrum_time deadline = thrum_after(PATIENCE);
        while (__builtin_popcount(answered) < MAJORITY &&
               thrum_receive_from(c->io, &answer, sizeof answer, NULL, deadline) > 0) {
            if (answer.request == m.request) {
                answered |= 1u << answer.replica;
                best = answer.version > best.version ? answer : best;
            }
        }
    }
    return best;
}

static int register_read(client *c) {
    const message best = ask(c, (message){.version = 0});
#ifdef FIXED
    (void)ask(c, best); /* a majority has it before it is returned */
#endif
    return best.value;
}

/* ---- its test ---- */

static int writer(void *arg) {
    client c;
    (void)arg;
    client_open(&c);
    for (int i = 1; i <= 3; i++) {
        (void)ask(&c, (message){.value = i, .version = i});
    }
    return thrum_io_close(c.io);
}

static int never_goes_back(void *arg) {
    static const unsigned numbers[REPLICAS] = {0, 1, 2};
    client c;
    int last = 0;
    (void)arg;
    for (unsigned i = 0; i < REPLICAS; i++) {
        THRUM_TEST(thrum_test_host(names[i], replica, (void *)&numbers[i]) == 0);
    }
    thrum_test_settle(); /* all of them listen */
    client_open(&c);
    THRUM_TEST(thrum_test_host("writer", writer, NULL) == 0);
    THRUM_TEST(thrum_sleep(THRUM_US(thrum_test_random() % 4000)) == 0);
    THRUM_TEST(thrum_test_partition("writer", "b") == 0);
    THRUM_TEST(thrum_test_partition("writer", "c") == 0);
    for (int i = 0; i < 4; i++) {
        const int value = register_read(&c);
        THRUM_TEST(value >= last);
        last = value;
    }
    THRUM_TEST(thrum_test_heal("writer", NULL) == 0);
    THRUM_TEST(thrum_test_host_wait("writer") == 0);
    THRUM_TEST(register_read(&c) == 3);
    return thrum_io_close(c.io);
}

int main(int argc, char **argv) {
    return thrum_test_main(argc, argv, never_goes_back, NULL);
}
