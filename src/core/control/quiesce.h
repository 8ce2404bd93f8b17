/*
 * quiesce.h: waiting until nothing runs (quiesce_sum.h).
 */
#ifndef TH_QUIESCE_H
#define TH_QUIESCE_H

#include "core/ready/quiesce_sum.h"
#include "core/state/worker.h"

/* For stop, when nothing runs: waits until all threads that wait for that have returned. */
void th_quiesce_wait_left(thrum_sched *sched);

int th_quiesce_wait(thrum_sched *sched, int64_t deadline, th_quiesce_what what);

#endif
