/*
 * ready_first.h: the order of a pick in the study's build, in place of
 * src/core/policy/ready_first.h.
 */
#ifndef TH_READY_FIRST_H
#define TH_READY_FIRST_H

#include "core/state/worker.h"
#include "study.h"

/* With the variant every second pick of each worker; workers of several schedulers share turns. */
static inline bool th_ready_first(const th_worker *worker) {
    th_study_turn *turn = &th_study_turns[worker->index % THRUM_WORKERS_MAX];
    turn->new_first = !turn->new_first && th_study_variant.alternate;
    return !turn->new_first;
}

#endif
