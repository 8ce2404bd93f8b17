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

#include "core/wait.h"

typedef struct thrum_sched thrum_sched;
typedef struct th_fiber th_fiber;

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

/* It has come back. Afterwards nobody touches the waiter on account of a cancel. */
void th_cancel_end(th_fiber *fiber);

/* The slow half of what th_waiter_wait_unlock looks at before it suspends. */
bool th_cancel_is_on(const th_fiber *fiber);

#endif
