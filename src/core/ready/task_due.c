/*
 * task_due.c: see task_due.h.
 */
#include "core/ready/task_due.h"

#include "base/annotate.h"
#include "base/atomic.h"

bool th_task_expire(thrum_task *task, th_work **work) {
    uint32_t word = TH_TASK_WAITING | (th_task_is_serial(task) ? TH_TASK_TAKEN : 0);
    /* relaxed: timers publish nothing; the lock orders what the post wrote */
    if (!th_cas_relaxed(&task->reserved_word, &word, word | TH_TASK_EXPIRED)) {
        return false;
    }
    *work = th_task_work(task);
    th_tsan_release(task); /* its words belonged to the timers */
    return true;
}
