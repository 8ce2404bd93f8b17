/*
 * sentinel.h: the one parked worker that looks whether somebody has work and does not come round.
 * core/worker/PARKING.md, "The sentinel", has the argument.
 */
#ifndef TH_SENTINEL_H
#define TH_SENTINEL_H

#include "core/state/worker.h"

/* What a round has found. */
typedef enum {
    TH_ROUND_NOTHING, /* it sleeps again */
    TH_ROUND_WORK,    /* it goes on: it has rescued something, or there is something to do */
    TH_ROUND_PENDING  /* it must search, since something is queued for everybody */
} th_round;

/* It has just parked, and has the role: for how long it sleeps first. */
int64_t th_sentinel_begin(th_worker *worker, bool deferred);

/* Its sleep has ended. TH_ROUND_NOTHING: *sleep_ns is how long it sleeps next. */
th_round th_sentinel_round(th_worker *worker, int64_t *sleep_ns);

#endif
