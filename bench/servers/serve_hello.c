/*
 * serve_hello.c: the least of an HTTP server, as hello.h has it: a fiber a connection.
 */
#define _GNU_SOURCE 1
#include <thrum.h>
#include <thrum/serve.h>

#include "../peers/servers/hello.h"
#include "servers.h"

enum { ROOM = 1024 };

/* Answers all whole requests in text[0 .. *have). Returns whether the connection goes on. */
static bool answer(thrum_io io, char *text, size_t *have) {
    size_t used;
    bool last = false;
    unsigned n;
    while (!last && (n = hello_requests(text, *have, &used, &last)) > 0) {
        const size_t size = n * HELLO_SIZE;
        if (thrum_write_until(io, hello_answers(), size, thrum_after_s(10)) != (int64_t)size) {
            return false;
        }
        *have -= used;
        memmove(text, text + used, *have);
    }
    return !last && *have < ROOM;
}

static int talk(thrum_io io, void *arg) {
    char text[ROOM];
    size_t have = 0;
    int64_t n;
    (void)arg;
    while ((n = thrum_serve_read(io, text + have, ROOM - have, thrum_after_s(300))) > 0) {
        have += (size_t)n;
        if (!answer(io, text, &have)) {
            break;
        }
    }
    return 0;
}

int serve_http(thrum_io listener) {
    (void)hello_answers(); /* made before there is more than one task */
    return thrum_serve(listener, talk, NULL, NULL);
}
