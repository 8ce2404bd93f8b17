/*
 * thrum/rwlock.h: many readers, or one writer.
 *
 * Readers and writers take turns, so that neither starve: a writer waits for those who read when it
 * comes, and for the writers before it, each with one round of readers between; a reader waits for
 * one writer at most. Who comes first is served first, among readers and among writers. A
 * free lock is never taken past the queue. The owner is the task (or thread) that locked, wherever
 * it runs by then. Not recursive: who reads and asks again may wait for a writer that waits for it.
 * Not a cancellation point.
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
THRUM_STATIC_ASSERT(sizeof(thrum_rwlock) == 48, "part of the ABI");

/* clang-format off */
#define THRUM_RWLOCK_INIT { 0, 0, { NULL, NULL }, { NULL, NULL } }
/* clang-format on */

/* Makes a free one. */
THRUM_API void thrum_rwlock_init(thrum_rwlock *lock);

/* Ends it. -EBUSY, unchanged, while it is locked or waited for. */
THRUM_API int thrum_rwlock_destroy(thrum_rwlock *lock);

/*
 * Locks for reading, waiting as long as it takes: it cannot fail and is not cancelled. Any thread;
 * may suspend. Aborts when the caller holds it for writing. What the writers before wrote is
 * visible.
 */
THRUM_API void thrum_rwlock_rdlock(thrum_rwlock *lock);
/* The same until the deadline: 0, or -ETIMEDOUT, and it was not taken. */
THRUM_API THRUM_NODISCARD int thrum_rwlock_rdlock_until(thrum_rwlock *lock, thrum_time deadline);

/* Locks for reading if no writer has it or waits for it, else -EBUSY. Any thread; never suspends.
 */
THRUM_API THRUM_NODISCARD int thrum_rwlock_try_rdlock(thrum_rwlock *lock);

/*
 * Locks for writing, waiting as long as it takes: it cannot fail and is not cancelled. Any thread;
 * may suspend. Aborts when the caller holds it for writing already; a caller that holds it for
 * reading waits for itself. What all before wrote is visible.
 */
THRUM_API void thrum_rwlock_wrlock(thrum_rwlock *lock);
/* The same until the deadline: 0, or -ETIMEDOUT, and it was not taken. */
THRUM_API THRUM_NODISCARD int thrum_rwlock_wrlock_until(thrum_rwlock *lock, thrum_time deadline);

/* Locks for writing if it is free, else -EBUSY. Any thread; never suspends. */
THRUM_API THRUM_NODISCARD int thrum_rwlock_try_wrlock(thrum_rwlock *lock);

/*
 * Unlocks, either kind. By who holds it; never suspends. Aborts when nobody holds it, or another
 * writes. The lock may be destroyed and freed by the next and last owner at once.
 */
THRUM_API void thrum_rwlock_unlock(thrum_rwlock *lock);

THRUM_END_DECLS

#endif
