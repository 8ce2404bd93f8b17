/*
 * cancel.h: ending waits that nobody ends (stop_until past its deadline). core/WAITING.md,
 * "Cancelling", has the argument.
 *
 * A fiber that waits for what can be cancelled says so in `xblocked` before it suspends, and takes
 * it back when it has come back. Neither is a locked instruction: who cancels has the system order
 * all the processors first, as a rescuer at the gate does.
 */
#ifndef TH_CANCEL_H
#define TH_CANCEL_H

#include "base/atomic.h"
#include "core/fiber.h"
#include "core/wait.h"
#include "core/worker.h"

/*
 * From now on every wait of the scheduler's fibers that can be cancelled is: those that wait now,
 * and each that would begin to. Tasks that wait for a deadline or a wakeup are, too. For ever.
 */
void th_cancel_all(thrum_sched *sched);

/*
 * The fiber is about to suspend for a waiter that stands where it will be found. True: it has been
 * cancelled instead, and must not suspend.
 */
bool th_cancel_begin(th_fiber *fiber, th_waiter *waiter);

/*
 * Whether waits are being cancelled; what the fiber has written before comes first. The processor
 * is made to keep that order by who cancels, where the system can.
 */
static inline bool th_cancel_is_on(const th_fiber *fiber) {
    const thrum_sched *sched = fiber->sched;
    th_fence_compiler();
    if (th_unlikely(!sched->can_order)) {
        th_fence_seq(); /* seq: xblocked before the flag; th_cancel_all: the flag, then xblocked */
    }
    /* relaxed: ordered by the barrier, or the fence */
    return th_unlikely(th_load_relaxed(&sched->xcancelling) != 0);
}

/* Until nobody who cancels has anything in hand. */
void th_cancel_pass(th_fiber *fiber);

/* It has come back. Afterwards nobody touches the waiter on account of a cancel. */
static inline void th_cancel_end(th_fiber *fiber) {
    if (!th_load_relaxed(&fiber->xblocked)) { /* relaxed: our own */
        return;
    }
    th_store_relaxed(&fiber->xblocked, NULL); /* relaxed: ordered as in th_cancel_is_on */
    if (th_cancel_is_on(fiber)) {
        th_cancel_pass(fiber);
    }
}

#endif
