/*
 * lock.h: a small lock for the library's own rare and short work (growing a table, starting a
 * thread, the queue of the blocking pool). Waiting for it blocks the thread, so no fiber may be
 * suspended while it holds one.
 *
 *     xword   0 free · 1 held · 2 held, and a thread may sleep on it
 *
 * It is not fair: a running thread may take it before the sleepers. Without competition, taking and
 * releasing it cost one locked instruction each. The last thread that takes the lock may free the
 * word: the release's exchange is the last access, and a late futex wake on a stale word does no
 * harm.
 */
#ifndef TH_LOCK_H
#define TH_LOCK_H

#include "base/atomic.h"
#include "base/cc.h"

typedef struct th_lock {
    uint32_t xword; /* see above; all threads */
} th_lock;

/* clang-format off */
#define TH_LOCK_INIT { 0 }
/* clang-format on */

static inline void th_lock_init(th_lock *lock) {
    lock->xword = 0;
}

/* The slow halves, called by the functions below only. */
void th_lock_acquire_slow(th_lock *lock);
void th_lock_wake(th_lock *lock);

/* Takes it if it is free. */
static inline bool th_lock_try(th_lock *lock) {
    uint32_t free_word = 0;
    /* pairs: th_lock_release; takes over the previous holder's writes */
    return th_cas_acquire(&lock->xword, &free_word, 1);
}

static inline void th_lock_acquire(th_lock *lock) {
    if (th_unlikely(!th_lock_try(lock))) {
        th_lock_acquire_slow(lock);
    }
}

static inline void th_lock_release(th_lock *lock) {
    /* pairs: th_lock_try, th_lock_acquire_slow; publishes the writes under the lock */
    if (th_unlikely(th_xchg_release(&lock->xword, 0) == 2)) {
        th_lock_wake(lock);
    }
}

/* Takes it, and releases it at the end of the block. Not in functions marked TH_NO_TSAN. */
#define TH_LOCKED(lock_)                                                                           \
    th_lock *const locked_ __attribute__((unused, cleanup(th_lock_end))) = th_lock_begin(lock_)
static TH_ALWAYS_INLINE th_lock *th_lock_begin(th_lock *lock) {
    th_lock_acquire(lock);
    return lock;
}
static TH_ALWAYS_INLINE void th_lock_end(th_lock *const *locked) {
    th_lock_release(*locked);
}

#endif
