/*
 * tick_marks.h: at what times a worker had picked how often, so that the age of a wait can be
 * derived from the tick at which it began (fiber_state.h), and no wait has to read a clock.
 *
 * Each thread that looks at workers anyway, with a clock in hand, makes a mark: the sentinel in its
 * rounds, the monitor, the watcher for stalls, the thread that answers thrum-top, and each
 * snapshot. A wait that began at tick t began before the first mark with a later tick, or with the
 * same one and a worker that had gone to sleep since: reports show that as "for at least". A worker
 * that has slept or searched picks before it runs anything, even if the sentinel hands it work
 * (sentinel.c), it has stolen it (find.c), or a spare takes over work left by others (spares.c).
 *
 * The same marks show how long a task has run, since a worker that has not picked is in it, and how
 * long the first of a worker's queue has waited: it was there at the first mark with a later end of
 * the queue.
 *
 * There is room for TH_TICK_MARKS: enough older ones are dropped that the gap before a mark is
 * about the same part of its age, an eighth after a day.
 */
#ifndef TH_TICK_MARKS_H
#define TH_TICK_MARKS_H

#include "core/state/worker.h"

/* Makes a mark of each worker, unless nothing has changed there. Any thread. */
void th_tick_marks_note(thrum_sched *sched, int64_t now);

/* The same, and of each bound thread; takes their lock for a moment. */
void th_tick_marks_note_all(thrum_sched *sched, int64_t now);

/*
 * For how long at least: the task that runs on the worker now has run, the longest seen so far has,
 * the first work queued at the worker, or in the inject queue, has waited. 0: not known, or there
 * is none. A yield that finds nothing else to run does not end a run. Any thread.
 */
int64_t th_tick_marks_running(const th_worker *worker, int64_t now);
int64_t th_tick_marks_longest(const th_worker *worker);
int64_t th_tick_marks_queued(const th_worker *worker, int64_t now);
int64_t th_tick_marks_injected(const thrum_sched *sched, int64_t now);

/* A time before which a wait began that the worker's tick `tick` saw begin; 0: not known. */
int64_t th_tick_marks_since(const th_worker *worker, uint64_t tick);

#endif
