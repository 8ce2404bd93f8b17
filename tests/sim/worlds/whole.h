/*
 * whole.h: shared by worlds with a scheduler: starting it small, stopping it, and the check of it
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

/* Small rings and stacks; the rest is the library's default. */
thrum_config whole_config(unsigned workers);

/* Starts it, for tasks that suspend; or bare. Nothing is refused then. whole_asleep checks it. */
thrum_sched *whole_start(const thrum_config *config);
thrum_sched *whole_start_bare(const thrum_config *config);
extern bool whole_afences_shut; /* the next bare one starts as where the system has no barrier */
/* For worlds about deadlocks: with a hook that gets the reports, and one thread for calls. */
thrum_sched *whole_start_told(unsigned workers, void (*deadlock)(void *ctx, const char *report));
/* Stops it; that must succeed. */
void whole_stop(thrum_sched *sched);
/* For a scheduler that another thread has stopped. */
void whole_forget(const thrum_sched *sched);

/*
 * The hook. When all threads sleep (and no task blocks its thread) a scheduler must be at rest: all
 * workers parked and not notified, none searching, nothing queued anywhere, every begin with its
 * end, no thread waiting for idleness that is there. This is promise 1 of PARKING.md and more: if
 * all sleep no worker is awake to which a single work could belong.
 *
 * It does not hold while a worker backs off, or tasks wait for stacks: those have timers of their
 * own.
 */
void whole_asleep(void);

/*
 * The same for worlds in which tasks block their thread. It checks only promise 1, for parked
 * workers: nothing in the inject queue, nor in the inbox of one that is parked, nor two in a ring,
 * nor, of fifo, one whose deadline has passed, nor two of the others.
 */
void whole_asleep_shared(void);

/* For such a hook: until when a worker that is parked sleeps, in its set or on its word. */
typedef struct th_worker th_worker;
int64_t whole_sleeps_until(const th_worker *worker);

/* Checks only the inject queue, but also while workers back off. */
void whole_asleep_inject(void);

/* ---- tasks that count ---- */

#define WHOLE_TASKS 8
extern thrum_task whole_tasks[WHOLE_TASKS];
extern unsigned whole_ran[WHOLE_TASKS]; /* plain: its readers must be ordered */

/* Adds one to its place in whole_ran. */
void whole_count(thrum_task *self, void *arg);
unsigned whole_number(const thrum_task *task);
/* Makes task i and posts it; the post must succeed. */
void whole_post(thrum_sched *sched, unsigned i, thrum_task_fn fn, void *arg);
/* Tasks from .. to - 1 ran exactly once. */
void whole_ran_once(unsigned from, unsigned to);

/* Sleeps, with its thread, until whole_open was called. That orders nothing else. */
typedef struct whole_gate {
    uint32_t xopen;
} whole_gate;
void whole_open(whole_gate *gate);
void whole_pass(whole_gate *gate);

#endif
