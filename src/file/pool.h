/*
 * pool.h: operations that threads make (pools/jobs.h), and the parts that rings share with them:
 * one lock, the waiting callers, and operations that they have given up.
 */
#ifndef TH_FILE_POOL_H
#define TH_FILE_POOL_H

#include "file/operation.h"

extern th_jobs th_file_jobs;

/*
 * Has a thread make the call unless it was asked for, and waits. 0: it is done; or the code that
 * has ended the wait: then it goes on, or is never begun.
 */
int th_file_pool_ask(th_operation *operation, thrum_time deadline);
/* Waits: 0, or the code that has ended the wait, or with which no call could be made. */
int th_file_pool_wait(th_operation *operation, th_waiter *me, thrum_time deadline);

/* Has a thread make an operation that nobody waits for; the caller keeps its reference. */
void th_file_pool_put(th_operation *operation);

#endif
