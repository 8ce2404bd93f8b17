/*
 * stalls.h: watching for stalls: workers that run one task for longer than `stall_ms`. A thread of
 * the scheduler's own, the *watcher*, looks at them, and reports each stall once. It rests while
 * all workers sleep. core/watch/STALLS.md has the argument. Without `stall_ms` there is none of
 * this.
 */
#ifndef TH_STALLS_H
#define TH_STALLS_H

#include "core/inspect/code_names.h"
#include "core/state/worker.h"

/* Before the workers' threads are started: takes memory, and the signal. False: no memory. */
bool th_stalls_make(thrum_sched *sched);
/* Behind them: starts the watcher. If the system refuses its thread, no stall is reported. */
void th_stalls_start(thrum_sched *sched);
/*
 * Before the workers' threads are ended: ends the watcher, and waits for that. If stderr has not
 * taken all of a report by the deadline, the rest is dropped.
 */
void th_stalls_stop(thrum_sched *sched, int64_t deadline);

/* A stall that was reported. */
typedef struct th_stalled {
    uint64_t number; /* from 1 on */
    int64_t since;   /* the time of the look that first saw the run */
    int64_t until;   /* the time of the last look that saw it */
    bool over;       /* the worker has picked since */
    bool waits;      /* its thread waited in a system call when it was reported */
    uint64_t tick;   /* the tick of the worker that the run began with */
    unsigned worker;
    uint64_t id; /* of the run */
    char name[THRUM_NAME_MAX + 1];
    char function[TH_CALL_TEXT]; /* the task's; empty: not known */
    char call[TH_CALL_TEXT];     /* the innermost place or call that is known, or empty */
} th_stalled;

#define TH_STALLED_MAX 8u /* so many of the latest are kept */

/* The latest stalls, the last one first, at most TH_STALLED_MAX; how many. Any thread. */
unsigned th_stalls_latest(thrum_sched *sched, th_stalled out[]);

/* When they are joined: frees the watcher's resources. */
void th_stalls_free(thrum_sched *sched);

#endif
