/*
 * blocking_pool.h: an elastic pool of threads that carry out calls which block.
 *
 *   job      one call, on the stack of the fiber that waits for it
 *   member   one thread of the pool: busy with a job, *idle* (asleep, and it can be called), or
 *            *looking* (it will look at the queue before it sleeps, leaves or does anything that
 *            blocks; one that has found nothing goes on with it for a moment, idle_spin.h)
 *
 * Everything is protected by one lock, since a call costs far more than the lock. The rules:
 *
 *   1. A member becomes idle only with the lock held and the queue empty.
 *   2. A caller that queues a job calls a member only if the queue is then longer than the number
 *      of members that are looking: the member that became idle last, or else a new thread.
 *   3. If that thread is refused, the newest job, for which no member is looking, is dequeued. Its
 *      caller waits for a member to come free, but gives up if no job begins for
 *      `th_blocking_patience`: all busy members may be waiting for what this very job would do.
 *
 * So every queued job has a member that will look for it, or the pool has as many members as it
 * may, all of them busy, and they look when they are done. There is at most one futex wake for a
 * job, and none while enough members are about to look.
 */
#ifndef TH_BLOCKING_POOL_H
#define TH_BLOCKING_POOL_H

#include "base/cc.h"
#include "thrum/base.h"

typedef struct th_blocking_pool th_blocking_pool;

/* An empty pool, with the limits of the scheduler's config; NULL: no memory. */
th_blocking_pool *th_blocking_pool_new(thrum_sched *sched);

/*
 * Ends and joins all threads, and frees the pool. No thread may be in th_blocking_pool_run, or call
 * it, any more. Blocks the thread.
 */
void th_blocking_pool_free(th_blocking_pool *pool);

/*
 * Runs fn(arg) on a thread of the pool and waits for it; *result gets its value. Returns 0, or
 * -EAGAIN or -ENOMEM, fn not begun: no thread could be started, and there is none, or no job has
 * begun for th_blocking_patience.
 */
int th_blocking_pool_run(th_blocking_pool *pool, thrum_fn fn, void *arg, int *result);
extern int64_t th_blocking_patience; /* 100 ms; tests change it */

/* For the metrics, from any thread: the number of jobs so far, and of threads at present. */
uint64_t th_blocking_pool_calls(const th_blocking_pool *pool);
uint32_t th_blocking_pool_threads(const th_blocking_pool *pool);
/* Likewise: how many jobs wait for a thread, and how many have begun and not ended. */
void th_blocking_pool_load(th_blocking_pool *pool, uint32_t *queued, uint32_t *running);

#endif
