/*
 * waiter.h: ending waits: the steps on a waiter's word, and the queueing of its fiber
 * (core/wait/WAITING.md).
 */
#ifndef TH_WAITER_H
#define TH_WAITER_H

#include "base/atomic.h"
#include "core/basis/waiter_state.h"

typedef struct th_worker th_worker;

/*
 * Called by timers. True if the deadline comes first: then the waiter must no longer be touched,
 * and *work, if it is set, must be queued.
 */
bool th_waiter_time_out(th_waiter *waiter, th_work **work);

/* Wakes a waiter that is not timed; the caller has taken it off its list and unlocked the list. */
void th_waiter_wake(th_waiter *waiter);

/*
 * For waits that several things can end, under the list's lock: true for the caller that decides
 * the outcome. It takes the waiter off the list, unlocks and calls th_waiter_release.
 */
bool th_waiter_claim(th_waiter *waiter, uint32_t outcome);
void th_waiter_release(th_waiter *waiter);

/* Ends a wait that is not timed with TH_WAIT_CANCELLED; the waiter was taken off its list. */
void th_waiter_release_cancelled(th_waiter *waiter);

/* Ends a wait of either kind; the waiter was taken off its list, and a timed one, or its whole, was
 * claimed for WOKEN. */
static inline void th_waiter_let_go(th_waiter *waiter) {
    if (th_unlikely(waiter->timed)) {
        th_waiter *whole = th_waiter_whole(waiter);
        whole->value = waiter->value; /* a part's number; plain: only the claimer writes it */
        th_waiter_release(whole);
    } else {
        th_waiter_wake(waiter);
    }
}

/*
 * For a waker that found the waiter without a list lock (join) and could not claim it: it signals
 * that it no longer touches the waiter. The waiter knows that it was found and waits for this
 * (th_waiter_wait_missed).
 */
void th_waiter_missed(th_waiter *waiter);

/*
 * Queues a fiber that has been woken. th_ready: from any thread and context; th_ready_on: from a
 * worker of its scheduler, in the worker's context, with a hint (thrum_hint).
 */
void th_ready(th_fiber *fiber);
void th_ready_on(th_worker *worker, th_fiber *fiber, unsigned hint);

/* The commit of a wait: from now on the waker queues the fiber. */
void th_wait_commit(th_worker *worker, th_fiber *fiber, void *waiter);

/* The commit of a wait with the list's lock held. */
void th_wait_commit_unlock(void *commit);

typedef struct th_unlock_commit {
    th_waiter *waiter;
    void *xword;
    uint64_t unlocked;
    bool wide;
} th_unlock_commit;

static inline void th_waiter_give_up(void *xword, uint64_t unlocked, bool wide) {
    if (wide) {
        /* pairs: th_word64_lock; publishes the list, and that the waiter is parked */
        th_store_release((uint64_t *)xword, unlocked);
    } else {
        /* pairs: th_word32_lock; publishes the list, and that the waiter is parked */
        th_store_release((uint32_t *)xword, (uint32_t)unlocked);
    }
}

#endif
