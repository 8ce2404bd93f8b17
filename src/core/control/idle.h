/*
 * idle.h: waiting until nothing runs (idle_sum.h).
 */
#ifndef TH_IDLE_H
#define TH_IDLE_H

#include "core/ready/idle_sum.h"
#include "core/state/worker.h"

/* For stop, when nothing runs: waits until all threads that wait for that have returned. */
void th_idle_wait_left(thrum_sched *sched);

int th_idle_wait(thrum_sched *sched, int64_t deadline, th_idle_what what);

#endif
