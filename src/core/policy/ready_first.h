/*
 * ready_first.h: whether a pick takes ready fibers before tasks that have not begun. Each does. The
 * build of the study has its own file of this name, with an alternative (bench/study).
 */
#ifndef TH_READY_FIRST_H
#define TH_READY_FIRST_H

#include "core/state/worker.h"

static inline bool th_ready_first(const th_worker *worker) {
    (void)worker;
    return true;
}

#endif
