/*
 * task_due.h: making an intrusive task due when its deadline comes first.
 */
#ifndef TH_TASK_DUE_H
#define TH_TASK_DUE_H

#include "core/basis/task_word.h"

/* With the lock of the timers. True if the deadline comes first; then *work is to be queued. */
bool th_task_expire(thrum_task *task, th_work **work);

#endif
