/*
 * thrum/rwlock.h: many readers, or one writer.
 *
 * Readers and writers take turns, so that neither starves: a writer waits for the readers that hold
 * the lock when it comes, and for the writers before it, each with one round of readers between; a
 * reader waits for one writer at most. The readers that a writer lets in past another one are such
 * a round: newcomers join it for about 100 µs, and after that as many more as have joined by then,
 * but no more than 15. Nobody else passes the queue; readers that wait are let in together, writers
 * in their order. The owner is the task (or thread) that locked, wherever it runs by then. The lock
 * is not recursive: a reader that asks again may wait for a writer that waits for it. Waiting for
 * one is not cancelled.
 */
#ifndef THRUM_RWLOCK_H
#define THRUM_RWLOCK_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

typedef struct thrum_rwlock {
    uint64_t reserved_word;
    uint64_t reserved_owner;
    void *reserved_readers[2];
    void *reserved_writers[2];
} thrum_rwlock;
THRUM_ABI_SIZE(thrum_rwlock, 48, 32);

/* clang-format off */
#define THRUM_RWLOCK_INIT { 0, 0, { NULL, NULL }, { NULL, NULL } }
/* clang-format on */

/*
 * Makes a free lock, as THRUM_RWLOCK_INIT does. Any thread may call it while no other uses the
 * memory. It never suspends and cannot fail.
 */
THRUM_API void thrum_rwlock_init(thrum_rwlock *lock);

/*
 * Ends the lock, which is then as after the init. Any thread may call it. It never suspends. It
 * returns 0, or -EBUSY with the lock unchanged while it is locked or waited for.
 */
THRUM_API int thrum_rwlock_destroy(thrum_rwlock *lock);

/*
 * Locks for reading, waiting as long as it takes: it cannot fail and is not cancelled. What the
 * writers before wrote is visible. Any thread may call it. It may suspend. It aborts when the
 * caller holds the lock for writing.
 */
THRUM_API void thrum_rwlock_rdlock(thrum_rwlock *lock);
/*
 * Does the same until the deadline. It returns 0, or -ETIMEDOUT when it has passed and the lock was
 * not taken.
 */
THRUM_API THRUM_NODISCARD int thrum_rwlock_rdlock_until(thrum_rwlock *lock, thrum_time deadline);

/*
 * Locks for reading if no writer has the lock or waits for it; it joins no round of readers, so it
 * may be refused where thrum_rwlock_rdlock_until(lock, 0) is not. Any thread may call it. It never
 * suspends. It returns 0, or -EBUSY.
 */
THRUM_API THRUM_NODISCARD int thrum_rwlock_try_rdlock(thrum_rwlock *lock);

/*
 * Locks for writing, waiting as long as it takes: it cannot fail and is not cancelled. What all
 * owners before wrote is visible. Any thread may call it. It may suspend. It aborts when the caller
 * holds the lock for writing already; a caller that holds it for reading waits for itself.
 */
THRUM_API void thrum_rwlock_wrlock(thrum_rwlock *lock);
/*
 * Does the same until the deadline. It returns 0, or -ETIMEDOUT when it has passed and the lock was
 * not taken.
 */
THRUM_API THRUM_NODISCARD int thrum_rwlock_wrlock_until(thrum_rwlock *lock, thrum_time deadline);

/*
 * Locks for writing if the lock is free. Any thread may call it. It never suspends. It returns 0,
 * or -EBUSY.
 */
THRUM_API THRUM_NODISCARD int thrum_rwlock_try_wrlock(thrum_rwlock *lock);

/*
 * Unlocks, either kind. The task or thread that holds the lock may call it. It never suspends. It
 * aborts when the lock is not held, or another caller holds it for writing. The next and last owner
 * may destroy and free the lock at once.
 */
THRUM_API void thrum_rwlock_unlock(thrum_rwlock *lock);

THRUM_END_DECLS

#endif
