/*
 * await.c: see await.h. core/wait/WAITING.md, "Waits of tasks", has the argument.
 */
#include "core/task/await.h"

#include <errno.h>

#include "base/atomic.h"
#include "core/state/thread.h"
#include "core/state/worker.h"
#include "core/task/task.h"
#include "platform/platform.h"
#include "thrum/sched.h"

/*
 * In place of a release (th_waiter_release): once the body can see the signal nothing touches the
 * task, nor the waiter. So it is the waker's last access, and the waiter is not released.
 */
static bool tell(void *task, th_waiter *waiter) {
    (void)waiter;
    thrum_task_signal(task);
    return false;
}

/* The waiter was claimed by a waker, which is between that and the signal. The wait's status. */
static int got_from_waker(th_await *me) {
    thrum_task *task = me->waiter.object;
    unsigned spins = 0;
    while (!thrum_task_receive_signal(task)) {
        th_backoff(&spins);
    }
    if (me->kind->got) {
        me->kind->got(me->object, &me->waiter);
    }
    return me->status;
}

/* The waiter was claimed by its own side. False: the awaited event has happened all the same. */
static bool leaves(th_await *me) {
    /*
     * A task ends once, and a barrier opens for all its waiters, including late ones; other objects
     * were given to another waiter.
     */
    return me->kind->leave(me->object, &me->waiter) || !th_on_is_for_all(me->kind->on);
}

int th_await_init(thrum_await *await, thrum_task *task, const th_wait_kind *kind, void *object) {
    if (!await || !task || th_task_is_serial(task)) {
        return -EINVAL;
    }
    if (!thrum_sched_current()) {
        return th_thread_refusal();
    }
    /* relaxed: best effort, as for any post */
    if (th_task_is_posted(th_load_relaxed(&task->reserved_mark)) || th_task_is_running_here(task)) {
        return -EBUSY;
    }
    *th_await_of(await) = (th_await){
        .waiter = {.timed = true,
                   .on = (uint8_t)kind->on,
                   .deadline = TH_FOREVER,
                   .leave = tell,
                   .object = task},
        .object = object,
        .kind = kind,
    };
    return 0;
}

int th_await_post(thrum_await *await, thrum_time deadline) {
    th_await *me = th_await_of(await);
    thrum_task *task = me->waiter.object;
    int code = thrum_task_post_until(thrum_sched_current(), task, deadline);
    if (!code) {
        return 0; /* from here on the task and the wait may be gone */
    }
    if (!th_waiter_claim(&me->waiter, TH_WAIT_CANCELLED)) {
        code = got_from_waker(me);
        return code ? code : 1;
    }
    return leaves(me) ? code : 1;
}

int th_await_standing(thrum_await *await, thrum_time deadline) {
    th_await *me = th_await_of(await);
    const th_wait_kind *kind = me->kind;
    int code = kind->stand(me->object, &me->waiter, th_is_late(deadline));
    if (code) {
        return code;
    }
    if (kind->locked) {
        th_waiter_give_up(me->object, kind->unlocked, kind->locked > sizeof(uint32_t));
    }
    return th_await_post(await, deadline);
}

int th_await_on(const th_wait_kind *kind, void *object, thrum_await *await, thrum_task *task,
                thrum_time deadline) {
    int code = th_await_init(await, task, kind, object);
    return code ? code : th_await_standing(await, deadline);
}

int thrum_await_end(thrum_await *await) {
    th_await *me = th_await_of(await);
    thrum_task *task = me->waiter.object;
    const bool cancelled = thrum_task_is_cancelled(task);
    if (!th_waiter_claim(&me->waiter, cancelled ? TH_WAIT_CANCELLED : TH_WAIT_TIMEDOUT)) {
        return got_from_waker(me);
    }
    if (!leaves(me)) {
        return 0;
    }
    return cancelled ? -ECANCELED : thrum_task_is_expired(task) ? -ETIMEDOUT : -EAGAIN;
}
