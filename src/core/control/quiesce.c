/*
 * quiesce.c: waiting until a scheduler is idle or done. core/ready/QUIESCENCE.md has the argument.
 */
#include "core/control/quiesce.h"

#include "core/control/on_thread.h"
#include "core/ready/external.h"
#include "core/ready/quiesce_sum.h"
#include "core/ready/waiter.h"
#include "core/wait/wait.h"
#include "core/bound/bound.h"
#include "platform/platform.h"

static void enlist(thrum_sched *sched, th_quiesce_waiter *waiter) {
    th_add_relaxed(&sched->xquiesce_waiters, 1u); /* relaxed: ordered by the fence */
    th_lock_acquire(&sched->quiesce_lock);
    waiter->next = sched->quiesce_waiters;
    sched->quiesce_waiters = waiter;
    th_lock_release(&sched->quiesce_lock);
    /* seq: announced before the sums are read; a worker parks, then looks for waiters (th_park) */
    th_fence_seq();
}

static void delist(thrum_sched *sched, th_quiesce_waiter *waiter) {
    th_lock_acquire(&sched->quiesce_lock);
    (void)TH_UNLINK(&sched->quiesce_waiters, waiter, next);
    th_lock_release(&sched->quiesce_lock);
    /* pairs: th_quiesce_wait_left; our last access to the scheduler */
    th_sub_release(&sched->xquiesce_waiters, 1u);
}

void th_quiesce_wait_left(thrum_sched *sched) {
    unsigned spins = 0;
    /* pairs: delist; each waiter's last access to the scheduler */
    while (th_load_acquire(&sched->xquiesce_waiters)) {
        th_backoff(&spins); /* nothing runs any longer, so they are on their way */
    }
}

static int wait_in_thread(thrum_sched *sched, thrum_time deadline, th_quiesce_what what) {
    uint32_t xflag = 0;
    th_quiesce_waiter waiter = {.what = what, .xflag = &xflag};
    int result = 0;
    enlist(sched, &waiter);
    /* relaxed: as in th_quiesce_notify */
    while (!th_load_relaxed(&xflag) && !th_quiesce_now(sched, what) && !result) {
        if (th_os_futex_wait(&xflag, 0, deadline) == -ETIMEDOUT) {
            result = -ETIMEDOUT;
        }
    }
    if (result && th_quiesce_now(sched, what)) {
        result = 0; /* one last look */
    }
    delist(sched, &waiter);
    if (result) {
        th_deadline_passed(deadline);
    }
    return result;
}

/* Waits on one of the scheduler's own bound threads: work tied to it runs meanwhile. */
static int wait_in_root(th_worker *worker, thrum_time deadline, th_quiesce_what what) {
    thrum_sched *sched = worker->sched;
    th_quiesce_waiter waiter = {.what = what, .bound = worker, .xflag = &worker->tie.xquiesced};
    th_store_relaxed(&worker->tie.xquiesced, 0u); /* relaxed: no other thread knows of it yet */
    th_bound_catch_up(worker); /* what is overdue is not asleep, and nobody else may fire it */
    enlist(sched, &waiter);
    int result = 0;
    if (!th_quiesce_now(sched, what)) {
        result = th_bound_await(worker, &worker->tie.xquiesced, deadline);
        result = result && th_quiesce_now(sched, what) ? 0 : result; /* one last look */
        if (result == -ETIMEDOUT) {
            th_deadline_passed(deadline);
        }
    }
    delist(sched, &waiter);
    return result;
}

typedef struct quiesce_call {
    thrum_sched *sched;
    thrum_time deadline;
    th_quiesce_what what;
} quiesce_call;

static int wait_for_fiber(void *arg) {
    const quiesce_call *call = arg;
    return wait_in_thread(call->sched, call->deadline, call->what);
}

/* Waits for a fiber of another scheduler. */
static int wait_in_fiber(thrum_sched *sched, thrum_time deadline, th_quiesce_what what) {
    quiesce_call call = {.sched = sched, .deadline = deadline, .what = what};
    return th_on_thread("thrum-wait", sched, wait_for_fiber, &call);
}

int th_quiesce_wait(thrum_sched *sched, thrum_time deadline, th_quiesce_what what) {
    if (!sched) {
        return -EINVAL;
    }
    if (th_unlikely(sched->abandoned)) {
        return -ESHUTDOWN;
    }
    if (what != TH_QUIESCE_NOW && th_acts_for(sched)) {
        /* The task that waits for the delegated call is not done. */
        return -EDEADLK;
    }
    th_worker *root = th_bound_root();
    if (thrum_sched_current() == sched) {
        return root ? wait_in_root(root, deadline, what) : -EDEADLK;
    }
    return th_fiber_self() ? wait_in_fiber(sched, deadline, what)
                           : wait_in_thread(sched, deadline, what);
}

static int wait_if_live(thrum_sched *sched, thrum_time deadline, th_quiesce_what what) {
    if (sched && !th_external_is_live(sched)) {
        return -ESHUTDOWN;
    }
    return th_quiesce_wait(sched, deadline, what);
}

int thrum_sched_wait_idle(thrum_sched *sched, thrum_time deadline) {
    return wait_if_live(sched, deadline, TH_QUIESCE_NOW);
}

int thrum_sched_wait_done(thrum_sched *sched, thrum_time deadline) {
    return wait_if_live(sched, deadline, TH_QUIESCE_DONE);
}
