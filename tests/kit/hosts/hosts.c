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
        thrum_test_host_crash("lasts");
        THRUM_TEST(!"it goes on after a crash");
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

static const struct {
    const char *name;
    thrum_fn test;
} tests[] = {{"data", data}, {"tcp", tcp}, {"crash", crash}, {"crashes", crashes}};

int main(int argc, char **argv) {
    for (size_t i = 0; argc > 1 && i < sizeof tests / sizeof *tests; i++) {
        if (!strcmp(argv[1], tests[i].name)) {
            return thrum_test_main(argc - 1, argv + 1, tests[i].test, NULL);
        }
    }
    return 2;
}
