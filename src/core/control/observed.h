/*
 * observed.h: schedulers that can be looked at from outside (config: observe). Beside the misuse
 * reports these are the only calls of the core to what stands above it: observe/observe.c defines
 * them, since it serves what that folder prints.
 */
#ifndef TH_OBSERVED_H
#define TH_OBSERVED_H

#include "core/state/worker.h"

/* For the start, when the scheduler is whole. Nothing unless its config asks for it. */
void th_observe_begin(thrum_sched *sched);
/* For the stop: waits until an answer about it is over. Nothing if none was begun. */
void th_observe_end(thrum_sched *sched);

#endif
