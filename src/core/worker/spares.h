/*
 * spares.h: spare workers: idle, as the monitor, and while they take over for workers that
 * are held up. core/worker/SPARES.md has the argument.
 */
#ifndef TH_SPARES_H
#define TH_SPARES_H

#include "core/state/worker.h"

/* A spare's next work; it becomes idle when it is not wanted. NULL: the worker shall leave. */
th_work *th_spares_find(th_worker *spare);

/* Starts the first spare, which is the monitor. If the system refuses it, there is none. */
void th_spares_start(thrum_sched *sched);
/* From now on no spare is started and none monitors; returns how many have been started. */
unsigned th_spares_close(thrum_sched *sched);

#endif
