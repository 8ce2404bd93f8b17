/*
 * cancel.c: see cancel.h.
 */
#include "core/wait/cancel.h"

#include "base/atomic.h"
#include "core/ready/waiter.h"
#include "core/state/worker.h"
#include "core/wait/delegated.h"
#include "platform/platform.h"
#include "thrum/spawn.h"

#define BARRIER_TRIES 1000u /* refusals of th_fence_heavy that count as a refusal for good */

#define YIELDS_MAX TH_LIMIT(64u, 1u) /* slices given away so that a waiter for the lock takes it */
#define SPINS_MAX TH_LIMIT(100u, 1u) /* before a thread that waits for the end of a round sleeps */

th_lock th_cancel_lock = TH_LOCK_INIT;

/*
 * The round. One begins with each hold.
 *
 *     bit  0    BUSY     the lock is held, and its holder may have a fiber in hand
 *     bit  1    SLEPT    a thread sleeps until the holder has let go
 *     the rest           the number of the round
 */
static uint32_t xround;
#define BUSY 1u
#define SLEPT 2u
#define ROUND_ONE 4u

void th_cancel_hold(void) {
    th_lock_acquire(&th_cancel_lock);
    /* relaxed: an exchange, so a thread that reads it acquires the end of the last round as well */
    th_add_relaxed(&xround, BUSY);
    /* seq: the round, then the fiber's words; th_cancel_pass comes after they have been cleared */
    th_fence_seq();
}

void th_cancel_let_go(void) {
    /* relaxed: only the holder changes the number */
    uint32_t next = (th_load_relaxed(&xround) & ~(BUSY | SLEPT)) + ROUND_ONE;
    /* pairs: th_cancel_pass; the holder's last access to the objects it held */
    if (th_xchg_release(&xround, next) & SLEPT) {
        th_os_futex_wake(&xround, INT32_MAX);
    }
    th_lock_release(&th_cancel_lock);
}

void th_cancel_breathe(bool lets_run) {
    /* relaxed: a hint; a thread that comes later waits for the next time */
    bool wanted = th_load_relaxed(&th_cancel_lock.xword) == 2;
    th_cancel_let_go();
    /* relaxed: as above */
    for (unsigned i = 0; wanted && i < YIELDS_MAX && !th_load_relaxed(&th_cancel_lock.xword); i++) {
        th_os_thread_yield();
    }
    if (lets_run && th_fiber_self()) {
        thrum_yield();
    }
    th_cancel_hold();
}

void th_cancel_pass(void) {
    /* seq: the fiber's words, then the round; th_cancel_hold has it the other way round */
    th_fence_seq();
    /* pairs: th_cancel_let_go; the holder's last access to the objects it held */
    uint32_t first = th_load_acquire(&xround);
    uint32_t round = first;
    for (unsigned i = 0; (round & BUSY) && !((round ^ first) & ~SLEPT); i++) {
        if (i < SPINS_MAX) {
            th_os_relax();
        } else if ((round & SLEPT) ||
                   /* relaxed: only asks to be woken, the next load acquires */
                   th_cas_relaxed(&xround, &round, round | SLEPT)) {
            (void)th_os_futex_wait(&xround, round | SLEPT, TH_FOREVER);
        }
        /* pairs: th_cancel_let_go; as above */
        round = th_load_acquire(&xround);
    }
}

/*
 * Ends the wait unless something else has ended it. A timed waiter is claimed, and its fiber takes
 * it off the list; any other is taken off under the list's lock, as a waker would do it.
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
        th_delegated_list(fiber);
    }
    th_cancel_show(fiber, waiter);
    return can && th_cancel_is_on(fiber) && end_wait(waiter);
}

bool th_cancel_is_set(const thrum_handle *handle) {
    uint32_t word;
    /* pairs: flag; the canceller's writes */
    while (!((word = th_load_acquire(&handle->xcancelled)) & TH_CANCEL_ON)) {
        if (!(word & TH_CANCEL_NESTED) || !(handle = th_part_of(handle)->outer)) {
            return false;
        }
    }
    return true;
}

bool th_cancel_order(bool can_order) {
    unsigned spins = 0;
    bool ordered = !can_order;
    while (!ordered && !(ordered = th_fence_heavy()) && spins < BARRIER_TRIES) {
        /* The kernel has no memory just now, or a sandbox entered since the start refuses it. */
        th_backoff(&spins);
    }
    th_fence_seq(); /* seq: the flags before xblocked is read; the other side is th_cancel_is_on */
    return ordered;
}

void th_cancel_visit(th_fiber *fiber) {
    /* pairs: th_cancel_show; the waiter, and the list that it is on */
    th_waiter *waiter = th_load_acquire(&fiber->xblocked);
    if (waiter && !fiber->sched->abandoned && th_cancel_can(waiter)) {
        end_wait(waiter);
    }
}

/* ---- looking ---- */

void th_cancel_snapshot_begins(thrum_sched *sched) {
    /* pairs: thrum_cancelled; it may read the flag in this. With the lock held */
    th_store_release(&sched->xcancelling, sched->xcancelling + TH_CANCEL_SNAPSHOT_ONE);
}

void th_cancel_snapshot_ends(thrum_sched *sched) {
    /*
     * pairs: th_cancel_taken_back; the last access to the objects held. Written with the lock
     * held
     */
    th_store_release(&sched->xcancelling, sched->xcancelling - TH_CANCEL_SNAPSHOT_ONE);
}

void th_handle_runs(thrum_handle *handle, th_fiber *fiber) {
    /* pairs: visit_task; the fiber, as it begins */
    th_store_release(&handle->xfiber, fiber);
}
