/*
 * cancel.h: ending waits that would otherwise go on: those of one task (thrum_cancel), of a scope
 * (scope_tree.h), or of all fibers (thrum_sched_stop_until past its deadline).
 * core/wait/WAITING.md, "Cancelling", has the argument.
 *
 * A fiber that waits stores its waiter in `xblocked` before it suspends, and clears it when it has
 * come back. Neither is a locked instruction: a canceller sets a flag, has the system put a full
 * fence into every running thread, and then reads `xblocked`.
 */
#ifndef TH_CANCEL_H
#define TH_CANCEL_H

#include "base/atomic.h"
#include "core/state/fiber_state.h"
#include "core/state/handle.h"
#include "core/basis/lock.h"
#include "core/basis/waiter_state.h"
#include "core/state/worker.h"
#include "platform/asymmetric.h"

/* Fibers visited, or tasks flagged, before the lock is given up for a moment. */
#define TH_CANCEL_MAX TH_LIMIT(256u, 2u)

/*
 * Held by a thread that cancels or inspects fibers: whatever it finds of a fiber stays valid until
 * it lets go (th_cancel_pass). th_cancel_breathe divides long work: it lets go and takes hold
 * again. If the caller may suspend (`lets_run`), it yields in between; otherwise all the fibers
 * that it wakes would run before anything else does.
 */
extern th_lock th_cancel_lock;
void th_cancel_hold(void);
void th_cancel_let_go(void);
void th_cancel_breathe(bool lets_run);

/*
 * Called after the flags are set: a fiber that has not seen its flag is found from then on. False:
 * the system gives no such order.
 */
bool th_cancel_order(bool can_order);

/* With the lock, after th_cancel_order: ends the fiber's wait, if that can be cancelled. */
void th_cancel_visit(th_fiber *fiber);

/*
 * For a thread that only inspects (snapshot.h), with the lock: between the first call (followed by
 * th_cancel_order) and the second, anything that a fiber takes back stays valid until the lock is
 * given up, as it does for a canceller.
 */
void th_cancel_snapshot_begins(thrum_sched *sched);
void th_cancel_snapshot_ends(thrum_sched *sched);

/*
 * Called when the fiber is about to suspend for a waiter that a canceller can find. Shows the
 * waiter. True: the fiber has been cancelled instead, and must not suspend.
 */
bool th_cancel_begin(th_fiber *fiber, th_waiter *waiter);

/* Publishes the wait that the fiber is about to begin, and its start time. */
static inline void th_cancel_show(th_fiber *fiber, struct th_waiter *waiter) {
    /*
     * relaxed: only its own worker writes it; a figure, which a new wait overwrites even while
     * another thread reads it
     */
    th_store_relaxed(&fiber->xblocked_tick, th_load_relaxed(&fiber->worker->xtick));
    /* pairs: th_cancel_visit, th_snapshot_some; the waiter, and the list that it is on */
    th_store_release(&fiber->xblocked, waiter);
}

/* Whether a waiter can be cancelled at all. Not shown to the thread sanitizer, like th_edge_see,
 * which asks. */
static TH_INLINE_NO_TSAN bool th_cancel_can(const th_waiter *waiter) {
    return !waiter->shielded && (waiter->timed || waiter->leave);
}

/*
 * Orders the fiber's last writes before its load of a flag. This is the light side of the
 * asymmetric fence, th_cancel_order the heavy one; a full fence if the system has none.
 */
static inline void th_cancel_fence(const th_fiber *fiber) {
    th_fence_light();
    if (th_unlikely(!fiber->sched->can_order)) {
        th_fence_seq(); /* seq: xblocked before the flag; th_cancel_order has the flag first */
    }
}

/* The same for a handle whose word is not 0: it may be a part of a task (th_part). */
bool th_cancel_is_set(const thrum_handle *handle);

/* Whether the fiber's own task is being cancelled. */
static inline bool th_cancel_is_mine(const th_fiber *fiber) {
    const thrum_handle *handle = fiber->inherited.handle;
    /* relaxed: ordered by the barrier, or the fence */
    return handle && th_unlikely(th_load_relaxed(&handle->xcancelled) != 0) &&
           th_cancel_is_set(handle);
}

/* Whether the fiber's waits are being cancelled. Its earlier writes are ordered first. */
static inline bool th_cancel_is_on(const th_fiber *fiber) {
    th_cancel_fence(fiber);
    /* relaxed: ordered by the barrier, or the fence */
    return th_unlikely((th_load_relaxed(&fiber->sched->xcancelling) & TH_CANCEL_ALL) != 0) ||
           th_cancel_is_mine(fiber);
}

/* Waits until a thread that cancels, or inspects, at this moment has let go. */
void th_cancel_pass(void);

/*
 * Once this returns, cancellers and inspectors no longer touch the object that the caller has just
 * taken back (a waiter, a scope, its place in a handle).
 */
static inline void th_cancel_taken_back(const th_fiber *fiber) {
    th_cancel_fence(fiber);
    /* pairs: th_cancel_snapshot_ends; the inspector's last access */
    if (th_unlikely(th_load_acquire(&fiber->sched->xcancelling) != 0) || th_cancel_is_mine(fiber)) {
        th_cancel_pass();
    }
}

/* The fiber has come back. Afterwards no canceller touches the waiter. */
static inline void th_cancel_end(th_fiber *fiber) {
    if (!th_load_relaxed(&fiber->xblocked)) { /* relaxed: the fiber's own */
        return;
    }
    th_store_relaxed(&fiber->xblocked, NULL); /* relaxed: ordered as in th_cancel_is_on */
    th_cancel_taken_back(fiber);
}

/* In the task's context: the fiber that runs it, so that it can be cancelled; NULL at its end. */
void th_handle_runs(thrum_handle *handle, th_fiber *fiber);

#endif
