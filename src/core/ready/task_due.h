/*
 * task_due.h: an intrusive task whose deadline comes first.
 */
#ifndef TH_TASK_DUE_H
#define TH_TASK_DUE_H

#include "core/state/task_word.h"

/* From timers, with their lock: true if the deadline comes first; then *work is to be queued. */
bool th_task_expire(thrum_task *task, th_work **work);

#endif
