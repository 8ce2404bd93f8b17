/*
 * task_due.c: see task_due.h.
 */
#include "core/ready/task_due.h"

#include "base/annotate.h"
#include "base/atomic.h"

th_task_unlist_fn th_task_xunlist;
th_task_place_fn th_task_xplace;

bool th_task_expire(thrum_task *task, th_work **work) {
    uint32_t word = th_load_relaxed(&task->reserved_word); /* relaxed: the exchange decides */
    do {
        if (word & TH_TASK_DUE) {
            return false;
        }
        /* lock-free: it fails only when something else has made it due, or may be about to */
        /* relaxed: timers publish nothing; the lock orders the post's writes */
    } while (!th_cas_relaxed(&task->reserved_word, &word, word | TH_TASK_EXPIRED));
    if (th_unlikely((word & TH_TASK_PLACE) != 0)) {
        /* relaxed: set before the place was taken; later calls set it to the same */
        th_task_unlist_fn unlist_it = th_load_relaxed(&th_task_xunlist);
        unlist_it(task, word);
        th_and_relaxed(&task->reserved_word, ~TH_TASK_PLACE); /* relaxed: the task is ours */
    }
    *work = th_task_work(task);
    th_tsan_release(task); /* its words belonged to the timers */
    return true;
}
