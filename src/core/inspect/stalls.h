/*
 * stalls.h: watching for stalls: workers that run one task for longer than `stall_ms`. A thread of
 * the scheduler's own, the *watcher*, looks at them, and reports each stall once. It rests while
 * all workers sleep. core/inspect/STALLS.md has the argument. Without `stall_ms` there is none of
 * this.
 */
#ifndef TH_STALLS_H
#define TH_STALLS_H

#include "core/state/worker.h"

/* Before the workers' threads are started: takes memory, and the signal. False: no memory. */
bool th_stalls_make(thrum_sched *sched);
/* Behind them: starts the watcher. If the system refuses its thread, no stall is reported. */
void th_stalls_start(thrum_sched *sched);
/* Before the workers' threads are ended: ends the watcher, and waits for that. */
void th_stalls_stop(thrum_sched *sched);
/* When they are joined: gives back what was taken. */
void th_stalls_free(thrum_sched *sched);

#endif
