/*
 * served.h: common parts of tests of thrum_serve.
 *
 *   hall     a server in a task of a rig, the cause of its end, and the findings of its connections
 *   guests   plain sockets that connect to it: no part of the library
 */
#ifndef SERVED_H
#define SERVED_H

#include "support/io/nets.h"

#include <poll.h>
#include <thrum/serve.h>
#include <thrum/signal.h>

typedef struct hall {
    rig r;
    thrum_io listener;
    char where[THRUM_ADDRESS_TEXT];
    thrum_serve_options options;
    thrum_event stop;
    int (*connection)(thrum_io io, void *arg);
    thrum_handle *server;
    atomic_int begun, ended; /* connections */
    atomic_int now, most;    /* connections at a time */
    atomic_int idle_code;    /* the last that thrum_serve_idle has returned */
    atomic_int read_code; /* the last code of a read that failed, or of slow's wait for the test */
    atomic_int requests;
    atomic_int slow_fd;     /* slow's last connection */
    atomic_int worker_bits; /* on which workers they have gone on behind a wait */
    thrum_sem go;           /* for connections that wait for the test */
} hall;

/* ---- connections ---- */

CHECK_UNUSED static void enters(hall *h) {
    atomic_fetch_add(&h->begun, 1);
    const int now = atomic_fetch_add(&h->now, 1) + 1;
    int most = atomic_load(&h->most);
    while (now > most && !atomic_compare_exchange_weak(&h->most, &most, now)) {
    }
}

CHECK_UNUSED static int leaves(hall *h) {
    atomic_fetch_sub(&h->now, 1);
    atomic_fetch_add(&h->ended, 1);
    return 0;
}

/* Answers each byte, until the other side or the server ends; every other one reads in one call. */
CHECK_UNUSED static int echo(thrum_io io, void *arg) {
    hall *h = arg;
    char byte;
    int code;
    enters(h);
    const bool in_one = atomic_load(&h->begun) % 2 == 0;
    while ((code = in_one ? 0 : thrum_serve_idle(io, THRUM_FOREVER)) == 0) {
        int64_t n =
            in_one ? thrum_serve_read(io, &byte, 1, THRUM_FOREVER) : thrum_read(io, &byte, 1);
        if (in_one && (n == -ESHUTDOWN || n == -ECANCELED)) {
            code = (int)n;
            break;
        }
        if (n != 1) {
            atomic_store(&h->read_code, (int)n);
            break;
        }
        const int worker = thrum_worker_id();
        atomic_fetch_or(&h->worker_bits, worker >= 0 && worker < 31 ? 1 << worker : 0);
        atomic_fetch_add(&h->requests, 1);
        if (thrum_write(io, &byte, 1) != 1) {
            break;
        }
    }
    atomic_store(&h->idle_code, code);
    return leaves(h);
}

/* Takes a byte, waits for the test, and answers. */
CHECK_UNUSED static int slow(thrum_io io, void *arg) {
    hall *h = arg;
    char byte;
    atomic_store(&h->slow_fd, io.fd);
    enters(h);
    int code = thrum_serve_idle(io, THRUM_FOREVER);
    if (code == 0 && thrum_read(io, &byte, 1) == 1) {
        atomic_fetch_add(&h->requests, 1);
        code = thrum_sem_wait(&h->go);
        atomic_store(&h->read_code, code);
        if (code == 0) {
            CHECK_EQ(thrum_write(io, &byte, 1), 1);
        }
    }
    atomic_store(&h->idle_code, code);
    return leaves(h);
}

/* ---- the server ---- */

CHECK_UNUSED static int serves(void *arg) {
    hall *h = arg;
    return thrum_serve(h->listener, h->connection, h, &h->options);
}

CHECK_UNUSED static void hall_init(hall *h, int (*connection)(thrum_io io, void *arg)) {
    memset(h, 0, sizeof *h);
    h->options = (thrum_serve_options)THRUM_SERVE_OPTIONS_INIT;
    h->options.drain = THRUM_S(1000); /* longer than any test */
    h->options.stop = &h->stop;
    h->connection = connection;
    thrum_event_init(&h->stop, THRUM_EVENT_MANUAL, false);
    thrum_sem_init(&h->go, 0);
}

/* Starts the rig and the server, with the options as they are. */
CHECK_UNUSED static void hall_open(hall *h) {
    rig_begin(&h->r, 0);
    h->listener = listen_at("tcp:127.0.0.1:0", h->where);
    const thrum_attr attr = rig_attr(&h->r);
    CHECK_EQ(thrum_spawn_with(&h->server, &attr, serves, h), 0);
}

/* Waits for the server's end, and returns its code. */
CHECK_UNUSED static int hall_wait(hall *h) {
    int result = 1;
    CHECK_EQ(thrum_join(h->server, &result), 0);
    CHECK_EQ(atomic_load(&h->begun), atomic_load(&h->ended));
    return result;
}

CHECK_UNUSED static void hall_close(hall *h) {
    (void)thrum_io_close(h->listener);
    rig_stop(&h->r);
}

CHECK_UNUSED static int hall_end(hall *h) {
    thrum_event_signal(&h->stop);
    return hall_wait(h);
}

/* ---- guests ---- */

CHECK_UNUSED static int guest_at(const char *where) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    at.sin_port = htons((uint16_t)atoi(strrchr(where, ':') + 1));
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    CHECK_EQ(connect(fd, (struct sockaddr *)&at, sizeof at), 0);
    return fd;
}

/* It asks, and the answer comes. */
CHECK_UNUSED static void guest_asks(int fd) {
    char byte = 0;
    CHECK_EQ(write(fd, "x", 1), 1);
    CHECK_EQ(read(fd, &byte, 1), 1);
    CHECK_EQ(byte, 'x');
}

/* The server has ended it. */
CHECK_UNUSED static void guest_sees_the_end(int fd) {
    char byte = 0;
    CHECK_EQ(read(fd, &byte, 1), 0);
    close(fd);
}

#endif
