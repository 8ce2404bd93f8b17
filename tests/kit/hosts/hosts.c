/*
 * hosts.c: tests with several hosts, and tests with a mistake that the kit must find.
 *   hosts NAME [OPTION...]
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>
#include <thrum/test.h>

#define MUST(call) THRUM_TEST((call) == 0)
#define SOON thrum_after(THRUM_S(1))

static int counter = 7; /* each host has its own */
static _Thread_local int local = 3;

/* ---- static data ---- */

static int counts(void *arg) {
    int *seen = arg;
    THRUM_TEST(counter == 7 && local == 3);
    for (int i = 0; i < 10; i++) {
        counter++;
        local++;
        MUST(thrum_sleep(THRUM_MS(1)));
        THRUM_TEST(counter == 8 + i && local == 4 + i);
    }
    *seen += counter;
    return 0;
}

static int data(void *arg) {
    int *seen = calloc(1, sizeof *seen);
    (void)arg;
    counter = 100;
    local = 50;
    MUST(thrum_test_host("a", counts, seen));
    MUST(thrum_test_host("b", counts, seen));
    THRUM_TEST(counter == 100 && local == 50);
    MUST(thrum_test_host_wait("a"));
    MUST(thrum_test_host_wait("b"));
    THRUM_TEST(counter == 100 && local == 50 && *seen == 34);
    free(seen);
    return 0;
}

/* ---- TCP ---- */

static int echo(void *arg) {
    thrum_io listener;
    thrum_io io;
    (void)arg;
    MUST(thrum_listen(&listener, "tcp::7000", NULL));
    while (thrum_accept(listener, &io) == 0) {
        char text[64];
        int64_t n;
        while ((n = thrum_read(io, text, sizeof text)) > 0) {
            counter++;
            if (thrum_write(io, text, (size_t)n) < 0) {
                break;
            }
        }
        MUST(thrum_io_close(io));
    }
    return 0;
}

static thrum_io dial(const char *address) {
    thrum_io io;
    int err;
    while ((err = thrum_dial(&io, address, SOON)) == -ECONNREFUSED) {
        MUST(thrum_sleep(THRUM_MS(1)));
    }
    MUST(err);
    return io;
}

static int tcp(void *arg) {
    char text[64];
    (void)arg;
    MUST(thrum_test_host("server", echo, NULL));
    const thrum_io io = dial("tcp:server:7000");
    const thrum_time began = thrum_now();
    THRUM_TEST(thrum_write(io, "hello", 5) == 5);
    THRUM_TEST(thrum_read(io, text, sizeof text) == 5 && !memcmp(text, "hello", 5));
    THRUM_TEST(thrum_now() - began >= THRUM_US(200));
    THRUM_TEST(thrum_now() - began <= THRUM_MS(2));
    THRUM_TEST(counter == 7);
    MUST(thrum_io_close(io));
    return 0;
}

/* ---- the end of a connection comes behind its bytes ---- */

static int sends(void *arg) {
    thrum_io listener;
    thrum_io io;
    (void)arg;
    MUST(thrum_listen(&listener, "tcp:server:7000", NULL));
    MUST(thrum_accept(listener, &io));
    for (char i = 0; i < 10; i++) {
        THRUM_TEST(thrum_write(io, &i, 1) == 1);
    }
    MUST(thrum_io_close(io));
    MUST(thrum_io_close(listener));
    return 0;
}

static int order(void *arg) {
    char c;
    (void)arg;
    MUST(thrum_test_host("server", sends, NULL));
    const thrum_io io = dial("tcp:server:7000");
    for (char i = 0; i < 10; i++) {
        THRUM_TEST(thrum_read(io, &c, 1) == 1 && c == i);
    }
    THRUM_TEST(thrum_read(io, &c, 1) == 0);
    MUST(thrum_io_close(io));
    return thrum_test_host_wait("server");
}

/* ---- each host waits until all others are blocked ---- */

