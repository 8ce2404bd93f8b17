/*
 * outside.h: threads that use a scheduler without being one of its workers.
 *
 * Each such thread has a record with each scheduler that it uses. In it, it says when it is inside
 * a call (stop frees the scheduler only after all have left), and counts what it queues
 * (core/ready/IDLE.md). A record belongs to its thread, which frees it; the scheduler's list is
 * under one lock of the process.
 */
#ifndef TH_OUTSIDE_H
#define TH_OUTSIDE_H

#include "core/state/lock.h"
#include "core/state/thread.h"
#include "thrum/sched.h"

/* One for the process: attaching, retiring and summing are rare. */
extern th_lock th_outside_lock;

/*
 * Announces that the calling thread is inside a call on the scheduler. Never fails: without memory
 * for a record the threads concerned take turns. With `post`, NULL when the scheduler is stopping
 * or gone; but a thread that acts for a task of it (th_thread) is let in until that has ended.
 */
th_outside *th_outside_enter(thrum_sched *sched, bool post);
void th_outside_leave(thrum_sched *sched, th_outside *record);

/* For stop: waits until nobody is inside, whatever entered before the flag it set was seen. */
void th_outside_wait_left(thrum_sched *sched);

/* For start: from now on it may be entered. */
void th_outside_open(thrum_sched *sched);

/* For the child of a fork, with the lock: every scheduler refuses posts, stop and idle waits. */
void th_outside_abandon(void);

/*
 * Whether it has not been stopped, without a look at its memory. What has been told "no" stays so,
 * unless another scheduler starts at the same address. The caller must not have the lock.
 */
bool th_outside_is_live(const thrum_sched *sched);

/* For stop, at the end: forgets the scheduler in every record, and waits until nobody is inside. */
void th_outside_close(thrum_sched *sched);

/* For a thread that ends: its records' counts go to their schedulers. */
void th_outside_retire_all(th_thread *thread);

#endif
