/*
 * serve_on.c: the HTTP server of serve_hello.c with thrum_io_on: between two requests a connection
 * is an object of 88 bytes, and has no stack.
 */
#define _GNU_SOURCE 1
#include <stdlib.h>
#include <thrum.h>
#include <thrum/net.h>

#include "../peers/servers/hello.h"
#include "servers.h"

enum { ROOM = 2048 };

typedef struct connection {
    thrum_task task;
    thrum_io io;
} connection;

static void end(connection *c) {
    (void)!thrum_io_close(c->io);
    free(c);
}

/* Reads until there is a whole request, and answers. Returns whether the connection goes on. */
static bool talk(thrum_io io) {
    char text[ROOM];
    size_t have = 0, used;
    bool last = false;
    do {
        const thrum_time patience = have == 0 ? thrum_after_ms(100) : thrum_after_s(10);
        const int64_t n = thrum_read_until(io, text + have, ROOM - have, patience);
        if (n <= 0) {
            return n == -ETIMEDOUT && have == 0; /* nothing had come after all */
        }
        have += (size_t)n;
        const unsigned found = hello_requests(text, have, &used, &last);
        const size_t size = found * HELLO_SIZE;
        if (found > 0 &&
            thrum_write_until(io, hello_answers(), size, thrum_after_s(10)) != (int64_t)size) {
            return false;
        }
        have -= used;
        memmove(text, text + used, have);
    } while (have > 0 && have < ROOM && !last);
    return !last && have == 0;
}

/* There is something to read. */
static void readable(thrum_task *self, void *arg) {
    connection *c = arg;
    if (!talk(c->io) || thrum_io_on(c->io, THRUM_IO_READ, self) != 0) {
        end(c);
    }
}

int serve_on(thrum_io listener) {
    int err = 0;
    (void)hello_answers();
    while (err == 0) {
        connection *c = malloc(sizeof *c);
        err = !c ? -ENOMEM : thrum_accept(listener, &c->io);
        if (err == 0) {
            thrum_task_init(&c->task, readable, c);
            err = thrum_io_on(c->io, THRUM_IO_READ, &c->task);
        }
    }
    return err;
}
