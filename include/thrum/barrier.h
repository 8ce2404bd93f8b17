/*
 * thrum/barrier.h: n participants wait for each other; then all go on, and it begins anew.
 *
 * Who waits has arrived as long as its wait lasts. One that is late or cancelled is as if it had
 * never come: the others go on waiting for n.
 */
#ifndef THRUM_BARRIER_H
#define THRUM_BARRIER_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

typedef struct thrum_barrier {
    uint32_t reserved_word;
    uint32_t reserved_n;
    void *reserved_first;
    void *reserved_last;
} thrum_barrier;
THRUM_STATIC_ASSERT(sizeof(thrum_barrier) == 24, "part of the ABI");

/* The most participants; there is at least 1. */
#define THRUM_BARRIER_MAX 1000000000

/* clang-format off */
#define THRUM_BARRIER_INIT(n) { 0, (uint32_t)(n), NULL, NULL }
/* clang-format on */

/* Makes one for n participants. Aborts unless n is from 1 to THRUM_BARRIER_MAX. */
THRUM_API void thrum_barrier_init(thrum_barrier *barrier, unsigned n);

/* -EBUSY, unchanged, while it is waited for. */
THRUM_API int thrum_barrier_destroy(thrum_barrier *barrier);

/*
 * Waits until n have come, the caller among them. Any thread; may suspend. 1 for the last to come,
 * 0 for the others, who go on in the order in which they came: what all of them wrote before is
 * visible. -ECANCELED (thrum_sched_stop_until): the caller has not arrived.
 */
THRUM_API THRUM_NODISCARD int thrum_barrier_wait(thrum_barrier *barrier);
/*
 * The same until the deadline: -ETIMEDOUT, and the caller has not arrived. If the last one comes
 * while the caller is just giving up it has arrived, and the result is 0.
 */
THRUM_API THRUM_NODISCARD int thrum_barrier_wait_until(thrum_barrier *barrier, thrum_time deadline);

THRUM_END_DECLS

#endif
