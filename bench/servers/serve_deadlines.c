/*
 * serve_deadlines.c: each connection sends the instant at which its next read is to end (eight
 * bytes, nanoseconds of CLOCK_REALTIME), and then nothing. When all of those waits are over, the
 * server prints how late the last one ended, and only then closes the connections.
 */
#define _GNU_SOURCE 1
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <thrum.h>
#include <thrum/serve.h>
#include <time.h>

#include "servers.h"

static atomic_int_fast64_t waits, late_ns;
static thrum_event over; /* all waits */

static int64_t wall_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void count(int64_t ns) {
    int_fast64_t seen = atomic_load(&late_ns);
    while (ns > seen && !atomic_compare_exchange_weak(&late_ns, &seen, ns)) {
    }
    if (atomic_fetch_sub(&waits, 1) == 1) {
        printf("{\"last_ms\": %.3f}\n", (double)atomic_load(&late_ns) / 1e6);
        fflush(stdout);
        thrum_event_signal(&over);
    }
}

static int silent(thrum_io io, void *arg) {
    int64_t instant;
    char byte;
    (void)arg;
    if (thrum_read_full(io, &instant, sizeof instant, thrum_after_s(10)) != sizeof instant) {
        return 0;
    }
    atomic_fetch_add(&waits, 1);
    if (thrum_read_until(io, &byte, 1, thrum_after(instant - wall_now())) != -ETIMEDOUT) {
        fputs("the wait ended otherwise\n", stderr);
        exit(1);
    }
    count(wall_now() - instant);
    return thrum_event_wait(&over);
}

int serve_deadlines(thrum_io listener) {
    thrum_event_init(&over, THRUM_EVENT_MANUAL, false);
    return thrum_serve(listener, silent, NULL, NULL);
}
