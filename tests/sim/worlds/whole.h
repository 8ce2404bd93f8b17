/*
 * whole.h: what worlds with a scheduler share: starting it small, stopping it, and the look at it
 * when all threads sleep.
 *
 * A *bare* scheduler is the real one without stacks: its workers are plain threads that find work
 * and run it, so no task may suspend in it. It is stopped like any other, and several times as
 * fast.
 */
#ifndef WHOLE_H
#define WHOLE_H

#include <thrum.h>

#include "sim.h"

/* Small rings and stacks; the rest as the library has it. */
thrum_config whole_config(unsigned workers);

/* Starts it, for tasks that suspend; or bare. Nothing is refused then. whole_asleep looks at it. */
thrum_sched *whole_start(const thrum_config *config);
thrum_sched *whole_start_bare(const thrum_config *config);
extern bool whole_afences_shut; /* the next bare one: as where the system has no barrier */
/* Stops it; that must succeed. */
void whole_stop(thrum_sched *sched);
/* It has been stopped by somebody else. */
void whole_forget(const thrum_sched *sched);

/*
 * The hook. When all threads sleep (and no task blocks its thread) a scheduler must be at rest:
 * all workers parked and not claimed, nobody searching, nothing queued anywhere, every begin with
 * its end, nobody waiting for idleness that is there. Promise 1 of PARKING.md, and then some: if
 * all sleep there is nobody awake whom a single work could belong to.
 * Not so while a worker backs off, or tasks wait for stacks: those have timers of their own.
 */
void whole_asleep(void);

/*
 * The same for worlds in which tasks block their thread: only what promise 1 says, of the workers
 * that are parked: nothing in the inject queue, nor in the inbox of one that is parked, nor two in
 * a ring, nor, of fifo, one whose deadline has passed, nor two of the others.
 */
void whole_asleep_shared(void);

/* Only of the inject queue, but also while workers back off. */
void whole_asleep_inject(void);

/* ---- tasks that count ---- */

#define WHOLE_TASKS 8
extern thrum_task whole_tasks[WHOLE_TASKS];
extern unsigned whole_ran[WHOLE_TASKS]; /* plain: whoever reads it must be ordered */

/* Adds one to its place in whole_ran. */
void whole_count(thrum_task *self, void *arg);
unsigned whole_number(const thrum_task *task);
/* Makes task i and posts it; the post must succeed. */
void whole_post(thrum_sched *sched, unsigned i, thrum_task_fn fn, void *arg);
/* Tasks from .. to - 1 ran exactly once. */
void whole_ran_once(unsigned from, unsigned to);

/* Sleeps, the thread and all, until somebody has called whole_open. That orders nothing else. */
typedef struct whole_afence {
    uint32_t xopen;
} whole_afence;
void whole_open(whole_afence *gate);
void whole_pass(whole_afence *gate);

#endif
