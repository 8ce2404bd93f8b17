/*
 * serve_busy.c: an echo, while as many fibers as half of the workers compute for 5 ms at a time,
 * and give way in between.
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
    while ((n = thrum_serve_read(io, text, sizeof text, thrum_after_s(60))) > 0 &&
           thrum_write_until(io, text, (size_t)n, thrum_after_s(10)) == n) {
    }
    return 0;
}

int serve_busy(thrum_io listener) {
    int err = 0;
    for (unsigned i = 0; err == 0 && i < thrum_sched_parallelism(thrum_sched_current()) / 2; i++) {
        err = thrum_go(compute, NULL);
    }
    return err != 0 ? err : thrum_serve(listener, echo, NULL, NULL);
}
