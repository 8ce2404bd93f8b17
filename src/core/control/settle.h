/*
 * settle.h: the part of a stop that waits (core/control/STOP.md, steps 2 and 3): until every other
 * thread has unbound, and nothing is left to be run.
 */
#ifndef TH_SETTLE_H
#define TH_SETTLE_H

#include "core/state/worker.h"

/*
 * Waits until every other thread has unbound and nothing is left to run; past the deadline cancels
 * the rest and returns -ETIMEDOUT. It returns -EAGAIN or -ENOMEM if there is no thread that could
 * wait for the caller, a task of another scheduler, or no stack to run on. The caller stops the
 * scheduler; it is no longer bound to it when this returns 0.
 */
int th_settle(thrum_sched *sched, thrum_time deadline);

#endif
