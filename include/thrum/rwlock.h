/*
 * thrum/rwlock.h: locks for many readers or one writer.
 *
 * Readers and writers take turns, so that neither starves. A writer waits for the readers that hold
 * the lock when it comes, and for the writers before it, each with one round of readers in between.
 * A reader waits for one writer at most. Readers that wait are let in together, writers in the
 * order in which they came.
 *
 * If a writer unlocks while both kinds wait, the readers that it lets in are such a round. Other
 * readers may join the round for about 100 µs; after that as many more may join as have joined by
 * then, but at most 15. Nobody else passes the queue.
 *
 * The owner is the task or thread that locked, on whichever thread it runs by then. The lock is not
 * recursive: a reader that locks again may wait for a writer that waits for that reader. A wait for
 * the lock is not cancelled.
 */
#ifndef THRUM_RWLOCK_H
#define THRUM_RWLOCK_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/*
 * A lock for many readers or one writer. It is in the caller's memory, owns nothing, and must not
 * be moved or copied while it is in use.
 */
typedef struct thrum_rwlock {
    uint64_t reserved_word;
    uint64_t reserved_owner;
    void *reserved_readers[2];
    void *reserved_writers[2];
} thrum_rwlock;
THRUM_ABI_SIZE(thrum_rwlock, 48, 32);

/*
 * Makes a free lock. THRUM_RWLOCK_INIT is the same as an initializer, also for static variables.
 *
 * Parameters:
 *   lock  the memory of the lock, which no other thread uses during the call
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    thrum_rwlock lock;
 *    thrum_rwlock_init(&lock);
 * See also: thrum_rwlock_destroy
 */
/* clang-format off */
#define THRUM_RWLOCK_INIT { 0, 0, { NULL, NULL }, { NULL, NULL } }
/* clang-format on */
THRUM_API void thrum_rwlock_init(thrum_rwlock *lock);

/*
 * Ends the lock, which is then as after thrum_rwlock_init. It frees nothing and may be omitted.
 *
 * Parameters:
 *   lock  a lock that nobody holds or waits for
 * Returns: 0, or -EBUSY with the lock unchanged.
 * Errors:
 *   -EBUSY  the lock is held or waited for
 * Context: any thread; never suspends.
 * Ordering: on success, the writes of the previous owners before their unlocks are visible.
 * See also: thrum_rwlock_init
 */
THRUM_API int thrum_rwlock_destroy(thrum_rwlock *lock);

/*
 * Locks for reading. Several readers may hold the lock at a time. thrum_rwlock_rdlock waits as long
 * as it takes and cannot fail. thrum_rwlock_rdlock_until gives up at the deadline, and
 * thrum_rwlock_try_rdlock does not wait.
 *
 * If it can be locked at once, it is locked even if the deadline has passed.
 * thrum_rwlock_try_rdlock joins no round of readers, so it may fail when
 * thrum_rwlock_rdlock_until(lock, 0) does not.
 *
 * Parameters:
 *   lock      an initialized lock
 *   deadline  thrum_rwlock_rdlock_until only: when to give up, an instant from thrum_after or
 *             THRUM_FOREVER
 * Returns: 0 with the lock held, or a negative error code with the lock not taken;
 *   thrum_rwlock_rdlock returns nothing, with the lock held.
 * Errors:
 *   -EBUSY      thrum_rwlock_try_rdlock: a writer holds the lock or waits for it
 *   -ETIMEDOUT  thrum_rwlock_rdlock_until: the deadline passed
 *   -ESHUTDOWN  thrum_rwlock_rdlock_until: in the child of a fork (thrum/sched.h): no thread is
 *               left to end the wait
 * Context: any thread; may suspend; not cancellable. thrum_rwlock_try_rdlock never suspends.
 * Ordering: on success, the writes of the previous writers before their unlocks are visible.
 * Misuse: the caller of thrum_rwlock_rdlock or thrum_rwlock_rdlock_until holds the lock for
 *   writing; in the child of a fork no thread is left to end the wait of thrum_rwlock_rdlock.
 * Example: examples/kv/store.c
 * See also: thrum_rwlock_unlock, thrum_rwlock_wrlock, thrum_rwlock_rdlock_on_until
 */
