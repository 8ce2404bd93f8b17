/*
 * gauges.h: the present numbers of a scheduler: queued, alive, waited for. Nothing is counted for
 * these figures while tasks run: they are sums of existing counters and sizes, each as of some
 * recent moment.
 */
#ifndef TH_GAUGES_H
#define TH_GAUGES_H

#include <stdint.h>

#include "core/basis/counters.h"

typedef struct th_worker th_worker;
typedef struct thrum_sched thrum_sched;

typedef struct th_gauges {
    uint64_t alive; /* tasks that were posted or spawned, and have not ended */
    uint64_t
        runnable; /* tasks and fibers that are queued or run, and sources with something to do */
    uint64_t deferred; /* tasks that wait for a stack */
    uint64_t timers;   /* tasks and waits that have a deadline */
    uint64_t stacks;
    uint64_t stack_bytes; /* the address space of these */
    /* For how long at least, in nanoseconds (tick_marks.h). */
    uint64_t queued_oldest_ns; /* how long queued work has waited */
    uint64_t running_ns;       /* a task that runs now has run */
    uint64_t longest_run_ns;   /* any task was seen to run */
} th_gauges;

/* Takes locks of the process and of the scheduler, each for a moment. Any thread, on any stack. */
void th_gauges_take(thrum_sched *sched, th_gauges *out);

/* The last three of one worker or bound thread; the others are 0. */
void th_gauges_take_worker(const th_worker *worker, int64_t now, th_gauges *out);

/* The amount of work queued at the worker, without pinned work: a guess. */
uint64_t th_gauges_queued_at(const th_worker *worker);

/* Adds the counts of external threads, and of present and former bound threads. The same locks. */
void th_gauges_add_threads(thrum_sched *sched, th_counters *sum);

#endif
