/*
 * idle.h: knowing that nothing runs, without a shared counter. core/IDLE.md has the argument.
 */
#ifndef TH_IDLE_H
#define TH_IDLE_H

#include "core/worker.h"

/* Counted before the work is published. */
static inline void th_flow_began(uint64_t *xcounter) {
    /*
     * relaxed: the publication that follows is a release, and whoever ends the run acquires it; so
     * the end's release carries this count along
     */
    th_count(xcounter, 1);
}

/* Counted as the last thing of a run. */
static inline void th_flow_ended(uint64_t *xcounter) {
    /* relaxed: only this thread writes it */
    uint64_t ended = th_load_relaxed(xcounter) + 1;
    /* pairs: th_idle_now; whoever reads this end also reads what was counted before it */
    th_store_release(xcounter, ended);
}

/* Whether there was an instant since the call at which nothing was runnable or ran (`done`: was
 * left). */
bool th_idle_now(thrum_sched *sched, bool done);

/* A worker has announced that it parks: tells those who wait for it, if it was the last. */
void th_idle_notify(thrum_sched *sched);

/* For stop, when nothing runs: until those who wait for that have returned. */
void th_idle_wait_left(thrum_sched *sched);

/* thrum_sched_wait_idle, or _wait_done. */
int th_idle_wait(thrum_sched *sched, int64_t deadline, bool done);

#endif
