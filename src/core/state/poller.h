/*
 * poller.h: opening and closing a set of descriptors, and the alarm in it.
 */
#ifndef TH_POLLER_H
#define TH_POLLER_H

#include "core/state/worker.h"

void th_alarm_init(th_alarm *alarm);
void th_alarm_close(th_alarm *alarm);

void th_poller_init(th_poller *poller, thrum_sched *sched, th_worker *owner);
/*
 * Call it only when no thread uses the scheduler any longer: a late wake must not write into
 * another file.
 */
void th_poller_close(th_poller *poller);
/* The system reports a set as closed. This is the program's fault, so it aborts with a message. */
TH_COLD void th_poller_refuse(thrum_sched *sched);
/* In the child of a fork: the scheduler's sets are the parent's; they are closed without a look. */
void th_pollers_abandon(thrum_sched *sched);

#endif
