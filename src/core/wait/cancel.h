/*
 * cancel.h: ending waits that nobody ends: of one task (thrum_cancel), of a family (family.h), of
 * all (stop_until past its deadline). core/wait/WAITING.md, "Cancelling", has the argument.
 *
 * A fiber that waits says so in `xblocked` before it suspends, and takes it back when it has come
 * back. Neither is a locked instruction: who cancels sets a flag, has the
 * system order all the processors, as a rescuer at the gate does, and then looks.
 */
#ifndef TH_CANCEL_H
#define TH_CANCEL_H

#include "base/atomic.h"
#include "core/state/fiber_state.h"
#include "core/state/handle.h"
#include "core/state/lock.h"
#include "core/state/waiter_state.h"
#include "core/state/worker.h"

/* So many fibers are visited, or tasks flagged, before the lock is given up for a moment. */
#define TH_CANCEL_MAX TH_LIMIT(256u, 2u)

/*
 * Held by a thread that cancels, or looks at fibers: what it finds of a fiber stays until it lets
 * go (th_cancel_pass). Long work is cut into pieces by th_cancel_breathe, which lets go and takes
 * hold again. A fiber that may suspend lets others run in between: else all that it wakes would
 * stand in front of everybody else.
 */
extern th_lock th_cancel_lock;
void th_cancel_hold(void);
void th_cancel_let_go(void);
void th_cancel_breathe(bool lets_run);

/* After the flags: afterwards who has not seen one is seen. False: no such order. */
bool th_cancel_order(bool can_order);

/* With the lock, after th_cancel_order: ends the wait that the fiber is in, if it can be. */
void th_cancel_visit(th_fiber *fiber);

/*
 * Who only looks (look.h), with the lock: from the first call (after it, th_cancel_order) until the
 * second what a fiber takes back stays until the lock is given up, as for who cancels.
 */
void th_cancel_look_begins(thrum_sched *sched);
void th_cancel_look_ends(thrum_sched *sched);

/*
 * The fiber is about to suspend for a waiter that stands where it will be found, and says so. True:
 * it has been cancelled instead, and must not suspend.
 */
bool th_cancel_begin(th_fiber *fiber, th_waiter *waiter);

/* The fiber says what it is about to wait for, and since when. */
static inline void th_cancel_show(th_fiber *fiber, struct th_waiter *waiter) {
    /* relaxed: its worker's own; and a figure, which a wait that begins anew writes again, while
     * it may be looked at */
    th_store_relaxed(&fiber->xblocked_tick, th_load_relaxed(&fiber->worker->xtick));
    /* pairs: th_cancel_visit, th_look_some; the waiter, and where it stands */
    th_store_release(&fiber->xblocked, waiter);
}

/* Whether a waiter can be cancelled at all. */
static inline bool th_cancel_can(const th_waiter *waiter) {
    return !waiter->shielded && (waiter->timed || waiter->leave);
}

/*
 * Between what the fiber has just written and its look at a flag. The processor is made to keep
 * that order by who cancels, where the system can.
 */
static inline void th_cancel_fence(const th_fiber *fiber) {
    th_fence_compiler();
    if (th_unlikely(!fiber->sched->can_order)) {
        th_fence_seq(); /* seq: xblocked before the flag; th_cancel_order: flag first */
    }
}

/* The same for a handle whose word is not 0: it may be a part of a task (th_part). */
bool th_cancel_is_set(const thrum_handle *handle);

/* Whether the fiber's own task is being cancelled. */
static inline bool th_cancel_is_mine(const th_fiber *fiber) {
    const thrum_handle *handle = fiber->heritage.handle;
    /* relaxed: ordered by the barrier, or the fence */
    return handle && th_unlikely(th_load_relaxed(&handle->xcancelled) != 0) &&
           th_cancel_is_set(handle);
}

/* Whether the fiber's waits are being cancelled; what it has written before comes first. */
static inline bool th_cancel_is_on(const th_fiber *fiber) {
    th_cancel_fence(fiber);
    /* relaxed: ordered by the barrier, or the fence */
    return th_unlikely((th_load_relaxed(&fiber->sched->xcancelling) & TH_CANCEL_ALL) != 0) ||
           th_cancel_is_mine(fiber);
}

/* Until whoever cancels, or looks, at this moment has let go. */
void th_cancel_pass(void);

/*
 * What the caller has just taken back (a waiter, a family, its place in a handle) is touched no
 * more by who cancels, or looks, once this returns.
 */
static inline void th_cancel_taken_back(const th_fiber *fiber) {
    th_cancel_fence(fiber);
    /* pairs: th_cancel_look_ends; who has looked is done with it */
    if (th_unlikely(th_load_acquire(&fiber->sched->xcancelling) != 0) || th_cancel_is_mine(fiber)) {
        th_cancel_pass();
    }
}

/* It has come back. Afterwards nobody touches the waiter on account of a cancel. */
static inline void th_cancel_end(th_fiber *fiber) {
    if (!th_load_relaxed(&fiber->xblocked)) { /* relaxed: our own */
        return;
    }
    th_store_relaxed(&fiber->xblocked, NULL); /* relaxed: ordered as in th_cancel_is_on */
    th_cancel_taken_back(fiber);
}

/* Task's context: who runs it, so that it can be cancelled; NULL: nobody any more. */
void th_handle_runs(thrum_handle *handle, th_fiber *fiber);

#endif
