/*
 * observed.h: schedulers that can be observed from outside (config: observe). Beside the misuse
 * reports these are the only calls of the core to a layer above it. observe/observe.c defines them,
 * since it serves that folder's output.
 */
#ifndef TH_OBSERVED_H
#define TH_OBSERVED_H

#include "core/basis/lock.h"
#include "core/state/worker.h"

/*
 * Held while a descriptor of these is opened or closed, and by a fork: so the child knows all that
 * it has to close. Nothing else is taken with it.
 */
extern th_lock th_observed_lock;

/* For the start, when the scheduler is whole. Nothing unless its config asks for it. */
void th_observe_begin(thrum_sched *sched);
/* For the stop: waits until an answer about it is over. Nothing if none was begun. */
void th_observe_end(thrum_sched *sched);

#endif
