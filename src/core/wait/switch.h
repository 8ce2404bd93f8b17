/*
 * switch.h: switching from one fiber to another, and the commit, which is the work left to do for
 * the previous fiber.
 */
#ifndef TH_SWITCH_H
#define TH_SWITCH_H

#include "core/state/fiber_state.h"
#include "core/state/worker.h"

/*
 * Gives the worker up until something makes this fiber ready (core/wait/WAITING.md). Returns on
 * whichever worker resumed it: fiber->worker. Worker's context.
 */
void th_suspend(th_fiber *fiber, th_commit_kind commit, void *arg);

/*
 * The same in the task's context, which keeps its errno. Not shown to the thread sanitizer: the
 * fiber comes back on another worker's context.
 */
static TH_INLINE_NO_TSAN void th_suspend_task(th_fiber *fiber, th_commit_kind commit, void *arg) {
    int saved = *fiber->worker->errno_at;
    th_enter(fiber->worker);
    th_suspend(fiber, commit, arg);
    th_leave(fiber->worker);
    *fiber->worker->errno_at = saved;
}

/* Switches from the running fiber to another; the commit is set already. Worker's context. */
void th_switch_to(th_worker *worker, th_fiber *from, th_fiber *to);

/* Called first after arriving on a stack. */
void th_commit(th_worker *worker);

/* Called first by a fresh fiber, as if it came back from a switch. */
void th_fiber_begins(th_fiber *fiber);

#endif
