/*
 * sentinel.h: the one parked worker that looks whether a worker has work and does not come round.
 * core/worker/PARKING.md, "The sentinel", has the argument.
 */
#ifndef TH_SENTINEL_H
#define TH_SENTINEL_H

#include "core/state/worker.h"

/* The result of a round. */
typedef enum {
    TH_ROUND_NOTHING, /* the sentinel sleeps again */
    TH_ROUND_WORK,    /* it goes on: it has rescued something, or there is something to do */
    TH_ROUND_PENDING  /* it must search: something is queued that any worker may run */
} th_round;

/* The worker has just parked and has the role: returns how long it sleeps first. */
int64_t th_sentinel_begin(th_worker *worker, bool deferred);

/* Its sleep has ended: makes a round. TH_ROUND_NOTHING: *sleep_ns is how long it sleeps next. */
th_round th_sentinel_round(th_worker *worker, int64_t *sleep_ns);

/*
 * All are parked: whether its long sleep may begin. If there are sets of descriptors it comes round
 * until nothing has happened for a while, or each event would wake it (POLLING.md).
 */
bool th_sentinel_may_rest(th_worker *worker);

#endif
