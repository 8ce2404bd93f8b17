/*
 * settle.c: see settle.h.
 */
#include "core/control/settle.h"

#include "core/worker/bound.h"
#include "core/control/cancel_all.h"
#include "core/control/idle.h"
#include "core/ready/outside.h"
#include "core/task/task.h"
#include "core/wait/wait.h"
#include "core/ready/waiter.h"
#include "platform/platform.h"
#include "thrum/sched.h"

/*
 * Until nothing is left: what only waits for a wakeup is cancelled once nothing else is there that
 * could wake it.
 */
static int drain(thrum_sched *sched, thrum_time deadline) {
    unsigned spins = 0;
    for (;;) {
        int result = th_idle_wait(sched, deadline, TH_IDLE_QUIET);
        if (result || th_idle_now(sched, TH_IDLE_DONE)) {
            return result;
        }
        th_tasks_cancel(sched);
        th_backoff(&spins); /* one that is not ours to cancel: its waker is about to queue it */
    }
}

/*
 * Without workers somebody must run what is left. When all is done nothing new comes: it may be
 * that there is no memory to run it with.
 */
static int enter_if_left(thrum_sched *sched) {
    return th_idle_now(sched, TH_IDLE_DONE) ? 0 : th_bound_enter(sched);
}

/*
 * Until every other thread has unbound and nothing is left; past the deadline the rest is
 * cancelled. On a plain thread, or one that is bound to it; that is unbound when nothing is left.
 */
static int settle_here(thrum_sched *sched, thrum_time deadline) {
    bool none = !sched->workers_count && !th_bound_root(); /* nobody is there to run it */
    /* What a stop before has left may be what a thread waits for that is bound by now. */
    int result = none && th_bound_has_unfinished(sched) ? enter_if_left(sched) : 0;
    result = result ? result : th_bound_wait_left(sched, deadline);
    th_outside_wait_left(sched); /* what they posted is counted */
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

/* For a fiber of another scheduler a thread does it. */
typedef struct settle_call {
    thrum_sched *sched;
    thrum_time deadline;
    int result;
    th_waiter waiter;
} settle_call;

static void settle_for_fiber(void *arg) {
    settle_call *call = arg;
    call->result = settle_here(call->sched, call->deadline);
    th_waiter_wake(&call->waiter);
}

int th_settle(thrum_sched *sched, thrum_time deadline) {
    if (!th_fiber_self() || thrum_sched_current() == sched) {
        return settle_here(sched, deadline);
    }
    settle_call call = {.sched = sched, .deadline = deadline};
    th_waiter_init(&call.waiter, TH_ON_SCHED, sched);
    th_os_thread thread;
    int failed = th_os_thread_start(&thread, "thrum-stop", settle_for_fiber, &call);
    if (failed) {
        return failed;
    }
    th_waiter_wait(&call.waiter);
    th_os_thread_join(thread); /* it has nothing more to do */
    return call.result;
}
