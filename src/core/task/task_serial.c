/*
 * task_serial.c: intrusive tasks whose runs never overlap, whichever thread posts them: the steps
 * on their word. core/task/TASKS.md, "Serial tasks", has the argument.
 *
 * TAKEN belongs to one post at a time, RUNNING to the run. A post that finds a run on leaves its
 * request in the task (reserved[2] and [3], which nothing else uses then) and adds NEXT; the run's
 * end takes RUNNING away. Both are steps on one word, so one of them comes last and queues the
 * task.
 */
#include "base/atomic.h"
#include "core/task/task.h"

_Static_assert(sizeof(((thrum_task *)0)->reserved) >= 4 * sizeof(uint64_t),
               "[2] and [3] are there");

bool th_task_serial_enter(thrum_task *task) {
    uint32_t old = th_load_relaxed(&task->reserved_word); /* relaxed: the exchange decides */
    do {
        if (old & TH_TASK_TAKEN) {
            return false;
        }
        /* lock-free: it fails only when another thread changed the word */
        /*
         * relaxed: before the post touches the task, th_task_serial_defer reads the word again, as
         * it is after this step or a later one, and acquires the end of the run before
         */
    } while (!th_cas_relaxed(&task->reserved_word, &old, old | TH_TASK_TAKEN));
    return true;
}

void th_task_serial_leave(thrum_task *task) {
    /* relaxed: the post was refused, and wrote nothing. A cancel of it is not the next one's */
    th_and_relaxed(&task->reserved_word, ~(TH_TASK_TAKEN | TH_TASK_CANCELLED));
}

bool th_task_serial_defer(thrum_task *task, uint64_t where, int64_t deadline) {
    for (;;) {
        /*
         * pairs: th_task_serial_end; the finished run comes before the queued one. pairs:
         * th_task_take_serial; while a run is on, two words are the post's
         */
        uint32_t old = th_load_acquire(&task->reserved_word);
        if (!(old & TH_TASK_RUNNING)) {
            return false;
        }
        th_store_relaxed(&task->reserved[2], (uint64_t)deadline); /* relaxed: NEXT publishes */
        th_store_relaxed(&task->reserved[3], where);              /* relaxed: as above */
        /* lock-free: it fails only when another thread changed the word */
        /* pairs: th_task_serial_end; the run to be queued, and the caller's writes */
        if (th_cas_release(&task->reserved_word, &old, old | TH_TASK_NEXT)) {
            return true;
        }
    }
}

thrum_task_fn th_task_take_serial(thrum_task *task, void **arg, uint64_t run_id) {
    uint32_t old = th_load_relaxed(&task->reserved_word); /* relaxed: the exchange decides */
    uint32_t running;
    do {
        running = (old & TH_TASK_SIGNALED) | TH_TASK_RUNNING;
        /* lock-free: it fails only when a wakeup, a signal or a cancel came */
        /*
         * pairs: rouse; the waker's writes. A signal stays until it is taken. pairs:
         * th_task_serial_defer; the timers are done with its words
         */
    } while (!th_cas_acq_rel(&task->reserved_word, &old, running));
    th_store_relaxed(&task->reserved[1], th_task_came(task, old)); /* relaxed: for the body only */
    th_store_relaxed(&task->reserved_mark, TH_TASK_BEGUN);         /* relaxed: as above */
    th_store_relaxed(&task->reserved[0], run_id);                  /* relaxed: as above */
    *arg = task->reserved_arg;
    return task->reserved_fn;
}

bool th_task_serial_end(thrum_task *task) {
    uint32_t old = th_load_relaxed(&task->reserved_word); /* relaxed: the exchange decides */
    uint32_t ended;
    do {
        ended = old & ~(TH_TASK_RUNNING | TH_TASK_NEXT);
        /* lock-free: it fails only when another thread changed the word */
        /*
         * pairs: th_task_serial_defer; the run, which is over. pairs: th_task_serial_defer; the run
         * to be queued
         */
    } while (!th_cas_acq_rel(&task->reserved_word, &old, ended));
    if (!(old & TH_TASK_NEXT)) {
        return false;
    }
    /* relaxed: no run is on, so the task is ours */
    th_store_relaxed(&task->reserved_mark, TH_TASK_POSTED);
    return true;
}
