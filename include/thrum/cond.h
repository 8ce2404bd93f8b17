/*
 * thrum/cond.h: waiting for a condition that a mutex protects.
 *
 * Waiters are woken in the order in which they come. There are no spurious wakes, but another
 * caller may have changed the condition again. So wait in a loop, and leave the loop when the wait
 * fails: in a cancelled task each further wait fails at once.
 *
 *     int err = 0;
 *     thrum_mutex_lock(&mutex);
 *     while (err == 0 && items == 0) {
 *         err = thrum_cond_wait(&not_empty, &mutex);
 *     }
 */
#ifndef THRUM_COND_H
#define THRUM_COND_H

#include "thrum/base.h"
#include "thrum/mutex.h"

THRUM_BEGIN_DECLS

/*
 * A condition variable. It is in the caller's memory, owns nothing, and must not be moved or copied
 * while it is in use.
 */
typedef struct thrum_cond {
    uint32_t reserved_word;
    uint32_t reserved_pad;
    void *reserved_first;
    void *reserved_last;
} thrum_cond;
THRUM_ABI_SIZE(thrum_cond, 24, 16);

/*
 * Makes a condition variable. THRUM_COND_INIT is the same as an initializer, also for static
 * variables.
 *
 * Parameters:
 *   cond  the memory of the condition variable, which no other thread uses during the call
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    thrum_cond not_empty;
 *    thrum_cond_init(&not_empty);
 * See also: thrum_cond_destroy
 */
/* clang-format off */
#define THRUM_COND_INIT { 0, 0, NULL, NULL }
/* clang-format on */
THRUM_API void thrum_cond_init(thrum_cond *cond);

/*
 * Ends the condition variable, which is then as after thrum_cond_init. It frees nothing and may be
 * omitted.
 *
 * The memory may be freed once every wait on it has returned: a waiter that was woken no longer
 * waits, but may not have returned yet.
 *
 * Parameters:
 *   cond  a condition variable that nobody waits for
 * Returns: 0, or -EBUSY with the condition variable unchanged.
 * Errors:
 *   -EBUSY  a caller waits for it
 * Context: any thread; never suspends.
 * Ordering: on success, the writes before all earlier waits are visible.
 * See also: thrum_cond_init
 */
THRUM_API int thrum_cond_destroy(thrum_cond *cond);

/*
 * Waits to be woken, with the mutex unlocked meanwhile. thrum_cond_wait_until gives up at the
 * deadline.
 *
 * A signal that is sent after the unlock is not missed. On each return the caller holds the mutex.
 * It waits for the mutex without a deadline, so the call may return later than the deadline.
 *
 * Parameters:
 *   cond      an initialized condition variable
 *   mutex     the mutex that protects the condition; the caller holds it
 *   deadline  thrum_cond_wait_until only: when to give up, an instant from thrum_after or
 *             THRUM_FOREVER
 * Returns: 0 when woken, or a negative error code with no signal consumed.
 * Errors:
 *   -ECANCELED  the caller was cancelled
 *   -ETIMEDOUT  thrum_cond_wait_until: the deadline passed
 *   -ESHUTDOWN  in the child of a fork (thrum/sched.h): no thread is left to end the wait
 * Context: any thread, with the mutex held; suspends; cancellable.
 * Ordering: the writes of the previous owners of the mutex before their unlocks are visible; on
 *   success, so are the writes before the thrum_cond_signal or thrum_cond_broadcast.
 * Misuse: the caller does not hold the mutex.
 * Example: examples/mutex_cond.c
 * See also: thrum_cond_signal, thrum_cond_on_until
 */
THRUM_API THRUM_NODISCARD int thrum_cond_wait(thrum_cond *cond, thrum_mutex *mutex);
THRUM_API THRUM_NODISCARD int thrum_cond_wait_until(thrum_cond *cond, thrum_mutex *mutex,
                                                    thrum_time deadline);

/*
 * Wakes waiters. thrum_cond_signal wakes the first, thrum_cond_broadcast all. If there are none,
 * the calls do nothing. The caller may hold the mutex or not.
 *
 * Parameters:
 *   cond  an initialized condition variable
 * Context: any thread; never suspends.
 * Ordering: the writes before the call are visible to the waiters that it wakes.
 * Example: examples/mutex_cond.c
 * See also: thrum_cond_wait
 */
THRUM_API void thrum_cond_signal(thrum_cond *cond);
THRUM_API void thrum_cond_broadcast(thrum_cond *cond);

THRUM_END_DECLS

#endif
