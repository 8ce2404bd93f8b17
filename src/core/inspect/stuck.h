/*
 * stuck.h: finding that all who are left wait for each other (config: on_deadlock, deadlock).
 *
 * *Stuck* is a scheduler in which some fiber or bound thread waits, nothing is runnable or runs,
 * every bound thread sleeps without a deadline, no deadline is pending and no other thread makes a
 * call for a fiber: nothing inside can ever go on. Who went to sleep last looks.
 * core/inspect/STUCK.md has the argument. Only schedulers with a `watch` pay anything.
 */
#ifndef TH_STUCK_H
#define TH_STUCK_H

#include "core/state/worker.h"

/* Each of them looks, and tells, unless this was told already; but for `wakes`. */
extern const th_watch th_stuck_watch;

#endif
