/*
 * thrum/mutex.h: mutual exclusion between fibers and threads alike.
 *
 * Waiters queue first come, first served. A running caller may take a free mutex past the queue
 * until the first waiter has waited 1 ms; then it is handed over. The owner is the task (or thread)
 * that locked, wherever it runs by then. Not recursive, not a cancellation point.
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
THRUM_STATIC_ASSERT(sizeof(thrum_mutex) == 32, "part of the ABI");

/* clang-format off */
#define THRUM_MUTEX_INIT { 0, 0, 0, NULL, NULL }
/* clang-format on */

/* Makes a free mutex. */
THRUM_API void thrum_mutex_init(thrum_mutex *mutex);

/* Ends it. -EBUSY, unchanged, while it is locked or waited for. */
THRUM_API int thrum_mutex_destroy(thrum_mutex *mutex);

/*
 * Locks, waiting as long as it takes: it cannot fail and is not cancelled. Any thread; may suspend.
 * Aborts when the caller holds it already. What the previous owner wrote before its unlock is
 * visible.
 */
THRUM_API void thrum_mutex_lock(thrum_mutex *mutex);
/* The same until the deadline: 0, or -ETIMEDOUT, and it was not taken. */
THRUM_API THRUM_NODISCARD int thrum_mutex_lock_until(thrum_mutex *mutex, thrum_time deadline);

/* Locks if it is free, else -EBUSY (also when the caller holds it). Any thread; never suspends. */
THRUM_API THRUM_NODISCARD int thrum_mutex_try_lock(thrum_mutex *mutex);

/*
 * Unlocks. Any thread that holds it; never suspends. Aborts when the caller is not the owner.
 * The mutex may be destroyed and freed by the next owner at once.
 */
THRUM_API void thrum_mutex_unlock(thrum_mutex *mutex);

THRUM_END_DECLS

#endif
