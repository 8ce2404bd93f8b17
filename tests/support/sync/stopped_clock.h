/*
 * stopped_clock.h: a clock that a thread may stop for itself. For that thread the time is then set
 * by the test, so the test decides which deadlines have passed. A file that includes it has `wrap:
 * th_os_now` (check.h).
 */
#ifndef STOPPED_CLOCK_H
#define STOPPED_CLOCK_H

#include "support/times.h"

/*
 * The time of the thread that has stopped it; 0: it goes on. Atomic, since the thread sanitizer
 * takes each task of a worker for a thread.
 */
static _Thread_local _Atomic int64_t stopped_at;

int64_t __real_th_os_now(void);
int64_t __wrap_th_os_now(void);

int64_t __wrap_th_os_now(void) {
    const int64_t at = atomic_load(&stopped_at);
    return at ? at : __real_th_os_now();
}

/* Stops the clock for the calling thread at the present time, and returns that. */
CHECK_UNUSED static int64_t clock_stop(void) {
    const int64_t now = thrum_now();
    atomic_store(&stopped_at, now);
    return now;
}

/* Sets the stopped clock of the calling thread; 0: it goes on. */
CHECK_UNUSED static void clock_set(int64_t at) {
    atomic_store(&stopped_at, at);
}

#endif
