/*
 * mutex_owner.h: the owner of a mutex, for the mutex itself and for the cond.
 *
 * The owner is a number (th_self_id, never 0, never used twice). It is written by the thread that
 * makes a caller the owner, and cleared by the owner before it gives the mutex up. So a caller that
 * reads its own number wrote it, or was handed it with a wake, and has not unlocked since; any
 * other value, however old, is not its own. That is why relaxed accesses tell any caller exactly
 * whether it is the owner.
 */
#ifndef TH_MUTEX_OWNER_H
#define TH_MUTEX_OWNER_H

#include "base/atomic.h"
#include "thrum/mutex.h"

static inline bool th_mutex_is_owner(const thrum_mutex *mutex, uint64_t self) {
    /* relaxed: see above */
    return th_load_relaxed(&mutex->reserved_owner) == self;
}

static inline void th_mutex_set_owner(thrum_mutex *mutex, uint64_t self) {
    /* relaxed: see above */
    th_store_relaxed(&mutex->reserved_owner, self);
}

#endif
