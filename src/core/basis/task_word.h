/*
 * task_word.h: the state of an intrusive task. core/task/TASKS.md has the table of its transitions.
 *
 * reserved_word coordinates wakeups, signals, deadlines and cancels:
 *
 *     bit 0  WAITING    posted to wait; the first of the next four bits makes it due
 *     bit 1  WOKEN      a wakeup, remembered until a run begins
 *     bit 2  SIGNALED   a signal, until the body takes it
 *     bit 3  EXPIRED    its deadline came first
 *     bit 4  CANCELLED  its owner, or stop, has ended the wait
 *     bit 5  DORMANT    with WAITING: it has no deadline
 *     bit 6  TAKEN      a serial task: posted, until its run begins
 *     bit 7  RUNNING    a serial task: a run has begun and is not over
 *     bit 8  NEXT       a serial task, with RUNNING: the end of the run queues the next one
 *     bits 9-31  PLACE  where it is listed besides (th_task_unlist_fn), or 0: taken away, with the
 *                       place emptied, before the task is queued
 *
 * The thread that adds the first of bits 1 to 4 to WAITING makes the task due: it takes it out of
 * the timers and queues it, and no other thread touches it then. A task that is posted to run at
 * once is not WAITING: such a post costs no locked instruction, and neither does its run unless a
 * wakeup comes.
 *
 * reserved_mark belongs to the owner and to the worker that runs the task. It records whether the
 * task is posted, so that a second post can be refused. It is no lock: two concurrent posts are the
 * callers' mistake.
 */
#ifndef TH_TASK_WORD_H
#define TH_TASK_WORD_H

#include "core/basis/timer_state.h"
#include "thrum/task.h"

#define TH_TASK_WAITING 1u
#define TH_TASK_WOKEN 2u
#define TH_TASK_SIGNALED 4u
#define TH_TASK_EXPIRED 8u
#define TH_TASK_CANCELLED 16u
#define TH_TASK_DORMANT 32u
#define TH_TASK_TAKEN 64u
#define TH_TASK_RUNNING 128u
#define TH_TASK_NEXT 256u
#define TH_TASK_PLACE_SHIFT 9
#define TH_TASK_PLACE (~0u << TH_TASK_PLACE_SHIFT)
#define TH_TASK_DUE (TH_TASK_WOKEN | TH_TASK_SIGNALED | TH_TASK_EXPIRED | TH_TASK_CANCELLED)

#define TH_TASK_POSTED 1u       /* to run at once, or to wait */
#define TH_TASK_POSTED_LATE 2u  /* to wait, but it was due already; its deadline had passed */
#define TH_TASK_POSTED_EARLY 3u /* likewise; its deadline was still to come */
#define TH_TASK_BEGUN 4u

/*
 * Empties the task's place in a list of a higher layer, which knows it by the bits PLACE of the
 * word: afterwards that list no longer touches the task. May be called with the lock of timers.
 */
typedef void (*th_task_unlist_fn)(thrum_task *task, uint32_t word);
extern th_task_unlist_fn th_task_xunlist; /* set before the first task has a place */

/*
 * For reports, with the lock of timers: in which timers the task waits, and its turn
 * (core/inspect/world.h); NULL: it is no longer there.
 */
typedef const void *(*th_task_place_fn)(const thrum_task *task, uint32_t word, uint32_t *turn);
extern th_task_place_fn th_task_xplace; /* likewise */

static inline bool th_task_is_posted(uint32_t mark) {
    return (mark & ~TH_TIMED_IN) - TH_TASK_POSTED < TH_TASK_BEGUN - TH_TASK_POSTED;
}

static TH_INLINE_NO_TSAN bool th_task_is_serial(const thrum_task *task) {
    return task->reserved_kind == TH_WORK_SERIAL;
}

static inline th_work *th_task_work(thrum_task *task) {
    return (th_work *)(void *)task;
}

static inline th_timed *th_task_timed(thrum_task *task) {
    return (th_timed *)(void *)task;
}

#endif
