/*
 * serves.c: how long a server waits for its connections when it ends, and for a silent client.
 */
/* matrix: policy workers */
#include "time/hours.h"

#include <thrum/serve.h>

static thrum_serve_options options;
static thrum_event stop = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
static thrum_event never = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
static thrum_io listener;
static char where[THRUM_ADDRESS_TEXT];
static thrum_handle *server;
static atomic_int asked;
static atomic_int hung; /* the code of a connection that hung */

/* Answers each byte after so many hours, "?" never. Then it gives up a silent client after 3. */
static int connection(thrum_io io, void *arg) {
    char byte;
    thrum_time patience = THRUM_FOREVER;
    (void)arg;
    while (thrum_serve_read(io, &byte, 1, patience) == 1) {
        atomic_fetch_add(&asked, 1);
        if (byte == '?') {
            atomic_store(&hung, thrum_event_wait(&never));
            break;
        }
        if (thrum_sleep((byte - '0') * HOUR) != 0 || thrum_write(io, &byte, 1) != 1) {
            break;
        }
        patience = thrum_after(3 * HOUR);
    }
    return 0;
}

static int serves(void *arg) {
    (void)arg;
    return thrum_serve(listener, connection, NULL, &options);
}

static void begin(thrum_time drain) {
    options = (thrum_serve_options)THRUM_SERVE_OPTIONS_INIT;
    options.stop = &stop;
    options.drain = drain;
    CHECK_EQ(thrum_listen(&listener, "tcp:127.0.0.1:0", NULL), 0);
    CHECK_EQ(thrum_io_local(listener, where, sizeof where), 0);
    CHECK_EQ(thrum_spawn(&server, serves, NULL), 0);
}

/* Waits for the server's end, which has this code and comes at this time. */
static void ends(int code, thrum_time when) {
    int result = 1;
    CHECK_EQ(thrum_join(server, &result), 0);
    CHECK_EQ(result, code);
    CHECK_ABOUT(when);
    CHECK_EQ(thrum_io_close(listener), 0);
}

/* A client, which has asked for this, and been heard. */
static thrum_io asks(const char *request) {
    const int before = atomic_load(&asked);
    thrum_io io;
    CHECK_EQ(thrum_dial(&io, where, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_write(io, request, 1), 1);
    while (atomic_load(&asked) == before) {
        thrum_yield();
    }
    return io;
}

/* The answer, or the end for 0, comes at this time. */
static void hears(thrum_io io, char answer, thrum_time when) {
    char byte = 0;
    CHECK_EQ(thrum_read(io, &byte, 1), answer != 0);
    CHECK_EQ(byte, answer);
    CHECK_ABOUT(when);
}

TEST(a_silent_client_is_given_up) {
    /* It has said something before. */
    begin(HOUR);
    const thrum_time began = thrum_now();
    const thrum_io io = asks("2");
    hears(io, '2', began + 2 * HOUR);
    hears(io, 0, began + 5 * HOUR);
    CHECK_EQ(thrum_io_close(io), 0);
    thrum_event_signal(&stop);
    ends(0, began + 5 * HOUR);
}

TEST(what_has_begun_is_answered) {
    /* An idle connection ends at once, and the server with its last connection. */
    begin(AMPLE(10));
    const thrum_time began = thrum_now();
    const thrum_io busy = asks("9");
    const thrum_io idle = asks("0");
    hears(idle, '0', began);
    thrum_event_signal(&stop);
    hears(idle, 0, began);
    hears(busy, '9', began + 9 * HOUR);
    hears(busy, 0, began + 9 * HOUR);
    ends(0, began + 9 * HOUR);
    CHECK_EQ(thrum_io_close(busy), 0);
    CHECK_EQ(thrum_io_close(idle), 0);
}

TEST(what_hangs_is_cancelled) {
    /* At the deadline of the drain, and no earlier; the others have ended by themselves. */
    begin(8 * HOUR);
    const thrum_time began = thrum_now();
    const thrum_io hangs = asks("?");
    const thrum_io slow = asks("7");
    thrum_event_signal(&stop);
#ifdef TIME_IS_VIRTUAL /* in real time, it may be cancelled, too */
    hears(slow, '7', began + 7 * HOUR);
    hears(slow, 0, began + 7 * HOUR);
#endif
    hears(hangs, 0, began + 8 * HOUR);
    ends(-ETIMEDOUT, began + 8 * HOUR);
    CHECK_EQ(atomic_load(&hung), -ECANCELED);
    CHECK_EQ(thrum_io_close(hangs), 0);
    CHECK_EQ(thrum_io_close(slow), 0);
}

TEST(a_drain_of_no_time) {
    /* Only those go on that have nothing left to wait for. */
    begin(0);
    const thrum_time began = thrum_now();
    const thrum_io hangs = asks("?");
    thrum_event_signal(&stop);
    hears(hangs, 0, began);
    ends(-ETIMEDOUT, began);
    CHECK_EQ(thrum_io_close(hangs), 0);
}
