/*
 * stuck.h: finding that all who are left wait for each other (config: on_deadlock, deadlock).
 *
 * *Stuck* is a scheduler in which some fiber or bound thread waits, nothing is runnable or runs,
 * every bound thread sleeps without a deadline, no deadline is pending and no other thread makes a
 * call for a fiber: nothing inside can ever go on. Who went to sleep last looks. core/STUCK.md has
 * the argument. Only schedulers that are `watched` pay anything.
 */
#ifndef TH_STUCK_H
#define TH_STUCK_H

#include "core/worker.h"

/* Looks, and tells, unless this was told already. A worker that has announced that it parks, behind
 * a fence. */
void th_stuck_look(thrum_sched *sched);

/* A bound thread is about to sleep until it is woken, and has nothing to do; it has woken up. */
void th_stuck_sleeps(th_worker *worker);
void th_stuck_wakes(th_worker *worker);

/* A bound thread is about to leave: it counts as gone. */
void th_stuck_leaves(th_worker *worker);

#endif
