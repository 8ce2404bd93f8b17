/*
 * cycle_watch.h: a thread that looks for waits in a circle (cycle.h) where the config asks for
 * reports of deadlocks, and reports each once. core/inspect/CYCLES.md has the argument.
 */
#ifndef TH_CYCLE_WATCH_H
#define TH_CYCLE_WATCH_H

#include "core/state/worker.h"

/* By the start and the stop, while the scheduler's workers have their threads. */
void th_cycle_watch_start(thrum_sched *sched);
void th_cycle_watch_stop(thrum_sched *sched);

#endif
