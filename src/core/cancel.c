/*
 * cancel.c: see cancel.h.
 */
#include "core/cancel.h"

#include "base/atomic.h"
#include "core/fiber.h"
#include "core/timer.h"
#include "core/worker.h"
#include "platform/platform.h"

#define BARRIER_TRIES 1000u /* refusals of th_os_barrier, then it is taken to be for good */

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
    if (waiter->shielded || (!waiter->timed && !waiter->leave)) {
        return false;
    }
    /* pairs: visit; the waiter, and where it stands */
    th_store_release(&fiber->xblocked, waiter);
    if (!th_cancel_is_on(fiber)) {
        return false;
    }
    return end_wait(waiter);
}

void th_cancel_pass(th_fiber *fiber) {
    th_lock_acquire(&fiber->sched->cancel_lock);
    th_lock_release(&fiber->sched->cancel_lock);
}

static void visit(void *ctx, const th_stack *stack, bool in_use) {
    (void)ctx;
    th_fiber *fiber = in_use ? th_fiber_on(stack) : NULL;
    if (fiber) {
        /* pairs: th_cancel_begin; the waiter, and where it stands */
        th_waiter *waiter = th_load_acquire(&fiber->xblocked);
        if (waiter) {
            end_wait(waiter);
        }
    }
}

void th_cancel_all(thrum_sched *sched) {
    unsigned spins = 0;
    th_lock_acquire(&sched->cancel_lock);
    th_store_relaxed(&sched->xcancelling, 1u); /* relaxed: ordered by the barrier, or the fence */
    bool ordered = !sched->can_order;
    while (!ordered && !(ordered = th_os_barrier()) && spins < BARRIER_TRIES) {
        th_backoff(&spins); /* no memory for it just now; or for ever, in a sandbox entered since */
    }
    th_fence_seq(); /* seq: the flag before xblocked is read; th_cancel_is_on */
    th_timers_cancel_all(sched);
    if (ordered) { /* else a fiber might be on its way back; it is left to whoever wakes it */
        th_stacks_each(&sched->stacks, visit, NULL);
    }
    th_lock_release(&sched->cancel_lock);
}
