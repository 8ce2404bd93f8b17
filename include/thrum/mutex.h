/*
 * thrum/mutex.h: mutual exclusion between fibers and threads alike.
 *
 * Waiters queue first come, first served. A running caller may take a free mutex past the queue
 * until the first waiter has waited 1 ms; then it is handed over. The owner is the task (or thread)
 * that locked, wherever it runs by then. A mutex is not recursive. Waiting for one is not
 * cancelled.
 */
#ifndef THRUM_MUTEX_H
#define THRUM_MUTEX_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

typedef struct thrum_mutex {
    uint32_t reserved_word;
    uint32_t reserved_pad;
    uint64_t reserved_owner;
    void *reserved_first;
    void *reserved_last;
} thrum_mutex;
THRUM_ABI_SIZE(thrum_mutex, 32, 24);

/* clang-format off */
#define THRUM_MUTEX_INIT { 0, 0, 0, NULL, NULL }
/* clang-format on */

/*
 * Makes a free mutex, as THRUM_MUTEX_INIT does. Any thread may call it while no other uses the
 * memory. It never suspends and cannot fail.
 */
THRUM_API void thrum_mutex_init(thrum_mutex *mutex);

/*
 * Ends the mutex, which is then as after the init. Any thread may call it. It never suspends. It
 * returns 0, or -EBUSY with the mutex unchanged while it is locked or waited for.
 */
THRUM_API int thrum_mutex_destroy(thrum_mutex *mutex);

/*
 * Locks the mutex, waiting as long as it takes: it cannot fail and is not cancelled. What the
 * previous owner wrote before its unlock is visible. Any thread may call it. It may suspend. It
 * aborts when the caller holds the mutex already.
 */
THRUM_API void thrum_mutex_lock(thrum_mutex *mutex);
/*
 * Does the same until the deadline. It returns 0, or -ETIMEDOUT when it has passed and the mutex
 * was not taken.
 */
THRUM_API THRUM_NODISCARD int thrum_mutex_lock_until(thrum_mutex *mutex, thrum_time deadline);

/*
 * Locks the mutex if it is free. Any thread may call it. It never suspends. It returns 0, or -EBUSY
 * when the mutex is held, also by the caller.
 */
THRUM_API THRUM_NODISCARD int thrum_mutex_try_lock(thrum_mutex *mutex);

/*
 * Unlocks the mutex. The task or thread that holds it may call it. It never suspends. It aborts
 * when the caller is not the owner. The next owner may destroy and free the mutex at once.
 */
THRUM_API void thrum_mutex_unlock(thrum_mutex *mutex);

THRUM_END_DECLS

#endif