static int settles(void *arg) {
    (void)arg;
    for (int i = 0; i < 3; i++) {
        thrum_test_settle();
        MUST(thrum_sleep(THRUM_MS(1)));
    }
    return 0;
}

static int settle(void *arg) {
    (void)arg;
    MUST(thrum_test_host("a", settles, NULL));
    MUST(thrum_test_host("b", settles, NULL));
    MUST(settles(NULL));
    MUST(thrum_test_host_wait("a"));
    return thrum_test_host_wait("b");
}

/* ---- crashes ---- */

static int crash(void *arg) {
    char text[64];
    thrum_io io;
    (void)arg;
    MUST(thrum_test_host("server", echo, NULL));
    io = dial("tcp:server:7000");
    THRUM_TEST(thrum_write(io, "hello", 5) == 5);
    THRUM_TEST(thrum_read(io, text, sizeof text) == 5);
    MUST(thrum_test_host_crash("server"));
    THRUM_TEST(thrum_test_host_crash("server") == -EALREADY);
    THRUM_TEST(thrum_read(io, text, sizeof text) == -ECONNRESET);
    MUST(thrum_io_close(io));
    THRUM_TEST(thrum_dial(&io, "tcp:server:7000", SOON) == -ECONNREFUSED);
    THRUM_TEST(thrum_test_host_wait("server") == -EPIPE);
    MUST(thrum_test_host_restart("server"));
    io = dial("tcp:server:7000");
    THRUM_TEST(thrum_write(io, "again", 5) == 5);
    THRUM_TEST(thrum_read(io, text, sizeof text) == 5 && !memcmp(text, "again", 5));
    MUST(thrum_io_close(io));
    return 0;
}

static int lasts(void *arg) {
    int *times = arg;
    ++*times;
    THRUM_TEST(counter++ == 7);
    if (*times < 20) {
        thrum_mutex *lock = calloc(1, sizeof *lock);
        thrum_mutex_lock(lock);
        thrum_test_host_crash("lasts");
        thrum_test_fail(__FILE__, __LINE__, "it goes on after a crash");
    }
    return 5;
}

static int crashes(void *arg) {
    int *times = calloc(1, sizeof *times);
    (void)arg;
    MUST(thrum_test_host("lasts", lasts, times));
    while (*times < 20) {
        THRUM_TEST(thrum_test_host_wait("lasts") == -EPIPE);
        MUST(thrum_test_host_restart("lasts"));
        thrum_test_settle();
    }
    THRUM_TEST(thrum_test_host_wait("lasts") == 5);
    free(times);
    return 0;
}

/* ---- partitions ---- */

#define US THRUM_US

static int64_t reads(thrum_io io, char *text, thrum_time ns) {
    return thrum_read_until(io, text, 64, thrum_after(ns));
}

static void passes(thrum_io io) {
    char text[64];
    THRUM_TEST(thrum_write(io, "x", 1) == 1 && reads(io, text, THRUM_MS(2)) == 1);
}

static void stops(thrum_io io) {
    char text[64];
    THRUM_TEST(thrum_write(io, "xy", 2) == 2 && reads(io, text, THRUM_S(60)) == -ETIMEDOUT);
}

static int partition(void *arg) {
    char text[64];
    thrum_io other;
    (void)arg;
    MUST(thrum_test_host("server", echo, NULL));
    const thrum_io io = dial("tcp:server:7000");
    passes(io);
    MUST(thrum_test_partition("test", "server"));
    stops(io);
    THRUM_TEST(thrum_dial(&other, "tcp:server:7000", SOON) == -ETIMEDOUT);
    MUST(thrum_test_heal(NULL, "server"));
    THRUM_TEST(reads(io, text, THRUM_MS(2)) == 2); /* TCP has sent them again */
    MUST(thrum_test_link_cut("test", NULL));
    stops(io);
    MUST(thrum_test_heal("test", NULL));
    THRUM_TEST(reads(io, text, THRUM_MS(2)) == 2);
    MUST(thrum_test_link_cut("server", "test"));
    stops(io);
    const thrum_time began = thrum_now();
    THRUM_TEST(thrum_dial(&other, "tcp:server:7000", THRUM_FOREVER) == -ETIMEDOUT);
    THRUM_TEST(thrum_now() - began == THRUM_S(127));
    /* The server gives up, and the test learns it when its next packet gets through. */
    MUST(thrum_sleep(THRUM_S(1000)));
    MUST(thrum_test_heal(NULL, NULL));
    THRUM_TEST(thrum_write(io, "z", 1) == 1);
    THRUM_TEST(reads(io, text, THRUM_MS(3)) == -ECONNRESET);
    MUST(thrum_io_close(io));
    return 0;
}

