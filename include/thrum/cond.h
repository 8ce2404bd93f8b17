/*
 * thrum/cond.h: waiting for a condition that a mutex protects.
 *
 * Waiters are woken first come, first served. There are no spurious wakes, but another caller may
 * have changed the condition again: wait in a loop, and leave the loop when the wait fails, since
 * in a cancelled task each further one fails at once.
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

typedef struct thrum_cond {
    uint32_t reserved_word;
    uint32_t reserved_pad;
    void *reserved_first;
    void *reserved_last;
} thrum_cond;
THRUM_ABI_SIZE(thrum_cond, 24, 16);

/* clang-format off */
#define THRUM_COND_INIT { 0, 0, NULL, NULL }
/* clang-format on */

/*
 * Makes a condition that is not waited for, as THRUM_COND_INIT does. Any thread may call it while
 * no other uses the memory. It never suspends and cannot fail.
 */
THRUM_API void thrum_cond_init(thrum_cond *cond);

/*
 * Ends the condition, which is then as after the init. Any thread may call it. It never suspends.
 * It returns 0, or -EBUSY with the condition unchanged while it is waited for. The memory may be
 * freed once every wait on it has returned: a waiter that was woken is not waiting any more, but
 * may not have returned yet.
 */
THRUM_API int thrum_cond_destroy(thrum_cond *cond);

/*
 * Unlocks the mutex, waits to be woken, locks it again. A signal sent after the unlock is not
 * missed. What was written under the mutex before is visible. Any thread that holds the mutex may
 * call it; for others it aborts. It suspends. It returns 0, or -ECANCELED when the caller is
 * cancelled, with the mutex held in any case.
 */
THRUM_API THRUM_NODISCARD int thrum_cond_wait(thrum_cond *cond, thrum_mutex *mutex);
/*
 * Does the same until the deadline. Past it, it returns -ETIMEDOUT, with the mutex held; no signal
 * was consumed.
 */
THRUM_API THRUM_NODISCARD int thrum_cond_wait_until(thrum_cond *cond, thrum_mutex *mutex,
                                                    thrum_time deadline);

/*
 * Wakes the first waiter (signal) or all (broadcast), if there are any. Any thread may call it,
 * with the mutex or without. It never suspends and cannot fail.
 */
THRUM_API void thrum_cond_signal(thrum_cond *cond);
THRUM_API void thrum_cond_broadcast(thrum_cond *cond);

THRUM_END_DECLS

#endif
