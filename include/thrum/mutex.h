/*
 * thrum/mutex.h: mutual exclusion between tasks and threads.
 *
 * A mutex has one owner: the task or thread that locked it, on whichever thread it runs by then.
 * Waiters queue in the order in which they come. A running caller may take a free mutex past the
 * queue until the first waiter has waited for 1 ms. After that, an unlock hands the mutex to that
 * waiter. A mutex is not recursive, but a thrum_recursive is. A wait for a mutex is not cancelled.
 * If its owner ends without unlocking it, it stays locked; THRUM_CHECK=1 in the environment reports
 * such a task.
 */
#ifndef THRUM_MUTEX_H
#define THRUM_MUTEX_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/*
 * A mutex. It is in the caller's memory, owns nothing, and must not be moved or copied while it is
 * in use.
 */
typedef struct thrum_mutex {
    uint32_t reserved_word;
    uint32_t reserved_pad;
    uint64_t reserved_owner;
    void *reserved_first;
    void *reserved_last;
} thrum_mutex;
THRUM_ABI_SIZE(thrum_mutex, 32, 24);

/*
 * Makes a free mutex. THRUM_MUTEX_INIT is the same as an initializer, also for static variables.
 *
 * Parameters:
 *   mutex  the memory of the mutex, which no other thread uses during the call
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    thrum_mutex mutex;
 *    thrum_mutex_init(&mutex);
 * See also: thrum_mutex_destroy
 */
/* clang-format off */
#define THRUM_MUTEX_INIT { 0, 0, 0, NULL, NULL }
/* clang-format on */
THRUM_API void thrum_mutex_init(thrum_mutex *mutex);

/*
 * Ends the mutex, which is then as after thrum_mutex_init. It frees nothing and may be omitted.
 *
 * Parameters:
 *   mutex  a mutex that nobody holds or waits for
 * Returns: 0, or -EBUSY with the mutex unchanged.
 * Errors:
 *   -EBUSY  the mutex is locked or waited for
 * Context: any thread; never suspends.
 * Ordering: on success, the writes of the previous owners before their unlocks are visible.
 * See also: thrum_mutex_init
 */
THRUM_API int thrum_mutex_destroy(thrum_mutex *mutex);

/*
 * Locks the mutex. thrum_mutex_lock waits as long as another caller holds the mutex, and cannot
 * fail. thrum_mutex_lock_until gives up at the deadline, and thrum_mutex_try_lock does not wait.
 *
 * A free mutex is locked even if the deadline has passed. thrum_mutex_try_lock returns -EBUSY also
 * when the caller itself holds the mutex.
 *
 * Parameters:
 *   mutex     an initialized mutex
 *   deadline  thrum_mutex_lock_until only: when to give up, an instant from thrum_after or
 *             THRUM_FOREVER
 * Returns: 0 with the mutex locked, or a negative error code with the mutex not taken;
 *   thrum_mutex_lock returns nothing, with the mutex locked.
 * Errors:
 *   -EBUSY      thrum_mutex_try_lock: the mutex is held
 *   -ETIMEDOUT  thrum_mutex_lock_until: the deadline passed
 *   -ESHUTDOWN  thrum_mutex_lock_until: in the child of a fork (thrum/sched.h): no thread is left
 *               to end the wait
 * Context: any thread; may suspend; not cancellable. thrum_mutex_try_lock never suspends.
 * Ordering: on success, the writes of the previous owners before their unlocks are visible.
 * Misuse: the caller of thrum_mutex_lock or thrum_mutex_lock_until holds the mutex already; in the
 *   child of a fork no thread is left to end the wait of thrum_mutex_lock.
 * Example: examples/mutex_cond.c
 * See also: thrum_mutex_unlock, thrum_cond_wait, thrum_mutex_on_until
 */
THRUM_API void thrum_mutex_lock(thrum_mutex *mutex);
THRUM_API THRUM_NODISCARD int thrum_mutex_lock_until(thrum_mutex *mutex, thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_mutex_try_lock(thrum_mutex *mutex);

/*
 * Unlocks the mutex. The next owner may destroy the mutex and free its memory at once.
 *
 * Parameters:
 *   mutex  a mutex that the caller holds
 * Context: the owner, a task or a thread; never suspends.
 * Ordering: the writes before the call are visible to the callers that lock the mutex later.
 * Misuse: the caller does not hold the mutex.
 * Example: examples/mutex_cond.c
 * See also: thrum_mutex_lock
 */
THRUM_API void thrum_mutex_unlock(thrum_mutex *mutex);

/*
 * A mutex that its owner may lock again: a mutex and a count. It is in the caller's memory, owns
 * nothing, and must not be moved or copied while it is in use. THRUM_RECURSIVE_INIT, or all bytes
 * zero, is a free one. It cannot be the mutex of a thrum_cond.
 */
typedef struct thrum_recursive {
    thrum_mutex inner; /* for thrum_mutex_destroy */
    uint64_t reserved_depth;
} thrum_recursive;
THRUM_ABI_SIZE(thrum_recursive, 40, 32);

/* A free recursive mutex, as an initializer. */
/* clang-format off */
#define THRUM_RECURSIVE_INIT { THRUM_MUTEX_INIT, 0 }
/* clang-format on */

/*
 * Locks a recursive mutex, or counts one more lock if the caller holds it already.
 * thrum_recursive_lock waits as long as another caller holds it, and cannot fail.
 * thrum_recursive_lock_until gives up at the deadline, and thrum_recursive_try_lock does not wait.
 *
 * Parameters:
 *   mutex     the recursive mutex
 *   deadline  thrum_recursive_lock_until only: when to give up, an instant from thrum_after or
 *             THRUM_FOREVER
 * Returns: 0 with the mutex locked, or a negative error code with nothing changed;
 *   thrum_recursive_lock returns nothing, with the mutex locked.
 * Errors:
 *   -EBUSY      thrum_recursive_try_lock: another caller holds it
 *   -ETIMEDOUT  thrum_recursive_lock_until: the deadline passed
 *   -ESHUTDOWN  thrum_recursive_lock_until: in the child of a fork (thrum/sched.h): no thread is
 *               left to end the wait
 * Context: any thread; may suspend; not cancellable. thrum_recursive_try_lock never suspends.
 * Ordering: on success, the writes of the previous owners before their unlocks are visible.
 * Misuse: in the child of a fork no thread is left to end the wait of thrum_recursive_lock.
 * Example:
 *    thrum_recursive_lock(&tree->lock);
 *    walk(tree, print, NULL); // print may call functions that lock it again
 *    thrum_recursive_unlock(&tree->lock);
 * See also: thrum_recursive_unlock, thrum_mutex_lock
 */
THRUM_API void thrum_recursive_lock(thrum_recursive *mutex);
THRUM_API THRUM_NODISCARD int thrum_recursive_lock_until(thrum_recursive *mutex,
                                                         thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_recursive_try_lock(thrum_recursive *mutex);

/*
 * Releases one lock of a recursive mutex. With the last one the mutex is free, and its next owner
 * may free its memory at once.
 *
 * Parameters:
 *   mutex  a recursive mutex that the caller holds
 * Context: the owner, a task or a thread; never suspends.
 * Ordering: the writes before the last unlock are visible to the callers that lock it later.
 * Misuse: the caller does not hold the mutex.
 * Example:
 *    thrum_recursive_lock(&log->lock);
 *    write_line(log, text);
 *    thrum_recursive_unlock(&log->lock);
 * See also: thrum_recursive_lock
 */
THRUM_API void thrum_recursive_unlock(thrum_recursive *mutex);

THRUM_END_DECLS

#endif
