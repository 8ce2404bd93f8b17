/*
 * find.h: where a worker's next work comes from.
 */
#ifndef TH_FIND_H
#define TH_FIND_H

#include "core/state/worker.h"

/*
 * The next work: picked, stolen, or found after sleeping. NULL: the worker shall leave, or has
 * a `find` of its own and has slept.
 */
th_work *th_find(th_worker *worker);

/*
 * It has found work, and goes on to run it: it searches no longer, and is no longer the sentinel.
 */
void th_found(th_worker *worker);

#endif