/* ---- UDP ---- */

static int answers(void *arg) {
    thrum_io io;
    char text[64];
    thrum_address from;
    (void)arg;
    MUST(thrum_listen(&io, "udp::9000", NULL));
    for (;;) {
        const int64_t n = thrum_receive_from(io, text, sizeof text, &from, THRUM_FOREVER);
        THRUM_TEST(n > 0 && thrum_send_to(io, text, (size_t)n, &from, THRUM_FOREVER) == n);
    }
    return 0;
}

/* How many answers arrive, of ten numbers that are sent at once; and whether they are in order. */
static unsigned asks(thrum_io io, bool *in_order) {
    char n, got, last = 0;
    unsigned sum = 0;
    *in_order = true;
    for (n = 1; n <= 10; n++) {
        THRUM_TEST(thrum_send_to(io, &n, 1, NULL, THRUM_FOREVER) == 1);
    }
    while (thrum_receive_from(io, &got, 1, NULL, thrum_after(THRUM_MS(20))) == 1) {
        *in_order = *in_order && got > last;
        last = got;
        sum++;
    }
    return sum;
}

static int udp(void *arg) {
    bool in_order;
    thrum_io io;
    thrum_test_link link = THRUM_TEST_LINK_INIT;
    (void)arg;
    MUST(thrum_test_host("server", answers, NULL));
    thrum_test_settle();
    MUST(thrum_dial(&io, "udp:server:9000", THRUM_FOREVER));
    THRUM_TEST(asks(io, &in_order) == 10);
    link.latency_min = link.latency_max;
    MUST(thrum_test_link_set(NULL, NULL, &link));
    THRUM_TEST(asks(io, &in_order) == 10 && in_order);
    MUST(thrum_test_link_cut("server", "test"));
    THRUM_TEST(asks(io, &in_order) == 0);
    MUST(thrum_test_heal("server", "test"));
    THRUM_TEST(asks(io, &in_order) == 10);
    link.loss = 1000;
    MUST(thrum_test_link_set("test", "server", &link));
    THRUM_TEST(asks(io, &in_order) == 0);
    MUST(thrum_io_close(io));
    return 0;
}

/* Must fail: with the latencies as at first, datagrams overtake each other. */
static int overtakes(void *arg) {
    bool in_order;
    thrum_io io;
    (void)arg;
    MUST(thrum_test_host("server", answers, NULL));
    thrum_test_settle();
    MUST(thrum_dial(&io, "udp:server:9000", THRUM_FOREVER));
    THRUM_TEST(asks(io, &in_order) == 10 && in_order);
    MUST(thrum_io_close(io));
    return 0;
}

/* Must fail: some of the datagrams are lost. */
static int loses(void *arg) {
    bool in_order;
    thrum_io io;
    thrum_test_link link = THRUM_TEST_LINK_INIT;
    (void)arg;
    link.loss = 5;
    MUST(thrum_test_host("server", answers, NULL));
    MUST(thrum_test_link_set(NULL, "server", &link));
    thrum_test_settle();
    MUST(thrum_dial(&io, "udp:server:9000", THRUM_FOREVER));
    THRUM_TEST(asks(io, &in_order) == 10);
    MUST(thrum_io_close(io));
    return 0;
}

/* ---- links ---- */

