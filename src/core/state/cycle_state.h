/*
 * cycle_state.h: watching for waits in a circle, where deadlocks are watched for
 * (core/inspect/CYCLES.md).
 */
#ifndef TH_CYCLE_STATE_H
#define TH_CYCLE_STATE_H

#include "base/cc.h"
#include "platform/platform.h"

#define TH_CYCLES_TOLD 64u /* cycles that are reported in a scheduler's life */

/* Under the scheduler's deadlock_lock. */
typedef struct th_cycles_told {
    unsigned count;
    uint64_t keys[TH_CYCLES_TOLD];
} th_cycles_told;

typedef struct th_cycle_watcher {
    uint32_t xends; /* 1: the scheduler stops; the watcher sleeps on the word */
    bool watched;   /* the watcher has a thread; written by the start, read by the stop */
    th_os_thread thread;
} th_cycle_watcher;

#endif