THRUM_API void thrum_rwlock_rdlock(thrum_rwlock *lock);
THRUM_API THRUM_NODISCARD int thrum_rwlock_rdlock_until(thrum_rwlock *lock, thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_rwlock_try_rdlock(thrum_rwlock *lock);

/*
 * Locks for writing. One writer holds the lock alone. thrum_rwlock_wrlock waits as long as it takes
 * and cannot fail. thrum_rwlock_wrlock_until gives up at the deadline, and thrum_rwlock_try_wrlock
 * does not wait. A free lock is locked even if the deadline has passed.
 *
 * A caller that holds the lock for reading would wait for itself: it unlocks first.
 *
 * Parameters:
 *   lock      an initialized lock
 *   deadline  thrum_rwlock_wrlock_until only: when to give up, an instant from thrum_after or
 *             THRUM_FOREVER
 * Returns: 0 with the lock held, or a negative error code with the lock not taken;
 *   thrum_rwlock_wrlock returns nothing, with the lock held.
 * Errors:
 *   -EBUSY      thrum_rwlock_try_wrlock: the lock is held
 *   -ETIMEDOUT  thrum_rwlock_wrlock_until: the deadline passed
 *   -ESHUTDOWN  thrum_rwlock_wrlock_until: in the child of a fork (thrum/sched.h): no thread is
 *               left to end the wait
 * Context: any thread; may suspend; not cancellable. thrum_rwlock_try_wrlock never suspends.
 * Ordering: on success, the writes of all previous owners before their unlocks are visible.
 * Misuse: the caller of thrum_rwlock_wrlock or thrum_rwlock_wrlock_until holds the lock for
 *   writing; in the child of a fork no thread is left to end the wait of thrum_rwlock_wrlock.
 * Example: examples/kv/store.c
 * See also: thrum_rwlock_unlock, thrum_rwlock_rdlock, thrum_rwlock_wrlock_on_until
 */
THRUM_API void thrum_rwlock_wrlock(thrum_rwlock *lock);
THRUM_API THRUM_NODISCARD int thrum_rwlock_wrlock_until(thrum_rwlock *lock, thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_rwlock_try_wrlock(thrum_rwlock *lock);

/*
 * Unlocks, whether the lock is held for reading or for writing. The next owner, or the last, may
 * destroy the lock and free its memory at once.
 *
 * Parameters:
 *   lock  a lock that the caller holds
 * Context: the owner, a task or a thread; never suspends.
 * Ordering: the writes before the call are visible to later writers, and those of a writer to later
 *   readers too.
 * Misuse: nobody holds the lock, or another caller holds it for writing. While others read, a call
 *   of a caller that holds nothing is not noticed.
 * Example: examples/kv/store.c
 * See also: thrum_rwlock_rdlock, thrum_rwlock_wrlock
 */
THRUM_API void thrum_rwlock_unlock(thrum_rwlock *lock);

/*
 * Turns the caller's write lock into a read lock. No other writer gets the lock in between. Readers
 * that wait are let in, as by an unlock, and writers wait for the caller and for these readers.
 *
 * Parameters:
 *   lock  a lock that the caller holds for writing; then it holds it for reading
 * Context: the owner, a task or a thread; never suspends.
 * Ordering: the writes before the call are visible to the readers that come in after it.
 * Misuse: the caller does not hold the lock for writing.
 * Example:
 *    thrum_rwlock_wrlock(&lock);
 *    table_rebuild(&table);
 *    thrum_rwlock_downgrade(&lock);
 *    print(&table); // others may read meanwhile
 *    thrum_rwlock_unlock(&lock);
 * See also: thrum_rwlock_wrlock, thrum_rwlock_unlock
 */
THRUM_API void thrum_rwlock_downgrade(thrum_rwlock *lock);

THRUM_END_DECLS

#endif
