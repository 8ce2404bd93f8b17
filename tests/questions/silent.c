/* silent.c: "One connection gets no answer." Its task waits for the rest of what the peer sends. */
#include <stdio.h>
#include <thrum.h>
#include <thrum/net.h>
#include <thrum/serve.h>

static int answer(thrum_io io, void *arg) {
    char request[8];
    size_t have = 0;
    (void)arg;
    while (have < sizeof request) {
        int64_t n = thrum_read(io, request + have, sizeof request - have);
        if (n <= 0) {
            return (int)n;
        }
        have += (size_t)n;
    }
    return thrum_write(io, "done\n", 5) == 5 ? 0 : -1;
}

static int asks(void *arg) {
    thrum_io io;
    char reply[8];
    int err = thrum_dial(&io, arg, THRUM_FOREVER);
    if (err == 0) {
        int64_t n = thrum_write(io, "1234", 4);
        n = n == 4 ? thrum_read(io, reply, sizeof reply) : -1;
        err = thrum_io_close(io);
        err = n < 0 ? (int)n : err;
    }
    return err;
}

static int start(void *arg) {
    static char where[THRUM_ADDRESS_TEXT];
    thrum_io listener;
    (void)arg;
    int err = thrum_listen(&listener, "tcp:127.0.0.1:0", NULL);
    err = err != 0 ? err : thrum_io_local(listener, where, sizeof where);
    err = err != 0 ? err : thrum_go(asks, where);
    return err != 0 ? err : thrum_serve(listener, answer, NULL, NULL);
}

int main(void) {
    return thrum_run(NULL, start, NULL);
}
