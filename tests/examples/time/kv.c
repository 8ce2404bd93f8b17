/*
 * kv.c: the times of examples/kv: when keys end, and how long it waits for a client. The server and
 * its clients are tasks.
 */
#include <stdarg.h>

#include "memory.h"
#include "session.h"
#include "store.h"

#include <thrum/serve.h>

#include "time/hours.h"

/* ---- the server and a client ---- */

static struct options options;
static thrum_io listener;
static char where[THRUM_ADDRESS_TEXT];
static thrum_event stop = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
static thrum_handle *serving;

static int serves(void *arg) {
    thrum_serve_options how = THRUM_SERVE_OPTIONS_INIT;
    (void)arg;
    how.drain = options.drain;
    how.stop = &stop;
    return thrum_serve(listener, session_run, &options, &how);
}

static thrum_io dials(void) {
    thrum_io io;
    CHECK_EQ(thrum_dial(&io, where, THRUM_FOREVER), 0);
    return io;
}

static thrum_io begin(void) {
    static char hour[] = "3600", minute[] = "60", second[] = "1", name[] = "kv";
    static char i[] = "-i", w[] = "-w", d[] = "-d", listen[] = "tcp:127.0.0.1:0";
    char *argv[] = {name, i, hour, w, minute, d, second, listen, NULL};
    optind = 1;
    CHECK_EQ(options_parse(&options, 8, argv), -1);
    memory_of_keys.max = options.memory_max;
    memory_of_requests.max = options.requests_max;
    CHECK_EQ(store_start(), 0);
    CHECK_EQ(thrum_listen(&listener, options.address, NULL), 0);
    CHECK_EQ(thrum_io_local(listener, where, sizeof where), 0);
    CHECK_EQ(thrum_spawn(&serving, serves, NULL), 0);
    return dials();
}

/* Ends the server, which returns this. */
static void end(int code) {
    int result = 1;
    thrum_event_signal(&stop);
    CHECK_EQ(thrum_join(serving, &result), 0);
    CHECK_EQ(result, code);
    CHECK_EQ(thrum_io_close(listener), 0);
    store_end();
    CHECK_EQ(memory_used(&memory_of_keys), 0);
}

/* Sends a request, as a line, and checks the answer, whose lines end with a newline here. */
static void ask(thrum_io io, const char *request, const char *answer) {
    char got[64];
    size_t size = 0;
    const size_t n = strlen(request);
    CHECK_EQ(thrum_write(io, request, n), (int64_t)n);
    CHECK_EQ(thrum_write(io, "\n", 1), 1);
    for (const char *c = answer; *c; c++) {
        CHECK_EQ(thrum_read_full(io, got, *c == '\n' ? 2 : 1, THRUM_FOREVER), *c == '\n' ? 2 : 1);
        CHECK(got[0] == (*c == '\n' ? '\r' : *c));
        size++;
    }
    CHECK(size > 0);
}

/* The server closes the connection at this time. */
static void is_closed(thrum_io io, thrum_time when) {
    char byte;
    CHECK_EQ(thrum_read(io, &byte, 1), 0);
    CHECK_ABOUT(when);
    CHECK_EQ(thrum_io_close(io), 0);
}

/* ---- keys ---- */

TEST(keys_end_at_their_deadline) {
    /* They are there a millisecond before, and gone behind it, for each command. */
    const thrum_io io = begin();
    const thrum_time began = thrum_now();
    ask(io, "SET soon 1 PX 3600000", "+OK\n");
    ask(io, "PTTL soon", ":3600000\n");
    CHECK_EQ(thrum_sleep_until(began + HOUR - THRUM_MS(1)), 0);
    ask(io, "GET soon", "$1\n1\n");
    ask(io, "EXISTS soon", ":1\n");
    CHECK_EQ(thrum_sleep_until(began + HOUR + THRUM_MS(1)), 0);
    ask(io, "GET soon", "$-1\n");
    ask(io, "TTL soon", ":-2\n");
    ask(io, "EXISTS soon", ":0\n");
    ask(io, "SET soon 1 GET", "$-1\n");
    ask(io, "TTL soon", ":-1\n");
    CHECK_EQ(thrum_io_close(io), 0);
    end(0);
}

