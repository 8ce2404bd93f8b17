/*
 * thrum/barrier.h: n participants wait for each other; then all go on, and it begins anew.
 *
 * A caller has arrived as long as its wait lasts. One that is late or cancelled is as if it had
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
THRUM_ABI_SIZE(thrum_barrier, 24, 16);

/* The most participants; there is at least 1. */
#define THRUM_BARRIER_MAX 1000000000

/* clang-format off */
#define THRUM_BARRIER_INIT(n) { 0, (uint32_t)(n), NULL, NULL }
/* clang-format on */

/*
 * Makes a barrier for n participants, as THRUM_BARRIER_INIT does. It aborts unless n is from 1 to
 * THRUM_BARRIER_MAX. Any thread may call it while no other uses the memory. It never suspends.
 */
THRUM_API void thrum_barrier_init(thrum_barrier *barrier, unsigned n);

/*
 * Ends the barrier; to use it again, init it. Any thread may call it. It never suspends. It returns
 * 0, or -EBUSY with the barrier unchanged while it is waited for. The memory may be freed once
 * every wait on it has returned.
 */
THRUM_API int thrum_barrier_destroy(thrum_barrier *barrier);

/*
 * Waits until n callers have come, this one among them. What all of them wrote before is visible.
 * Any thread may call it. It may suspend. It returns 1 to the last to come, and 0 to the others,
 * which go on in the order in which they came; or -ECANCELED when the caller is cancelled, by
 * thrum_cancel or in another way, and has not arrived.
 */
THRUM_API THRUM_NODISCARD int thrum_barrier_wait(thrum_barrier *barrier);
/*
 * Does the same until the deadline. Past it, it returns -ETIMEDOUT, and the caller has not arrived.
 * If the last one comes while the caller is just giving up, it has arrived, and the result is 0.
 */
THRUM_API THRUM_NODISCARD int thrum_barrier_wait_until(thrum_barrier *barrier, thrum_time deadline);

THRUM_END_DECLS

#endif
