/*
 * deadlock.h: detecting deadlocks, where all that is left waits for each other (config:
 * on_deadlock, deadlock). A scheduler is *deadlocked* when some fiber or bound thread waits,
 * nothing is runnable or runs, every bound thread sleeps without a deadline, no deadline is pending
 * and no other thread makes a call for a fiber: nothing inside can ever go on. The watcher
 * (cycle_watch.h) looks for that; where it has no thread, the last thread to go to sleep does.
 * core/watch/DEADLOCK.md has the argument. Only schedulers with a `watch` pay anything.
 */
#ifndef TH_DEADLOCK_H
#define TH_DEADLOCK_H

#include "core/report/words.h"
#include "core/state/worker.h"

/* Notified of threads that go to sleep: see above. */
extern const th_watch th_deadlock_watch;

/* A deadlock that the watcher has seen and not yet reported. All 0: none. */
typedef struct th_suspicion {
    th_deadlock_place place;
    unsigned looks;  /* that have seen it */
    unsigned rested; /* the latest of these, in a row, that found no plain thread running */
} th_suspicion;

/*
 * Looks for a deadlock that was not reported yet, and reports it if no plain thread, which might
 * end it, ran at this look and at the one before that found it, or if many looks have found it.
 * Returns whether it has found one.
 */
bool th_deadlock_look(thrum_sched *sched, th_suspicion *suspicion);

/*
 * Hands a report to the hook or to stderr, ends it, and aborts if the config requires it. The
 * watcher calls it without deadlock_lock, which bound threads take to go to sleep, since it may
 * take as long as the reader of stderr likes. If there is no watcher, the lock is held.
 */
void th_deadlock_hand_over(th_text *text);

#endif
