/*
 * cycle_state.h: watching for waits in a cycle, and for the moment when nothing goes on, where
 * deadlocks are watched for (core/report/CYCLES.md,
 * core/watch/DEADLOCK.md).
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

/* How far a scheduler has come: of two deadlocks at one place nothing has run in between. */
typedef struct th_deadlock_place {
    uint64_t began;   /* how much work has begun */
    uint64_t resumes; /* how often bound threads have gone on */
} th_deadlock_place;

typedef struct th_cycle_watcher {
    uint32_t xends; /* 1: the scheduler stops; the watcher sleeps on the word */
    bool xwatched;  /* the watcher has a thread; written by the start */
    th_os_thread thread;
    int64_t xpatience; /* until then a report waits for stderr; the stop lowers it */
} th_cycle_watcher;

#endif
