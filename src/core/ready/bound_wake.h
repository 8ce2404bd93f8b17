/*
 * bound_wake.h: bound threads that sleep are woken for what is there for whoever comes.
 */
#ifndef TH_BOUND_WAKE_H
#define TH_BOUND_WAKE_H

#include "core/state/worker.h"

/* No workers: n things are there for whoever comes, so up to n of those that sleep are woken. */
void th_bound_wake(thrum_sched *sched, uint64_t n);

/* The same, unless one of those that sleep watches the deadline. */
void th_bound_wake_unless(thrum_sched *sched, uint64_t n, int64_t deadline);

/* No workers: what became due in the loose timers is for whoever comes. A bound thread. */
void th_bound_due(th_worker *by, th_chain *due);

#endif