TEST(the_time_that_is_left_is_kept_or_changed) {
    /* INCR and KEEPTTL keep it, SET and PERSIST remove it, and seconds are rounded. */
    const thrum_io io = begin();
    const thrum_time began = thrum_now();
    ask(io, "SET x 1 EX 1000", "+OK\n");
    CHECK_EQ(thrum_sleep_until(began + THRUM_S(400)), 0);
    ask(io, "TTL x", ":600\n");
    ask(io, "SET x 2 KEEPTTL", "+OK\n");
    ask(io, "INCR x", ":3\n");
    CHECK_EQ(thrum_sleep_until(began + THRUM_MS(400400)), 0);
    ask(io, "TTL x", ":600\n");
    CHECK_EQ(thrum_sleep_until(began + THRUM_MS(400600)), 0);
    ask(io, "TTL x", ":599\n");
    ask(io, "PEXPIRE x 2000000", ":1\n");
    ask(io, "TTL x", ":2000\n");
    ask(io, "EXPIRE x 50", ":1\n");
    ask(io, "PTTL x", ":50000\n");
    ask(io, "PERSIST x", ":1\n");
    CHECK_EQ(thrum_sleep(HOUR - THRUM_S(1)), 0);
    ask(io, "TTL x", ":-1\n");
    ask(io, "SET x 2 EX 500", "+OK\n");
    ask(io, "SET x 2", "+OK\n");
    CHECK_EQ(thrum_sleep(HOUR - THRUM_S(1)), 0);
    ask(io, "GET x", "$1\n2\n");
    CHECK_EQ(thrum_io_close(io), 0);
    end(0);
}

TEST(keys_that_nobody_asks_for_are_removed) {
    /* They are gone 200 ms behind their deadline, with their memory; others stay. */
    enum { KEYS = 20 };
    thrum_handle *sweeper;
    const thrum_io io = begin();
    CHECK_EQ(thrum_spawn(&sweeper, store_sweep, NULL), 0);
    for (int i = 0; i < KEYS; i++) {
        char request[32];
        snprintf(request, sizeof request, "SET soon%d 1 PX 250", i);
        ask(io, request, "+OK\n");
    }
    ask(io, "SET stays 1 EX 1000", "+OK\n");
    CHECK_EQ(thrum_sleep(THRUM_MS(200)), 0);
    ask(io, "DBSIZE", ":21\n");
    CHECK_EQ(thrum_sleep(THRUM_MS(251)), 0);
    ask(io, "DBSIZE", ":1\n");
    ask(io, "DEL stays", ":1\n");
    CHECK_EQ(memory_used(&memory_of_keys), 0);
    CHECK_EQ(thrum_sleep(HOUR - THRUM_S(1)),
             0); /* the sweeper sleeps: else this would be a livelock */
    CHECK_EQ(thrum_cancel(sweeper), 0);
    CHECK_EQ(thrum_join(sweeper, NULL), 0);
    CHECK_EQ(thrum_io_close(io), 0);
    end(0);
}

/* ---- clients ---- */

TEST(a_silent_client_is_cut) {
    /* It is cut when the hour of -i is over, also in the middle of a request. */
    thrum_io io = begin();
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(thrum_sleep(HOUR - THRUM_MS(1)), 0);
        ask(io, "PING", "+PONG\n");
    }
    is_closed(io, thrum_now() + HOUR);
    io = dials();
    CHECK_EQ(thrum_write(io, "PI", 2), 2);
    is_closed(io, thrum_now() + HOUR);
    end(0);
}

TEST(a_client_that_does_not_read_is_cut) {
    /* It is cut when the minute of -w is over. */
    static char value[1 << 16];
    char request[64];
    const thrum_io io = begin();
    const thrum_io deaf = dials();
    memset(value, 'x', sizeof value);
    const int n =
        snprintf(request, sizeof request, "*3\r\n$3\r\nSET\r\n$1\r\na\r\n$%zu\r\n", sizeof value);
    CHECK_EQ(thrum_write(io, request, (size_t)n), n);
    CHECK_EQ(thrum_write(io, value, sizeof value), (int64_t)sizeof value);
    ask(io, "\r", "+OK\n");
    const thrum_time began = thrum_now();
    for (int i = 0; i < 8; i++) {
        CHECK_EQ(thrum_write(deaf, "GET a\n", 6), 6);
    }
    CHECK_EQ(thrum_sleep_until(began + THRUM_S(60) - THRUM_MS(1)), 0);
    CHECK_EQ(session_count(), 2);
    CHECK_EQ(thrum_sleep_until(began + THRUM_S(60) + THRUM_MS(1)), 0);
    CHECK_EQ(session_count(), 1);
    CHECK_EQ(thrum_io_close(deaf), 0);
    CHECK_EQ(thrum_io_close(io), 0);
    end(0);
}

TEST(the_end_does_not_wait_for_ever) {
    /* A request that does not come is cut off when the second of -d is over. */
    const thrum_io idle = begin();
    const thrum_io busy = dials();
    const thrum_io cut = dials();
    CHECK_EQ(thrum_write(busy, "*2\r\n$4\r\nEC", 10), 10);
    CHECK_EQ(thrum_write(cut, "*2\r\n$4\r\nEC", 10), 10);
    CHECK_EQ(thrum_sleep(THRUM_MS(1)), 0); /* all have been accepted */
    const thrum_time began = thrum_now();
    thrum_event_signal(&stop);
    is_closed(idle, began);
    CHECK_EQ(thrum_sleep_until(began + THRUM_MS(900)), 0);
    ask(busy, "HO\r\n$2\r\nhi\r", "$2\nhi\n");
    is_closed(busy, began + THRUM_MS(900));
    is_closed(cut, began + THRUM_S(1));
    end(-ETIMEDOUT);
}
