/*
 * owner.h: the owner of a mutex, of a rwlock held for writing, and of a once whose function runs.
 *
 * The owner is a number (th_self_id, never 0, never used twice). It is written by the thread that
 * makes a caller the owner, and cleared by the owner before it gives the object up. So a caller
 * that reads its own number wrote it, or was handed it with a wake, and has not given up since; any
 * other value, however old, is not its own. So with relaxed accesses any caller knows exactly
 * whether it is the owner.
 */
#ifndef TH_OWNER_H
#define TH_OWNER_H

#include "base/atomic.h"
#include "core/state/self_id.h"
#include "core/task/await.h"

/* Lives on the waiter's stack, or is the beginning of a th_await. */
typedef struct th_owner_waiter {
    th_waiter waiter; /* the list's element; it must be the first field */
    uint64_t self;    /* its th_self_id, for a thread that makes it the owner; constant */
} th_owner_waiter;
_Static_assert(offsetof(th_await, self) == offsetof(th_owner_waiter, self), "as a th_await");

static inline bool th_owner_is(const uint64_t *xowner, uint64_t self) {
    /* relaxed: see above */
    return th_load_relaxed(xowner) == self;
}

static inline void th_owner_set(uint64_t *xowner, uint64_t self) {
    /* relaxed: see above */
    th_store_relaxed(xowner, self);
}

/* The number of a waiter that is part of a th_owner_waiter; nobody's (0): no stack waits. */
static inline uint64_t th_owner_of(const th_waiter *waiter) {
    return ((const th_owner_waiter *)(const void *)waiter)->self;
}

#endif