static int links(void *arg) {
    char text[64], all[4096] = "";
    thrum_test_link link = THRUM_TEST_LINK_INIT;
    (void)arg;
    MUST(thrum_test_host("server", echo, NULL));
    const thrum_io io = dial("tcp:server:7000");
    link.latency_min = link.latency_max = THRUM_S(2);
    link.bandwidth = 1024;
    MUST(thrum_test_link_set("test", "server", &link));
    thrum_time began = thrum_now();
    THRUM_TEST(thrum_write(io, all, sizeof all) == sizeof all);
    THRUM_TEST(thrum_read_full(io, all, sizeof all, THRUM_FOREVER) == sizeof all);
    THRUM_TEST(thrum_now() - began >= THRUM_S(6) && thrum_now() - began < THRUM_S(7));
    link.latency_min = link.latency_max = 0;
    link.bandwidth = 0;
    MUST(thrum_test_link_set(NULL, NULL, &link));
    began = thrum_now();
    passes(io);
    THRUM_TEST(thrum_now() == began);
    MUST(thrum_test_link_hold("server", "test", true));
    stops(io);
    MUST(thrum_test_link_hold("server", "test", false));
    THRUM_TEST(reads(io, text, 1) == 2);
    MUST(thrum_test_link_reset("server", "test"));
    THRUM_TEST(reads(io, text, 1) == -ECONNRESET);
    MUST(thrum_io_close(io));
    THRUM_TEST(thrum_test_partition("test", "test") == -EINVAL);
    THRUM_TEST(thrum_test_link_reset("test", "test") == -EINVAL);
    THRUM_TEST(thrum_test_link_reset("test", NULL) == -EINVAL);
    THRUM_TEST(thrum_test_partition("test", "nobody") == -ENOENT);
    link.latency_min = 1;
    THRUM_TEST(thrum_test_link_set(NULL, NULL, &link) == -EINVAL);
    return 0;
}

/* ---- pauses and clocks ---- */

static int ticks(void *arg) {
    int *ticked = arg;
    for (;;) {
        MUST(thrum_sleep(THRUM_MS(10)));
        ++*ticked;
    }
    return 0;
}

static int pauses(void *arg) {
    int *ticked = calloc(1, sizeof *ticked);
    (void)arg;
    MUST(thrum_test_host("clock", ticks, ticked));
    MUST(thrum_sleep(THRUM_MS(105)));
    THRUM_TEST(*ticked == 10);
    MUST(thrum_test_host_pause("clock", true));
    MUST(thrum_sleep(THRUM_S(1)));
    THRUM_TEST(*ticked == 10);
    MUST(thrum_test_host_pause("clock", false));
    thrum_test_settle();
    THRUM_TEST(*ticked == 11);
    MUST(thrum_sleep(THRUM_MS(1000)));
    THRUM_TEST(*ticked == 110 || *ticked == 111);
    MUST(thrum_test_host_crash("clock"));
    free(ticked);
    return 0;
}

static int clocks(void *arg) {
    int *ticked = calloc(1, sizeof *ticked);
    (void)arg;
    MUST(thrum_test_host("clock", ticks, ticked));
    thrum_test_settle();
    MUST(thrum_test_host_clock("clock", 0, 500000));
    MUST(thrum_sleep(THRUM_MS(1000) + US(5)));
    THRUM_TEST(*ticked == 150);
    MUST(thrum_test_host_clock("clock", 0, -500000));
    MUST(thrum_sleep(THRUM_MS(1000)));
    THRUM_TEST(*ticked == 200);
    MUST(thrum_test_host_clock("clock", THRUM_MS(5), 0));
    MUST(thrum_sleep(THRUM_MS(4)));
    THRUM_TEST(*ticked == 200);
    MUST(thrum_sleep(THRUM_MS(2)));
    THRUM_TEST(*ticked == 201);
    const thrum_time now = thrum_now();
    MUST(thrum_test_host_clock("test", THRUM_S(7), 0));
    THRUM_TEST(thrum_now() - now == THRUM_S(7));
    MUST(thrum_test_host_crash("clock"));
    free(ticked);
    return 0;
}

