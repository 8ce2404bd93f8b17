/*
 * cancel_all.h: a stop past its deadline cancels all that waits.
 */
#ifndef TH_CANCEL_ALL_H
#define TH_CANCEL_ALL_H

#include "thrum/sched.h"

/*
 * Cancels, for ever, every wait of the scheduler's fibers that can be cancelled: the present ones,
 * and each that would begin later. It also cancels tasks that wait for a deadline or a wakeup.
 */
void th_cancel_all(thrum_sched *sched);

#endif
