/*
 * deadlock.h: detecting deadlocks, where all that is left waits for each other (config:
 * on_deadlock, deadlock). A scheduler is *deadlocked* when some fiber or bound thread waits,
 * nothing is runnable or runs, every bound thread sleeps without a deadline, no deadline is pending
 * and no other thread makes a call for a fiber: nothing inside can ever go on. The last thread to
 * go to sleep checks this. core/inspect/DEADLOCK.md has the argument. Only schedulers with a
 * `watch` pay anything.
 */
#ifndef TH_DEADLOCK_H
#define TH_DEADLOCK_H

#include "core/inspect/words.h"
#include "core/state/worker.h"

/* Each of its functions but `wakes` looks for a deadlock, and reports one that is new. */
extern const th_watch th_deadlock_watch;

/* Hands a report to the hook or to stderr, and aborts if the config says so. With deadlock_lock. */
void th_deadlock_hand_over(th_text *text);

#endif
