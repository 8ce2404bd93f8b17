/*
 * cancel_all.h: a stop past its deadline cancels all that waits.
 */
#ifndef TH_CANCEL_ALL_H
#define TH_CANCEL_ALL_H

#include "thrum/sched.h"

/*
 * From now on every wait of the scheduler's fibers that can be cancelled is: those that wait now,
 * and each that would begin to. Tasks that wait for a deadline or a wakeup are, too. For ever.
 */
void th_cancel_all(thrum_sched *sched);

#endif
