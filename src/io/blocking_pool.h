/*
 * blocking_pool.h: an elastic pool of threads that carry out calls which block.
 *
 *   job      one call, on the stack of the fiber that waits for it
 *   member   one thread of the pool: busy with a job, *idle* (asleep, it can be called), or
 * *looking* (it will look at the queue before it sleeps, leaves or does anything that blocks)
 *
 * Everything is protected by one lock, since a call costs far more than it. The rules:
 *
 *   1. A member becomes idle only with the lock held and the queue empty.
 *   2. Who queues a job calls a member only if the queue is then longer than there are members
 *      looking: an idle one, the last to have become idle first, else a new thread.
 *
 * So every queued job has a member that will look for it, or all members there may be are busy, and
 * look when they are done; and there is at most one futex wake a job, none while somebody is
 * about to look.
 */
#ifndef TH_BLOCKING_POOL_H
#define TH_BLOCKING_POOL_H

#include "base/cc.h"
#include "thrum/base.h"

typedef struct th_blocking_pool th_blocking_pool;

/* An empty pool, with the limits of the scheduler's config; NULL: no memory. */
th_blocking_pool *th_blocking_pool_new(thrum_sched *sched);

/*
 * Ends and joins all threads and frees the pool. Nobody may be in th_blocking_pool_run or call it
 * any more. Blocks the thread.
 */
void th_blocking_pool_free(th_blocking_pool *pool);

/*
 * Runs fn(arg) on a thread of the pool and waits for it; *result gets its value. Returns 0, or
 * -EAGAIN or -ENOMEM when there is no thread and none could be started; fn has not begun then.
 */
int th_blocking_pool_run(th_blocking_pool *pool, thrum_fn fn, void *arg, int *result);

/* For the metrics: jobs so far, threads at present. Any thread. */
uint64_t th_blocking_pool_calls(const th_blocking_pool *pool);
uint32_t th_blocking_pool_threads(const th_blocking_pool *pool);

#endif