/* ---- mistakes ---- */

static int names(void *arg) {
    (void)arg;
    THRUM_TEST(thrum_test_host("test", echo, NULL) == -EEXIST);
    THRUM_TEST(thrum_test_host("7", echo, NULL) == -EINVAL);
    THRUM_TEST(thrum_test_host("a.b", echo, NULL) == -EINVAL);
    THRUM_TEST(thrum_test_host("localhost", echo, NULL) == -EINVAL);
    THRUM_TEST(thrum_test_host("a", NULL, NULL) == -EINVAL);
    THRUM_TEST(thrum_test_host_wait("a") == -ENOENT);
    THRUM_TEST(thrum_test_host_crash("test") == -EINVAL);
    MUST(thrum_test_host("a", echo, NULL));
    THRUM_TEST(thrum_test_host_restart("a") == -EBUSY);
    for (int i = 0; i < THRUM_TEST_HOSTS_MAX - 2; i++) {
        char name[] = "b0";
        name[1] = (char)('0' + i);
        MUST(thrum_test_host(name, echo, NULL));
    }
    thrum_test_settle();
    THRUM_TEST(thrum_test_host("c", echo, NULL) == -EAGAIN);
    return 0;
}

/* Each look-up of a name has a thread, which ends with it. */
static int lookups(void *arg) {
    thrum_address address;
    (void)arg;
    for (int i = 0; i < 100; i++) {
        THRUM_TEST(thrum_resolve("test", 7000, THRUM_IPV4, &address, 1, THRUM_FOREVER) == 1);
        MUST(thrum_sleep(THRUM_MS(1)));
    }
    return 0;
}

/* Must fail: nobody asks for the value of a host's function. */
static int returns(void *arg) {
    (void)arg;
    return -EIO;
}

static int result(void *arg) {
    (void)arg;
    MUST(thrum_test_host("a", returns, NULL));
    return thrum_sleep(THRUM_S(1));
}

/* Must fail: both hosts wait for ever. */
static thrum_event never = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);

static int waits(void *arg) {
    (void)arg;
    return thrum_event_wait(&never);
}

static int deadlock(void *arg) {
    (void)arg;
    MUST(thrum_test_host("a", waits, NULL));
    return thrum_test_host_wait("a");
}

/* Must fail: a host leaves a task. */
static int leaves(void *arg) {
    (void)arg;
    return thrum_go(waits, NULL);
}

static int leak(void *arg) {
    (void)arg;
    MUST(thrum_test_host("a", leaves, NULL));
    return thrum_test_host_wait("a");
}

/* Must fail: a check on a host. */
static int checks(void *arg) {
    (void)arg;
    counter = 9;
    MUST(thrum_sleep(THRUM_S(1)));
    THRUM_TEST(counter == 8);
    return 0;
}

static int check(void *arg) {
    (void)arg;
    MUST(thrum_test_host("a", checks, NULL));
    return thrum_test_host_wait("a");
}

static const struct {
    const char *name;
    thrum_fn test;
} tests[] = {{"data", data},           {"tcp", tcp},     {"order", order},
             {"settle", settle},       {"crash", crash}, {"crashes", crashes},
             {"partition", partition}, {"udp", udp},     {"overtakes", overtakes},
             {"loses", loses},         {"links", links}, {"pauses", pauses},
             {"clocks", clocks},       {"names", names}, {"result", result},
             {"deadlock", deadlock},   {"leak", leak},   {"check", check},
             {"lookups", lookups}};

int main(int argc, char **argv) {
    for (size_t i = 0; argc > 1 && i < sizeof tests / sizeof *tests; i++) {
        if (!strcmp(argv[1], tests[i].name)) {
            return thrum_test_main(argc - 1, argv + 1, tests[i].test, NULL);
        }
    }
    return 2;
}
