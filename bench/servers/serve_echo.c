/*
 * serve_echo.c: an echo without deadlines, alone or while half as many fibers as workers compute
 * for 5 ms at a time, and give way in between.
 */
#include <thrum.h>
#include <thrum/serve.h>

#include "servers.h"

static int compute(void *arg) {
    (void)arg;
    do {
        const thrum_time end = thrum_now() + THRUM_MS(5);
        while (thrum_now() < end) {
        }
        thrum_yield();
    } while (!thrum_cancelled());
    return 0;
}

static int echo(thrum_io io, void *arg) {
    char text[4096];
    int64_t n;
    (void)arg;
    while ((n = thrum_read(io, text, sizeof text)) > 0 && thrum_write(io, text, (size_t)n) == n) {
    }
    return 0;
}

int serve_echo(thrum_io listener) {
    return thrum_serve(listener, echo, NULL, NULL);
}

int serve_busy(thrum_io listener) {
    int err = 0;
    for (unsigned i = 0; err == 0 && i < thrum_sched_parallelism(thrum_sched_current()) / 2; i++) {
        err = thrum_go(compute, NULL);
    }
    return err != 0 ? err : serve_echo(listener);
}
