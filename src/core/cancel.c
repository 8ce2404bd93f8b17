/*
 * cancel.c: see cancel.h.
 */
#include "core/cancel.h"

#include "base/atomic.h"
#include "core/bound.h"
#include "core/family.h"
#include "core/fiber.h"
#include "core/helper.h"
#include "core/timer.h"
#include "core/worker.h"
#include "platform/platform.h"

#define BARRIER_TRIES 1000u /* refusals of th_os_barrier, then it is taken to be for good */

th_lock th_cancel_lock = TH_LOCK_INIT;

/*
 * Ends the wait, if nothing else has. A timed one is claimed, and goes off its list by itself; the
 * others are taken off it, under the list's lock, as a waker would.
 */
static bool end_wait(th_waiter *waiter) {
    if (waiter->timed) {
        if (!th_waiter_claim(waiter, TH_WAIT_CANCELLED)) {
            return false;
        }
        th_waiter_release(waiter);
        return true;
    }
    if (!waiter->leave(waiter->object, waiter)) {
        return false;
    }
    th_waiter_release_cancelled(waiter);
    return true;
}

bool th_cancel_begin(th_fiber *fiber, th_waiter *waiter) {
    bool can = th_cancel_can(waiter);
    if (can) {
        th_help_list(fiber);
    }
    th_cancel_show(fiber, waiter);
    return can && th_cancel_is_on(fiber) && end_wait(waiter);
}

void th_cancel_pass(void) {
    th_lock_acquire(&th_cancel_lock);
    th_lock_release(&th_cancel_lock);
}

bool th_cancel_order(bool can_order) {
    unsigned spins = 0;
    bool ordered = !can_order;
    while (!ordered && !(ordered = th_os_barrier()) && spins < BARRIER_TRIES) {
        th_backoff(&spins); /* no memory for it just now; or for ever, in a sandbox entered since */
    }
    th_fence_seq(); /* seq: the flags before xblocked is read; th_cancel_is_on */
    return ordered;
}

void th_cancel_visit(th_fiber *fiber) {
    /* pairs: th_cancel_show; the waiter, and where it stands */
    th_waiter *waiter = th_load_acquire(&fiber->xblocked);
    if (waiter && th_cancel_can(waiter)) {
        end_wait(waiter);
    }
}

/* ---- looking ---- */

void th_cancel_look_begins(thrum_sched *sched) {
    /* relaxed: written with the lock; th_cancel_order follows */
    th_store_relaxed(&sched->xcancelling, sched->xcancelling + TH_CANCEL_LOOK_ONE);
}

void th_cancel_look_ends(thrum_sched *sched) {
    /* pairs: th_cancel_taken_back; we look no more at what was held. Written with the lock */
    th_store_release(&sched->xcancelling, sched->xcancelling - TH_CANCEL_LOOK_ONE);
}

/* ---- all of a scheduler ---- */

static void visit(void *ctx, const th_stack *stack, bool in_use) {
    (void)ctx;
    th_fiber *fiber = in_use ? th_fiber_on(stack) : NULL;
    if (fiber) {
        th_cancel_visit(fiber);
        th_family_stopped(fiber);
    }
}

static void visit_root(void *ctx, th_worker *worker) {
    (void)ctx;
    th_cancel_visit(&worker->home);
    th_family_stopped(&worker->home);
}

void th_cancel_all(thrum_sched *sched) {
    th_lock_acquire(&th_cancel_lock);
    /* relaxed: ordered by the barrier, or the fence */
    th_store_relaxed(&sched->xcancelling, sched->xcancelling | TH_CANCEL_ALL);
    bool ordered = th_cancel_order(sched->can_order);
    th_timers_cancel_all(sched);
    if (ordered) { /* else a fiber might be on its way back; it is left to whoever wakes it */
        th_stacks_each(&sched->stacks, visit, NULL);
        th_bound_each(sched, visit_root, NULL);
    }
    th_lock_release(&th_cancel_lock);
}

/* ---- one task ---- */

int thrum_cancel(thrum_handle *handle) {
    if (!handle) {
        return -EINVAL;
    }
    th_lock_acquire(&th_cancel_lock);
    /* relaxed: once it has ended nothing of it is touched: its scheduler may be gone */
    if (th_load_relaxed(&handle->xjoin) != TH_JOIN_DONE &&
        !th_load_relaxed(&handle->xcancelled)) { /* relaxed: written with the lock */
        th_family_cancel_task(handle, handle->can_order);
    }
    th_lock_release(&th_cancel_lock);
    return 0;
}

bool thrum_cancelled(void) {
    const th_fiber *fiber = th_fiber_self();
    return fiber && th_cancel_is_on(fiber);
}

void thrum_shield_begin(void) {
    th_fiber *fiber = th_fiber_self();
    if (fiber) {
        fiber->heritage.shields++;
        fiber->dirty = true;
    }
}

void thrum_shield_end(void) {
    th_fiber *fiber = th_fiber_self();
    if (fiber && fiber->heritage.shields-- == 0) {
        th_misuse("thrum_shield_end", "there is no shield to end", fiber);
    }
}
