/*
 * settle.c: see settle.h.
 */
#include "core/control/settle.h"

#include "core/control/cancel_all.h"
#include "core/control/on_thread.h"
#include "core/control/quiesce.h"
#include "core/ready/external.h"
#include "core/ready/waiter.h"
#include "core/task/task.h"
#include "core/wait/wait.h"
#include "core/bound/bound.h"
#include "platform/platform.h"
#include "thrum/sched.h"

/*
 * Waits until nothing is left. Tasks that only wait for a wakeup are cancelled once nothing is left
 * that could wake them.
 */
static int drain(thrum_sched *sched, thrum_time deadline) {
    unsigned spins = 0;
    for (;;) {
        int result = th_quiesce_wait(sched, deadline, TH_QUIESCE_QUIET);
        if (result || th_quiesce_now(sched, TH_QUIESCE_DONE)) {
            return result;
        }
        th_timers_cancel(sched, false);
        th_backoff(&spins); /* a task that cannot be cancelled: its waker is about to queue it */
    }
}

/*
 * Without workers a thread must be bound to run the remaining work. When all is done nothing new
 * comes, so none is bound: there may be no memory for it.
 */
static int enter_if_left(thrum_sched *sched) {
    return th_quiesce_now(sched, TH_QUIESCE_DONE) ? 0 : th_bound_enter(sched);
}

/*
 * Waits until every other thread has unbound and nothing is left; past the deadline the rest is
 * cancelled. Called on a plain thread, or on a thread bound to the scheduler, which is unbound when
 * nothing is left.
 */
static int settle_here(thrum_sched *sched, thrum_time deadline) {
    bool none = !sched->workers_count && !th_bound_root(); /* no thread is there to run it */
    /* A thread that is bound by now may wait for work left by an earlier stop. */
    int result = none && th_bound_has_unfinished(sched) ? enter_if_left(sched) : 0;
    result = result ? result : th_bound_wait_left(sched, deadline);
    th_external_wait_left(sched); /* afterwards all that they posted is counted */
    if (!result && none && !th_bound_root()) {
        result = enter_if_left(sched);
    }
    bool enter = none && th_bound_root();
    result = result ? result : drain(sched, deadline);
    if (result == -ETIMEDOUT) {
        th_cancel_all(sched);
    }
    th_worker *root = th_bound_root();
    if (enter && result == -ETIMEDOUT) {
        th_bound_leave_unfinished(root);
    } else if (root && (enter || !result)) {
        th_bound_leave(root);
    }
    return result;
}

typedef struct settle_call {
    thrum_sched *sched;
    thrum_time deadline;
} settle_call;

static int settle_for_fiber(void *arg) {
    const settle_call *call = arg;
    return settle_here(call->sched, call->deadline);
}

int th_settle(thrum_sched *sched, thrum_time deadline) {
    if (!th_fiber_self() || thrum_sched_current() == sched) {
        return settle_here(sched, deadline);
    }
    settle_call call = {.sched = sched, .deadline = deadline}; /* a fiber of another scheduler's */
    return th_on_thread("thrum-stop", sched, settle_for_fiber, &call);
}
