/*
 * waiter.h: ending waits: the steps on a waiter's word, and what is queued then
 * (core/wait/WAITING.md).
 */
#ifndef TH_WAITER_H
#define TH_WAITER_H

#include "base/atomic.h"
#include "core/state/waiter_state.h"

typedef struct th_worker th_worker;

/*
 * From timers: true if the deadline comes first; then the waiter is not touched any more, and *work
 * is what must be queued, if anything.
 */
bool th_waiter_time_out(th_waiter *waiter, th_work **work);

/* Wakes a plain waiter that the caller has taken off its list (and unlocked it). */
void th_waiter_wake(th_waiter *waiter);

/*
 * For waits that several things can end, under the list's lock: true for the one that decides the
 * outcome. The winner takes it off the list, unlocks and calls th_waiter_release.
 */
bool th_waiter_claim(th_waiter *waiter, uint32_t outcome);
void th_waiter_release(th_waiter *waiter);

/* The same for one that is not timed, and was taken off its list: TH_WAIT_CANCELLED. */
void th_waiter_release_cancelled(th_waiter *waiter);

/* Either kind, taken off its list; a timed one, or its whole, was claimed for WOKEN. */
static inline void th_waiter_let_go(th_waiter *waiter) {
    if (th_unlikely(waiter->timed)) {
        th_waiter *whole = th_waiter_whole(waiter);
        whole->value = waiter->value; /* plain: whoever claimed it is alone; a part's number */
        th_waiter_release(whole);
    } else {
        th_waiter_wake(waiter);
    }
}

/*
 * Where the waker found the waiter without a list lock (join): it could not claim it, and says that
 * it touches it no more; the waiter, which knows that it was found, waits for that
 * (th_waiter_wait_missed).
 */
void th_waiter_missed(th_waiter *waiter);

/*
 * Queues a fiber that has been woken. th_ready: from any thread and context; th_ready_on: from a
 * worker of its scheduler, in the worker's context, with a hint (thrum_hint).
 */
void th_ready(th_fiber *fiber);
void th_ready_on(th_worker *worker, th_fiber *fiber, unsigned hint);

/* The commit of a wait: from now on whoever wakes the waiter queues the fiber. */
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
