/*
 * bound_wake.h: waking bound threads for work that any of them may take.
 */
#ifndef TH_BOUND_WAKE_H
#define TH_BOUND_WAKE_H

#include "core/ready/wake.h"
#include "core/state/worker.h"

/* Without workers: wakes up to n sleeping bound threads for n pieces of work. */
void th_bound_wake(thrum_sched *sched, uint64_t n);

/* The same, unless one of the sleeping threads watches the deadline. */
void th_bound_wake_unless(thrum_sched *sched, uint64_t n, int64_t deadline);

/*
 * By a bound thread that has queued work for itself. A foreign loop may be about to wait, so the
 * thread is notified like a sleeping one (bound/embedded.c).
 */
static inline void th_bound_posted(th_worker *worker) {
    if (th_unlikely(worker->tie.announced)) {
        (void)th_wake_worker(worker);
    }
}

/* Without workers: queues the work that became due in the loose timers, for any bound thread to
 * take. Called by a bound thread. */
void th_bound_due(th_worker *by, th_chain *due);

#endif
