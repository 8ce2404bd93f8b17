/*
 * submit.h: how work reaches a queue, from any thread.
 */
#ifndef TH_SUBMIT_H
#define TH_SUBMIT_H

#include "core/state/worker.h"
#include "thrum/task.h"

/* From a worker of this scheduler, in its context; work pinned to another worker goes to that one's
 * inbox. Counts nothing. */
void th_submit(th_worker *worker, th_work *work, unsigned hint);

/* A hint beside those of thrum_hint: a fiber that was woken, or whose deadline has passed. */
#define TH_HINT_READY (THRUM_HINT_YIELD + 1u)

/* Whether it comes before tasks that have not begun. */
static TH_INLINE_NO_TSAN bool th_is_ready(const th_work *work, unsigned hint) {
    return work->kind == TH_WORK_FIBER && hint != THRUM_HINT_YIELD;
}

/* The hint for work whose deadline has passed: fibers come before tasks that have not begun. */
static TH_INLINE_NO_TSAN unsigned th_due_hint(const th_work *work) {
    return work->kind == TH_WORK_FIBER ? TH_HINT_READY : THRUM_HINT_NONE;
}

/* From any other thread. */
void th_submit_external(thrum_sched *sched, th_work *work);

/* Submits a chain of work, all of it of normal priority and not pinned. */
void th_submit_chain(th_worker *worker, th_chain *chain); /* chain: the worker's `batch` */

/* Queues a call like a task that was just spawned. In the task's context. */
void th_call_submit(th_worker *worker, th_call *call);

#endif
