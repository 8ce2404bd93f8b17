/*
 * task.h: the state of an intrusive task. core/TASKS.md has the table of its transitions.
 *
 * reserved_word is what wakeups, signals, deadlines and cancels agree on:
 *
 *     bit 0  WAITING    posted to wait; what makes it due is the first of the next four
 *     bit 1  WOKEN      a wakeup, remembered until a run begins
 *     bit 2  SIGNALED   a signal, until the body takes it
 *     bit 3  EXPIRED    its deadline came first
 *     bit 4  CANCELLED  its owner, or stop, did not want to wait
 *     bit 5  DORMANT    with WAITING: it has no deadline
 *
 * Whoever adds the first of bits 1 to 4 to WAITING makes it due: takes it out of the timers and
 * queues it. Nobody else touches it then. A task that is posted to run at once is not WAITING: such
 * a post, and its run while nobody wakes it, costs no locked instruction.
 *
 * reserved_mark is the owner's and the runner's: whether it is posted, so that a second post can be
 * refused. It is no lock: two posts at a time are the callers' mistake.
 */
#ifndef TH_TASK_H
#define TH_TASK_H

#include "core/timer.h"
#include "thrum/task.h"

#define TH_TASK_WAITING 1u
#define TH_TASK_WOKEN 2u
#define TH_TASK_SIGNALED 4u
#define TH_TASK_EXPIRED 8u
#define TH_TASK_CANCELLED 16u
#define TH_TASK_DORMANT 32u
#define TH_TASK_DUE (TH_TASK_WOKEN | TH_TASK_SIGNALED | TH_TASK_EXPIRED | TH_TASK_CANCELLED)

#define TH_TASK_POSTED 1u       /* to run at once, or to wait */
#define TH_TASK_POSTED_WOKEN 2u /* ... while a wakeup or a signal was remembered */
#define TH_TASK_BEGUN 3u

static inline bool th_task_is_posted(uint32_t mark) {
    mark &= ~TH_TIMED_IN;
    return mark == TH_TASK_POSTED || mark == TH_TASK_POSTED_WOKEN;
}

static inline th_work *th_task_work(thrum_task *task) {
    return (th_work *)(void *)task;
}

static inline th_timed *th_task_timed(thrum_task *task) {
    return (th_timed *)(void *)task;
}

/* From timers, with their lock: true if the deadline comes first; then *work is to be queued. */
bool th_task_expire(thrum_task *task, th_work **work);

/*
 * Puts a task that is counted as posted into timers; false: it is due at once, by a wakeup before.
 */
bool th_task_begin_waiting(th_timers *timers, thrum_task *task, int64_t deadline);

/* A run came with something in the word: what of it belongs to this run. */
TH_COLD uint32_t th_task_begin_roused(thrum_task *task, bool without_deadline);

/* The task's context: clears the mark that it is posted, and reads what to run. */
static inline thrum_task_fn th_task_take(thrum_task *task, void **arg, uint64_t run_id) {
    /* relaxed: the queue published it */
    bool plain = (th_load_relaxed(&task->reserved_mark) & ~TH_TIMED_IN) == TH_TASK_POSTED;
    uint32_t run = plain ? TH_TASK_EXPIRED : 0;
    /* relaxed: if it is not 0, th_task_begin_roused acquires what came before a wakeup that this
     * run absorbs; one that is not seen comes later and is remembered */
    if (th_unlikely(th_load_relaxed(&task->reserved_word))) {
        run = th_task_begin_roused(task, plain);
    }
    /* relaxed: for whoever posts again it is best effort */
    th_store_relaxed(&task->reserved_mark, TH_TASK_BEGUN);
    /* relaxed: as above; by which run it was begun */
    th_store_relaxed(&task->reserved[0], run_id);
    th_store_relaxed(&task->reserved[1], run); /* relaxed: the body's */
    *arg = task->reserved_arg;
    return task->reserved_fn;
}

/* For stop: cancels the tasks that wait without a deadline. */
void th_tasks_cancel(thrum_sched *sched);

#endif
