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

/* From any other thread. */
void th_submit_external(thrum_sched *sched, th_work *work);

/* Submits a chain of work none of which is pinned. */
void th_submit_chain(th_worker *worker, th_chain *chain); /* chain: the worker's `batch` */

/* Queues a call like a task that was just spawned. In the task's context. */
void th_call_submit(th_worker *worker, th_call *call);

#endif
