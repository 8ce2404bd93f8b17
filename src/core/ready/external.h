/*
 * external.h: external threads, which call a scheduler and are neither its workers nor bound to it.
 *
 * Each external thread has a record with each scheduler that it uses. The record shows whether the
 * thread is inside a call (stop frees the scheduler only after all have left), and counts the work
 * that it queues (core/ready/QUIESCENCE.md). A record belongs to its thread, which frees it; the
 * scheduler's list is under one lock of the process.
 */
#ifndef TH_EXTERNAL_H
#define TH_EXTERNAL_H

#include "core/basis/lock.h"
#include "core/state/slab.h"
#include "core/state/thread.h"
#include "thrum/sched.h"

/* One lock for the process: attaching, retiring and summing are rare. */
extern th_lock th_external_lock;

/*
 * Announces that the calling thread is inside a call on the scheduler. Without memory for a record
 * the threads concerned take turns with one. NULL when the scheduler is gone or, with `post`, is
 * stopping; but a thread that acts for a task of it (th_thread) is let in until the task has ended.
 */
th_external *th_external_enter(thrum_sched *sched, bool post);
void th_external_leave(thrum_sched *sched, th_external *record);

/* Takes an object of the scheduler's spawn slab; the caller is inside. NULL: no memory. */
void *th_external_take_object(thrum_sched *sched, th_external *record);

/* Gives one back. Any thread that is no worker of that scheduler, not inside; the scheduler may be
 * gone. */
void th_external_put_object(th_slab *slab, void *object);

/* For stop, after it has set a flag: waits until every thread that entered without seeing the flag
 * has left. */
void th_external_wait_left(thrum_sched *sched);

/* For start: from now on the scheduler may be entered. */
void th_external_open(thrum_sched *sched);

/* For the child of a fork, with the lock: every scheduler refuses posts, stop and idle waits. */
void th_external_abandon(void);

/*
 * Whether the scheduler has not been stopped; does not read its memory. Once false it stays false,
 * unless another scheduler starts at the same address. The caller must not have the lock.
 */
bool th_external_is_live(const thrum_sched *sched);

/* For the end of stop: removes the scheduler from all records; waits until no thread is inside. */
void th_external_close(thrum_sched *sched);

/* For a thread that ends: adds its records' counters to their schedulers' and frees the records. */
void th_external_retire_all(th_thread *thread);

#endif
