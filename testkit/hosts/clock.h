/*
 * clock.h: the clock of a host, which may be ahead of the engine's and run faster or slower.
 */
#ifndef HOSTS_CLOCK_H
#define HOSTS_CLOCK_H

#include <stdint.h>

typedef struct sim_clock {
    int64_t since;  /* a moment in the engine's time */
    int64_t ahead;  /* so many nanoseconds at that moment */
    int64_t faster; /* so many nanoseconds in each million */
} sim_clock;

/* The host's time. */
static inline int64_t clock_shows(const sim_clock *c, int64_t now) {
    return now + c->ahead + (int64_t)((__int128)(now - c->since) * c->faster / 1000000);
}

/* The engine's time at which the host's clock has come to `at`. */
static inline int64_t clock_comes_to(const sim_clock *c, int64_t at) {
    if (!c->ahead && !c->faster) {
        return at;
    }
    const int64_t rate = 1000000 + c->faster;
    const __int128 length = (__int128)at - c->ahead - c->since; /* by the host's clock */
    const __int128 until = c->since + (length * 1000000 + (length > 0 ? rate - 1 : 0)) / rate;
    return until < INT64_MAX ? (int64_t)until : INT64_MAX - 1;
}

#endif
