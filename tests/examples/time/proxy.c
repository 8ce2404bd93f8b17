/*
 * proxy.c: the times of examples/proxy: how long it waits for its target, for a connection on which
 * nothing moves, and for connections at its end. The proxy, its clients and the target are tasks.
 */
#include <thrum.h>

static int target_dial(thrum_io *io, const char *address, thrum_time deadline);

#define main proxy_main
#define thrum_dial target_dial
int proxy_main(int argc, char **argv);
#include "../../../examples/proxy.c"
#undef thrum_dial
#undef main

#include "time/hours.h"

static struct options options;
static thrum_io proxy_listener, target_listener;
static char proxy_at[THRUM_ADDRESS_TEXT], target_at[THRUM_ADDRESS_TEXT];
static thrum_event stop = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
static thrum_handle *serving;
static bool target_is_silent;

/* If the target does not answer, not even by a refusal, a dial ends at its deadline. */
static int target_dial(thrum_io *io, const char *address, thrum_time deadline) {
    if (target_is_silent) {
        const int err = thrum_sleep_until(deadline);
        return err ? err : -ETIMEDOUT;
    }
    return thrum_dial(io, address, deadline);
}

static int proxy_serves(void *arg) {
    thrum_serve_options how = THRUM_SERVE_OPTIONS_INIT;
    (void)arg;
    how.drain = options.drain;
    how.stop = &stop;
    return thrum_serve(proxy_listener, pass_on, &options, &how);
}

static void begin(void) {
    static char hours[] = "7200", minute[] = "60", name[] = "proxy", i[] = "-i", t[] = "-t",
                d[] = "-d";
    static char listen[] = "tcp:127.0.0.1:0";
    char *argv[] = {name, i, hours, t, minute, d, minute, listen, target_at, NULL};
    CHECK_EQ(thrum_listen(&target_listener, listen, NULL), 0);
    CHECK_EQ(thrum_io_local(target_listener, target_at, sizeof target_at), 0);
    optind = 1;
    CHECK(read_options(&options, 9, argv));
    CHECK_EQ(thrum_listen(&proxy_listener, options.listen, NULL), 0);
    CHECK_EQ(thrum_io_local(proxy_listener, proxy_at, sizeof proxy_at), 0);
    CHECK_EQ(thrum_spawn(&serving, proxy_serves, NULL), 0);
}

/* Ends the proxy, which returns this. */
static void end(int code) {
    int result = 1;
    thrum_event_signal(&stop);
    CHECK_EQ(thrum_join(serving, &result), 0);
    CHECK_EQ(result, code);
    CHECK_EQ(thrum_io_close(proxy_listener), 0);
    CHECK_EQ(thrum_io_close(target_listener), 0);
}

static void connect_through(thrum_io *client, thrum_io *served) {
    CHECK_EQ(thrum_dial(client, proxy_at, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_accept(target_listener, served), 0);
}

static void passes(thrum_io from, thrum_io to) {
    char byte = 0;
    CHECK_EQ(thrum_write(from, "x", 1), 1);
    CHECK_EQ(thrum_read(to, &byte, 1), 1);
    CHECK_EQ(byte, 'x');
}

/* Waits until the connection is reset, which happens at this time, and closes it. */
static void is_reset(thrum_io io, thrum_time when) {
    char byte;
    CHECK_EQ(thrum_read(io, &byte, 1), -ECONNRESET);
    CHECK_ABOUT(when);
    CHECK_EQ(thrum_io_close(io), 0);
}

TEST(a_target_that_does_not_answer_is_given_up) {
    /* The client is reset when the minute of -t is over. */
    thrum_io client;
    begin();
    target_is_silent = true;
    const thrum_time began = thrum_now();
    CHECK_EQ(thrum_dial(&client, proxy_at, THRUM_FOREVER), 0);
    is_reset(client, began + THRUM_S(60));
    end(0);
}

TEST(what_is_idle_is_cut) {
    /* A direction that is silent is not, as long as the other one is not. */
    thrum_io client, served;
    begin();
    connect_through(&client, &served);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(thrum_sleep(2 * HOUR - THRUM_MS(1)), 0);
        passes(i == 1 ? client : served, i == 1 ? served : client);
    }
    const thrum_time moved = thrum_now();
    is_reset(client, moved + 2 * HOUR);
    is_reset(served, moved + 2 * HOUR);
    end(0);
}

TEST(the_end_does_not_wait_for_ever) {
    /* Connections that go on are reset when the minute of -d is over; one that ends is not. */
    thrum_io client, served, brief, its_end;
    char byte;
    begin();
    connect_through(&client, &served);
    connect_through(&brief, &its_end);
    passes(client, served);
    const thrum_time began = thrum_now();
    thrum_event_signal(&stop);
    CHECK_EQ(thrum_sleep(THRUM_S(59)), 0);
    passes(brief, its_end);
    CHECK_EQ(thrum_io_close(brief), 0);
    CHECK_EQ(thrum_read(its_end, &byte, 1), 0);
    CHECK_EQ(thrum_io_close(its_end), 0);
    passes(served, client);
    is_reset(client, began + THRUM_S(60));
    is_reset(served, began + THRUM_S(60));
    end(-ETIMEDOUT);
}
