/*
 * worker_thread.h: a worker's thread: preparation, beginning and end.
 */
#ifndef TH_WORKER_THREAD_H
#define TH_WORKER_THREAD_H

#include "core/state/worker.h"

/* Fills in the zeroed worker; needs no memory. */
void th_worker_prepare(th_worker *worker, thrum_sched *sched, unsigned index);
/*
 * Makes its queues, its loop's fiber and a spare one. False: no memory; th_worker_free frees the
 * parts already made.
 */
bool th_worker_init(th_worker *worker);
/* Frees all that th_worker_init has made, except the fibers. */
void th_worker_free(th_worker *worker);

/* Starts the worker's thread in `main`, which gets the worker. 0, or the system's code. */
int th_worker_thread_start(th_worker *worker, void (*main)(void *worker));

/* The thread of a worker that runs tasks until the scheduler stops. */
void th_worker_main(void *worker);

#endif
