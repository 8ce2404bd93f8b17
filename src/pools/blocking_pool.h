/*
 * blocking_pool.h: a scheduler's pool of threads that carry out calls which block (blocking.c), as
 * thrum_blocking and the tests use it.
 */
#ifndef TH_BLOCKING_POOL_H
#define TH_BLOCKING_POOL_H

#include "base/cc.h"
#include "thrum/base.h"

typedef struct th_blocking_pool th_blocking_pool;

/* An empty pool, with the limits of the scheduler's config; NULL: no memory. */
void *th_blocking_pool_new(thrum_sched *sched);

/*
 * Ends and joins all threads, and frees the pool. No thread may be in th_blocking_pool_run, or call
 * it, any longer. Blocks the thread.
 */
void th_blocking_pool_free(void *pool);

/*
 * Runs fn(arg) on a thread of the pool and waits for it; *result gets its value. Returns 0, or
 * -EAGAIN or -ENOMEM, fn not begun: no thread could be started, and there is none, or no job has
 * begun for th_blocking_patience.
 */
int th_blocking_pool_run(th_blocking_pool *pool, thrum_fn fn, void *arg, int *result);
extern int64_t th_blocking_patience; /* 100 ms; tests change it */

#endif
