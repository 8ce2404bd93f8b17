/*
 * submit.h: how work reaches a queue, whoever has it.
 */
#ifndef TH_SUBMIT_H
#define TH_SUBMIT_H

#include "core/state/worker.h"
#include "thrum/task.h"

/* From a worker of this scheduler, in its context; pinned work goes to its inbox. Counts nothing.
 */
void th_submit(th_worker *worker, th_work *work, unsigned hint);

/* From anybody else. */
void th_submit_outside(thrum_sched *sched, th_work *work);

/* A chain of work none of which is pinned. */
void th_submit_chain(th_worker *worker, th_chain *chain); /* the worker's `batch` */
void th_submit_chain_outside(thrum_sched *sched, th_chain chain);

/* Task's context: queues a call, as a task that was just spawned. */
void th_call_submit(th_worker *worker, th_call *call);

#endif
