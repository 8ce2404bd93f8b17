/*
 * settle.h: the part of a stop that waits (core/control/STOP.md, steps 2 and 3): until every other
 * thread has unbound, and nothing is left to be run.
 */
#ifndef TH_SETTLE_H
#define TH_SETTLE_H

#include "core/state/worker.h"

/*
 * Past the deadline what is left is cancelled: -ETIMEDOUT. Also -EAGAIN and -ENOMEM: no thread that
 * could wait for the caller, a task of another scheduler, or no stack to run on. The caller is the
 * one that stops the scheduler; it has been unbound from it when this returns 0.
 */
int th_settle(thrum_sched *sched, thrum_time deadline);

#endif
