/*
 * watch.h: waiting until one of several descriptors is ready.
 */
#ifndef TH_WATCH_H
#define TH_WATCH_H

#include "core/basis/waiter_state.h"
#include "io/record.h"

/* A descriptor that is waited for with others; it is in the caller's memory, and stays there. */
typedef struct th_watched {
    thrum_io io;
    unsigned bits;      /* the purpose: THRUM_IO_READ, THRUM_IO_WRITE */
    bool aside;         /* it is not waited for; only its end ends the wait */
    int ready;          /* the bits that are ready, 0, or -EBADF: it was closed */
    th_record *record;  /* the following is the wait's own */
    th_waiter parts[2]; /* one a direction */
    bool listed[2];
} th_watched;

#define TH_WATCHED_MAX TH_OS_POLLED_MAX

/*
 * Waits until one of them is ready, or closed, or the deadline has passed: returns how many have
 * `ready` set, -ETIMEDOUT, -ECANCELED, or the code of the system's refusal. n is at least 1.
 * `address`: the one that is being dialed, for reports; or NULL.
 */
int th_watch_any(th_watched watched[], unsigned n, thrum_time deadline, const char *address);

#endif
