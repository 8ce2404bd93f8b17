/*
 * cycle_watch.h: a thread that looks for waits in a cycle (cycle.h), and whether anything can go on
 * (deadlock.h), if the config asks for reports of deadlocks. It reports each once.
 * core/report/CYCLES.md and DEADLOCK.md have the argument.
 */
#ifndef TH_CYCLE_WATCH_H
#define TH_CYCLE_WATCH_H

#include "core/state/worker.h"

/*
 * The time between two looks, half a second; 0: there is no watcher. A test that expects many
 * reports shortens it before the start.
 */
extern int64_t th_watch_interval;

/*
 * By the start and the stop, while the scheduler's workers have their threads. If stderr has not
 * taken all of a report by the stop's deadline, the rest is dropped.
 */
void th_cycle_watch_start(thrum_sched *sched);
void th_cycle_watch_stop(thrum_sched *sched, int64_t deadline);

#endif
