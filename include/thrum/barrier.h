/*
 * thrum/barrier.h: barriers, at which n participants wait for each other.
 *
 * When n callers have arrived, all go on, and the next round begins. A caller counts as arrived
 * only as long as it waits. If its deadline passes or it is cancelled, it is as if it had never
 * come: the others go on waiting for n.
 */
#ifndef THRUM_BARRIER_H
#define THRUM_BARRIER_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/*
 * A barrier. It is in the caller's memory, owns nothing, and must not be moved or copied while it
 * is in use.
 */
typedef struct thrum_barrier {
    uint32_t reserved_word;
    uint32_t reserved_n;
    void *reserved_first;
    void *reserved_last;
} thrum_barrier;
THRUM_ABI_SIZE(thrum_barrier, 24, 16);

/* The largest number of participants; the smallest is 1. */
#define THRUM_BARRIER_MAX 1000000000

/*
 * Makes a barrier. THRUM_BARRIER_INIT is the same as an initializer, also for static variables.
 *
 * Parameters:
 *   barrier  the memory of the barrier, which no other thread uses during the call
 *   n        the number of participants, 1 to THRUM_BARRIER_MAX
 * Context: any thread; never suspends.
 * Ordering: none.
 * Misuse: thrum_barrier_init: n is 0 or above THRUM_BARRIER_MAX. THRUM_BARRIER_INIT does not check
 *   it.
 * Example:
 *    thrum_barrier barrier;
 *    thrum_barrier_init(&barrier, 4);
 * See also: thrum_barrier_destroy
 */
/* clang-format off */
#define THRUM_BARRIER_INIT(n) { 0, (uint32_t)(n), NULL, NULL }
/* clang-format on */
THRUM_API void thrum_barrier_init(thrum_barrier *barrier, unsigned n);

/*
 * Ends the barrier. To use it again, call thrum_barrier_init. It frees nothing and may be omitted.
 * The memory may be freed once every wait on it has returned.
 *
 * Parameters:
 *   barrier  a barrier that nobody waits at
 * Returns: 0, or -EBUSY with the barrier unchanged.
 * Errors:
 *   -EBUSY  a caller waits at the barrier
 * Context: any thread; never suspends.
 * Ordering: on success, the writes of all participants before their waits are visible.
 * See also: thrum_barrier_init
 */
THRUM_API int thrum_barrier_destroy(thrum_barrier *barrier);

/*
 * Waits until n callers have arrived, this one among them. thrum_barrier_wait_until gives up at the
 * deadline. The last to arrive goes on at once, even if its deadline has passed; the others go on
 * in the order in which they came.
 *
 * If the last caller arrives while this one gives up, this one has arrived too, and gets 0.
 *
 * Parameters:
 *   barrier   an initialized barrier
 *   deadline  thrum_barrier_wait_until only: when to give up, an instant from thrum_after or
 *             THRUM_FOREVER
 * Returns: 1 for the last to arrive, 0 for the others, or a negative error code if the caller has
 *   not arrived.
 * Errors:
 *   -ECANCELED  the caller was cancelled
 *   -ETIMEDOUT  thrum_barrier_wait_until: the deadline passed
 *   -ESHUTDOWN  in the child of a fork (thrum/sched.h): no thread is left to end the wait
 * Context: any thread; may suspend; cancellable.
 * Ordering: on success, the writes of all n participants before their waits are visible.
 * Example:
 *    for (int step = 0; step < steps; step++) {
 *        compute(mine, step);
 *        int err = thrum_barrier_wait(&barrier);
 *        if (err < 0) {
 *            return err;
 *        }
 *    }
 * See also: thrum_barrier_on_until
 */
THRUM_API THRUM_NODISCARD int thrum_barrier_wait(thrum_barrier *barrier);
THRUM_API THRUM_NODISCARD int thrum_barrier_wait_until(thrum_barrier *barrier, thrum_time deadline);

THRUM_END_DECLS

#endif
