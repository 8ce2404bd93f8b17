/*
 * run.h: the steps of running a task.
 */
#ifndef TH_RUN_H
#define TH_RUN_H

#include "core/state/fiber_state.h"
#include "core/state/handle.h"

/* Worker's context. */
void th_run(th_fiber *fiber, th_work *work);

/* Task's context: after the body, destructors included. */
void th_handle_finish(thrum_handle *handle, int result);

/* Task's context: the present run's values are dropped now, not at its end. */
void th_run_undo(void);

/* An intrusive task whose body posted it again while it ran. */
void th_task_repost(th_fiber *fiber);

#endif
