/*
 * deferred.h: tasks for which no stack could be had.
 */
#ifndef TH_DEFERRED_H
#define TH_DEFERRED_H

#include "core/state/worker.h"

/*
 * Once so many wait, no new task is started (-ENOMEM), except a few for which memory is at hand,
 * until half of them have got their stacks.
 */
#define TH_DEFERRED_MAX 16384u

/* The time that a worker waits before it asks for a stack again. */
#define TH_DEFER_NS 1000000

/*
 * Puts a task aside for which no stack could be had (`apart`: it needs one of its own); takes one
 * when there is a stack, or NULL.
 */
void th_deferred_put(th_worker *worker, th_work *work, bool apart);
th_work *th_deferred_take(th_worker *worker);
void th_deferred_began(th_worker *worker); /* such a task has got its stack */

#endif
