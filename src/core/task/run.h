/*
 * run.h: the steps of running a task.
 */
#ifndef TH_RUN_H
#define TH_RUN_H

#include "core/state/fiber_state.h"
#include "core/state/handle.h"

/* Runs one task on the fiber. Worker's context. */
void th_run(th_fiber *fiber, th_work *work);

/* Ends a spawned task, after its body and its destructors. Task's context. */
void th_handle_finish(thrum_handle *handle, int result);

/*
 * Reports name this function for the present run from now on, in place of the library's own, with
 * which the run began and which calls it. Task's context, before the run waits.
 */
void th_run_shows(uintptr_t fn);

/* Drops the present run's values now, not at its end. Task's context. */
void th_run_undo(void);

/* Queues an intrusive task whose body posted it again while it ran; ends a serial task's run. */
void th_task_repost(th_fiber *fiber);

#endif
