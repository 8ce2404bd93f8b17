/*
 * stall.h: finding out which workers are held up by one task (core/worker/SPARES.md).
 */
#ifndef TH_STALL_H
#define TH_STALL_H

#include "core/state/worker.h"

/* The time between two looks. */
int64_t th_stall_interval(const thrum_sched *sched);

/*
 * With the lock of the spares, by a spare: looks at all workers, and notes in the spare set which
 * are held up, whether work waits, and how many spares are wanted.
 */
void th_stall_look(th_worker *by, int64_t now);

/* With the lock, after a look that found no free worker: whether one more spare is to take over. */
bool th_stall_calls(const thrum_sched *sched, int64_t now);

#endif
