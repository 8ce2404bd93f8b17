/*
 * bench.h: spare workers: on the bench, as the lookout, and while they stand in for workers that
 * are held up. core/worker/STANDIN.md has the argument.
 */
#ifndef TH_BENCH_H
#define TH_BENCH_H

#include "core/state/worker.h"

/* A spare's next work; it goes to the bench when it is not wanted. NULL: the worker shall leave. */
th_work *th_bench_find(th_worker *spare);

/* Starts the first spare, which is the lookout. If the system refuses it, there is none. */
void th_bench_start(thrum_sched *sched);
/* From now on no more are started, and none looks; returns how many have been started. */
unsigned th_bench_close(thrum_sched *sched);

#endif
