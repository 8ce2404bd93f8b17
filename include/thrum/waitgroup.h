/*
 * thrum/waitgroup.h: waitgroups, which count things to be done and wait until the count is 0.
 *
 * Add to the count before you start a task, and let the task call thrum_waitgroup_done at its end.
 */
#ifndef THRUM_WAITGROUP_H
#define THRUM_WAITGROUP_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/*
 * A waitgroup. It is in the caller's memory, owns nothing, and must not be moved or copied while it
 * is in use.
 */
typedef struct thrum_waitgroup {
    uint64_t reserved_word;
    void *reserved_first;
    void *reserved_last;
} thrum_waitgroup;
THRUM_ABI_SIZE(thrum_waitgroup, 24, 16);

/* The largest count; the smallest is 0. */
#define THRUM_WAITGROUP_MAX INT32_MAX

/*
 * Makes a waitgroup. THRUM_WAITGROUP_INIT is the same as an initializer, also for static variables.
 *
 * Parameters:
 *   wg  the memory of the waitgroup, which no other thread uses during the call
 *   n   the count, 0 to THRUM_WAITGROUP_MAX
 * Context: any thread; never suspends.
 * Ordering: none.
 * Misuse: thrum_waitgroup_init: n is above THRUM_WAITGROUP_MAX. THRUM_WAITGROUP_INIT does not check
 *   it.
 * Example:
 *    thrum_waitgroup done;
 *    thrum_waitgroup_init(&done, 3);
 * See also: thrum_waitgroup_destroy
 */
/* clang-format off */
#define THRUM_WAITGROUP_INIT(n) { (uint64_t)(n) << 2, NULL, NULL }
/* clang-format on */
THRUM_API void thrum_waitgroup_init(thrum_waitgroup *wg, unsigned n);

/*
 * Ends the waitgroup, whose count is then 0. It frees nothing and may be omitted.
 *
 * The memory may be freed once every wait on it has returned: a waiter that was woken no longer
 * waits, but may not have returned yet.
 *
 * Parameters:
 *   wg  a waitgroup that nobody waits for
 * Returns: 0, or -EBUSY with the waitgroup unchanged.
 * Errors:
 *   -EBUSY  a caller waits for the waitgroup
 * Context: any thread; never suspends.
 * Ordering: on success, the writes before all previous calls of thrum_waitgroup_done are visible.
 * See also: thrum_waitgroup_init
 */
THRUM_API int thrum_waitgroup_destroy(thrum_waitgroup *wg);

/*
 * Changes the count: thrum_waitgroup_add adds n, which may be negative, thrum_waitgroup_done
 * subtracts 1. When the count becomes 0, all waiters are woken. The only waiter, or the last one
 * whose wait returns, may free the waitgroup at once.
 *
 * Parameters:
 *   wg  an initialized waitgroup
 *   n   thrum_waitgroup_add only: the number to add
 * Context: any thread; never suspends.
 * Ordering: the writes before a call that lowers the count are visible to the waits that the count
 *   of 0 ends. A call that raises it orders nothing.
 * Misuse: the count would fall below 0 or become larger than THRUM_WAITGROUP_MAX.
 * Example: examples/stages.c
 * See also: thrum_waitgroup_wait
 */
THRUM_API void thrum_waitgroup_add(thrum_waitgroup *wg, int n);
THRUM_API void thrum_waitgroup_done(thrum_waitgroup *wg);

/*
 * Waits until the count is 0. thrum_waitgroup_wait_until gives up at the deadline. If the count is
 * 0 already, the calls return 0 even if the deadline has passed or the caller has been cancelled.
 *
 * Parameters:
 *   wg        an initialized waitgroup
 *   deadline  thrum_waitgroup_wait_until only: when to give up, an instant from thrum_after or
 *             THRUM_FOREVER
 * Returns: 0 once the count is 0, or a negative error code.
 * Errors:
 *   -ECANCELED  the caller was cancelled before the count was 0
 *   -ETIMEDOUT  thrum_waitgroup_wait_until: the deadline passed
 *   -ESHUTDOWN  in the child of a fork (thrum/sched.h): no thread is left to end the wait
 * Context: any thread; may suspend; cancellable.
 * Ordering: on success, the writes before every call of thrum_waitgroup_done are visible.
 * Example: examples/stages.c
 * See also: thrum_waitgroup_add, thrum_waitgroup_on_until
 */
THRUM_API THRUM_NODISCARD int thrum_waitgroup_wait(thrum_waitgroup *wg);
THRUM_API THRUM_NODISCARD int thrum_waitgroup_wait_until(thrum_waitgroup *wg, thrum_time deadline);

THRUM_END_DECLS

#endif
