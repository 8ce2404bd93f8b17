/*
 * ticks.h: each run of a task on a worker begins with a pick of that worker's, which counts it
 * (xtick): by that go the reports of stalls, the ages of waits, and the looks at held-up workers. A
 * worker that gets work without a tick of its own seems to be in the run before.
 */
#ifndef TICKS_H
#define TICKS_H

#include "core/state/thread.h"
#include "core/state/worker.h"
#include "support/support.h"

/*
 * For one scheduler, from its start on: each worker's tick at its latest run; 0 before the
 * first.
 */
typedef struct ticks {
    uint64_t seen[512];
} ticks;

/*
 * Called by a task once each time that it begins or goes on. Each place is one worker's, and a
 * worker's runs come one after the other.
 */
CHECK_UNUSED static NO_TSAN void ticks_check(ticks *t) {
    const th_worker *worker = th_here();
    const uint64_t tick = th_load_relaxed(&worker->xtick); /* relaxed: the caller's own */
    CHECK(worker->index < COUNT_OF(t->seen));
    CHECK(tick != t->seen[worker->index]);
    t->seen[worker->index] = tick;
}

#endif
