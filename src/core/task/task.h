/*
 * task.h: posting, waking and running intrusive tasks; task_word.h has their words.
 * core/task/TASKS.md has the table of their transitions.
 */
#ifndef TH_TASK_H
#define TH_TASK_H

#include "core/basis/task_word.h"
#include "thrum/task.h"

/* The way in which a task is posted. */
typedef struct th_posting {
    thrum_hint hint;
    bool waits; /* whether it waits for the deadline, or until it is woken */
    int64_t deadline;
} th_posting;

/*
 * Puts a task that is counted as posted into timers. False: a wakeup came before, so the task is
 * due at once, and is marked with whether its deadline had passed then.
 */
bool th_task_begin_waiting(th_timers *timers, thrum_task *task, int64_t deadline);

/*
 * Posts the task as woken: its body sees no passed deadline, as it would after a plain post.
 * Returns what thrum_task_post_until returns; after an error the wakeup stays with the task.
 */
int th_task_post_woken(thrum_sched *sched, thrum_task *task);

/* Whether the task is the one whose body is calling, and which it has not posted. */
bool th_task_is_running_here(thrum_task *task);

/* The cause of a run, from the word as the run begins and from the mark. */
uint32_t th_task_came(const thrum_task *task, uint32_t word);

/* The same for a run that finds something in the word, which it clears. */
TH_COLD uint32_t th_task_begin_roused(thrum_task *task);

/*
 * In the task's context: clears the mark that the task is posted, stores the cause of this run (of
 * the word's bits WAITING, SIGNALED, EXPIRED, CANCELLED), and returns the function to run.
 */
static inline thrum_task_fn th_task_take(thrum_task *task, void **arg, uint64_t run_id) {
    uint32_t run = TH_TASK_EXPIRED; /* posted without a deadline, and nothing came */
    /*
     * relaxed: if it is not 0, th_task_begin_roused acquires the writes before a wakeup that this
     * run absorbs; a wakeup that is not seen comes later and is remembered
     */
    if (th_unlikely(th_load_relaxed(&task->reserved_word))) {
        run = th_task_begin_roused(task);
    }
    /* relaxed: for another post it is best effort */
    th_store_relaxed(&task->reserved_mark, TH_TASK_BEGUN);
    /* relaxed: as above; the run that began it */
    th_store_relaxed(&task->reserved[0], run_id);
    th_store_relaxed(&task->reserved[1], run); /* relaxed: only the body reads it */
    *arg = task->reserved_arg;
    return task->reserved_fn;
}

/* ---- serial tasks (core/task/TASKS.md) ---- */

/* Makes the task TAKEN by a post. False: it is posted already. */
bool th_task_serial_enter(thrum_task *task);
/* Undoes that for a post that was refused after all. */
void th_task_serial_leave(thrum_task *task);

/*
 * For a post that is counted. True: the present run will queue the task, which the caller may no
 * longer touch. False: no run is on, so the caller queues it.
 */
bool th_task_serial_defer(thrum_task *task, uint64_t where, int64_t deadline);

/* thrum_task_post_until for a task that the caller has entered; refused, it is left. */
int th_task_post_entered(thrum_sched *sched, thrum_task *task, int64_t deadline);

/* The same as th_task_take, for a serial task. */
thrum_task_fn th_task_take_serial(thrum_task *task, void **arg, uint64_t run_id);

/*
 * Ends the run. True: the caller queues the next run, at the place and deadline from
 * th_task_serial_where and th_task_serial_deadline. False: from here on the task is no longer
 * touched.
 */
bool th_task_serial_end(thrum_task *task);

/*
 * The scheduler, the hint, and whether the task waits, in one word; passed by value
 * (base/annotate.h).
 */
#define TH_TASK_WHERE_WAITS UINT64_C(1)
#define TH_TASK_WHERE_HINT 1 /* the lowest bit of two */
#define TH_TASK_WHERE_BELOW UINT64_C(7)
static inline uint64_t th_task_where(thrum_sched *sched, thrum_hint hint, bool waits) {
    return (uint64_t)(uintptr_t)sched | (uint64_t)hint << TH_TASK_WHERE_HINT |
           (waits ? TH_TASK_WHERE_WAITS : 0);
}
static inline uint64_t th_task_serial_where(const thrum_task *task) {
    return th_load_relaxed(&task->reserved[3]); /* relaxed: acquired with NEXT */
}
static inline int64_t th_task_serial_deadline(const thrum_task *task) {
    return (int64_t)th_load_relaxed(&task->reserved[2]); /* relaxed: as above */
}

/*
 * For a list in which the task has a place (TH_TASK_PLACE), with the list's lock, and the place
 * emptied: wakes or cancels it, depending on `bit`. True: the caller makes it due by
 * th_task_is_due, when it has given the lock up. False: the task is no longer touched. Not by a
 * pointer: it may be called in the worker's context on a task's stack (base/annotate.h).
 */
typedef struct th_roused {
    bool is_due;
    bool dormant;
} th_roused;
th_roused th_task_rouse_listed(thrum_task *task, uint32_t bit);
/* `by`: the task goes into by->due if it is of that worker's scheduler; NULL: it is queued. */
void th_task_is_due(th_worker *by, thrum_task *task, bool dormant);

/*
 * For stop: cancels the tasks that wait without a deadline; past stop's own deadline, `all` waits
 * in timers. Tasks run once, with their cancelled flag set; waits return -ECANCELED.
 */
void th_timers_cancel(thrum_sched *sched, bool all);

#endif
