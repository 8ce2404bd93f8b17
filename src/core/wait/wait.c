/*
 * wait.c: the only place where a fiber or thread suspends for another. core/wait/WAITING.md has the
 * states, the three cases of a wake, and why the woken side may free the primitive.
 */
#include "core/wait/wait.h"

#include <errno.h>

#include "base/annotate.h"
#include "base/atomic.h"
#include "base/check.h"
#include "base/usdt.h"
#include "core/due/fork_slots.h"
#include "core/ready/submit.h"
#include "core/due/timer.h"
#include "core/state/worker.h"
#include "core/wait/cancel.h"
#include "core/wait/delegated.h"
#include "core/wait/switch.h"

static bool released(th_waiter *waiter) {
    /* pairs: th_waiter_wake, th_waiter_release; the waker's writes */
    return (th_load_acquire(&waiter->xword) & TH_WAIT_RELEASED) != 0;
}

static uint32_t outcome_of(const th_waiter *waiter) {
    /*
     * relaxed: it is decided; a waker that was too late may add LEFT at this moment
     * (th_waiter_missed)
     */
    return th_load_relaxed(&waiter->xword) & TH_WAIT_OUTCOME;
}

/* The acquire in `released` is shown to the thread sanitizer, in the fiber's own context. */
static TH_NO_TSAN void wait_in_fiber(th_fiber *fiber, th_waiter *waiter) {
    if (th_unlikely(th_forks_any(&fiber->worker->forks))) {
        th_forks_give_all(fiber->worker);
    }
    TH_USDT2(wait, fiber, waiter);
    th_suspend_task(fiber, TH_COMMIT_WAIT, waiter);
}

void th_waiter_show(const th_waiter *waiter) {
    uint64_t shown =
        waiter ? (uint64_t)waiter->on << TH_SHOWN_SHIFT | (uintptr_t)waiter->object : 0;
    if (waiter && th_on_is_descriptor((th_on)waiter->on)) {
        /* relaxed: as below; a value that does not match the other word is detected */
        th_store_relaxed(&th_thread_self()->xwaits_turn, waiter->turn);
    }
    if (waiter) {
        uint64_t *count = &th_thread_self()->xwaits_count;
        th_store_relaxed(count, *count + 1); /* relaxed: comes with the next */
    }
    /* pairs: th_edge_see_thread; the waiter is made, and an earlier one's is no longer shown */
    th_store_release(&th_thread_self()->xwaits, shown);
    /* pairs: waits_for_wake; the waiter is made */
    th_store_release(&th_thread_self()->xwaiter, waiter);
}

/* An inspector that has found the wait may still be reading the object. */
static void show_no_more(const th_waiter *waiter) {
    th_waiter_show(NULL);
    if (th_on_has_owner((th_on)waiter->on)) {
        th_cancel_pass();
    }
}

static void wait_in_thread(th_waiter *waiter) {
    uint32_t word = 0;
    /* relaxed: nothing to publish, PARKED only asks for the futex call */
    if (th_cas_relaxed(&waiter->xword, &word, TH_WAIT_PARKED)) {
        while (!released(waiter)) {
            /* relaxed: the kernel compares again */
            uint32_t now = th_load_relaxed(&waiter->xword);
            if (!(now & TH_WAIT_RELEASED)) {
                th_os_futex_wait(&waiter->xword, now, TH_FOREVER);
            }
        }
        return;
    }
    /* The waiter is claimed: another thread decides already, and its release is a moment away. */
    unsigned spins = 0;
    while (!released(waiter)) {
        th_backoff(&spins);
    }
}

bool th_waits_alone(void) {
    return th_thread_self()->alone;
}

/* The name of the waiting call, for waits that nothing but a wake ends. */
static const char *call_of(unsigned on) {
    return on == TH_ON_MUTEX   ? "thrum_mutex_lock"
           : on == TH_ON_READ  ? "thrum_rwlock_rdlock"
           : on == TH_ON_WRITE ? "thrum_rwlock_wrlock"
           : on == TH_ON_FORK  ? "thrum_fork_join"
                               : "wait";
}

/*
 * In the child of a fork, a thread that was doing the parent's work has no other thread that could
 * wake it. The wait ends as if it were cancelled; a wait that cannot report this ends the process.
 */
static TH_COLD void end_alone(th_waiter *waiter) {
    if (waiter->timed) {
        if (th_waiter_claim(waiter, TH_WAIT_CANCELLED)) {
            /* relaxed: as in give_up_waiting */
            th_or_relaxed(&waiter->xword, TH_WAIT_RELEASED);
            return;
        }
    } else if (!waiter->leave) {
        th_misuse(call_of(waiter->on), "it would wait for ever: the child of a fork has no workers",
                  waiter->object);
    } else if (waiter->leave(waiter->object, waiter)) {
        th_waiter_release_cancelled(waiter);
        return;
    }
    wait_in_thread(waiter); /* another thread of the child has just ended it */
}

uint32_t th_waiter_wait(th_waiter *waiter) {
    if (!released(waiter)) {
        if (waiter->fiber) {
            if (!th_cancel_begin(waiter->fiber, waiter)) {
                wait_in_fiber(waiter->fiber, waiter);
            }
            th_cancel_end(waiter->fiber);
        } else if (th_unlikely(th_waits_alone())) {
            end_alone(waiter);
        } else {
            th_waiter_show(waiter);
            wait_in_thread(waiter);
            show_no_more(waiter);
        }
        th_check(released(waiter));
    }
    return outcome_of(waiter);
}

/* ---- waiting until a deadline ---- */

/* The time is out: true if nothing else came first. Called by the waiting thread itself. */
static bool give_up_waiting(th_waiter *waiter) {
    if (!th_waiter_claim(waiter, TH_WAIT_TIMEDOUT)) {
        return false;
    }
    /* relaxed: nothing to publish, it is our own; a waker that comes too late may add its bit */
    th_or_relaxed(&waiter->xword, TH_WAIT_RELEASED);
    return true;
}

static void wait_in_thread_until(th_waiter *waiter, int64_t deadline) {
    uint32_t word = 0;
    unsigned spins = 0;
    /* relaxed: nothing to publish, PARKED only asks for the futex call */
    bool parked = th_cas_relaxed(&waiter->xword, &word, TH_WAIT_PARKED);
    while (!released(waiter)) {
        /* relaxed: the kernel compares again */
        uint32_t now = th_load_relaxed(&waiter->xword);
        if (now & TH_WAIT_RELEASED) {
            continue;
        }
        if (!parked || (now & TH_WAIT_OUTCOME)) {
            th_backoff(&spins); /* claimed: its release is a moment away */
        } else if (th_os_futex_wait(&waiter->xword, now, deadline) == -ETIMEDOUT) {
            (void)give_up_waiting(waiter);
        }
    }
}

static void wait_in_fiber_until(th_fiber *fiber, th_waiter *waiter, int64_t deadline) {
    /* The record is apart from the fiber's frames: timers read it while those are cold. */
    th_timed *timed = fiber->stack.record;
    th_tsan_acquire(timed); /* the fiber that had the stack before: th_fiber_free */
    *timed = (th_timed){.kind = TH_WORK_WAIT, .worker = -1, .of = {waiter, fiber}};
    waiter->deadline = deadline;
    th_timers *timers = th_timers_of(fiber->sched, fiber->worker);
    th_lock_acquire(&timers->lock);
    bool tell = th_timers_insert(timers, timed, deadline);
    th_lock_release(&timers->lock);
    if (tell) {
        th_timers_tell(timers);
    }
    if (!th_cancel_begin(fiber, waiter)) {
        wait_in_fiber(fiber, waiter);
    }
    th_cancel_end(fiber);
    /* Before the outcome: the committer did not acquire it for this fiber. */
    th_check(released(waiter));
    if (outcome_of(waiter) != TH_WAIT_TIMEDOUT) {
        th_timed_remove(timed);
    }
}

uint32_t th_waiter_wait_until(th_waiter *waiter, int64_t deadline) {
    if (deadline == TH_FOREVER) {
        return th_waiter_wait(waiter);
    }
    if (released(waiter)) {
        return outcome_of(waiter);
    }
    if (th_is_late(deadline) && give_up_waiting(waiter)) {
        return TH_WAIT_TIMEDOUT;
    }
    if (waiter->fiber) {
        wait_in_fiber_until(waiter->fiber, waiter, deadline);
    } else if (th_unlikely(th_waits_alone())) {
        end_alone(waiter);
    } else {
        waiter->deadline = deadline;
        th_waiter_show(waiter);
        wait_in_thread_until(waiter, deadline);
        show_no_more(waiter);
    }
    th_check(released(waiter));
    return outcome_of(waiter);
}

/* A plain thread's wait is cancelled only in the child of a fork (end_alone). */
static TH_COLD int cancelled_result(void) {
    return th_fiber_self() ? -ECANCELED : -ESHUTDOWN;
}

int th_waiter_result(uint32_t outcome) {
    return outcome == TH_WAIT_WOKEN      ? 0
           : outcome == TH_WAIT_TIMEDOUT ? -ETIMEDOUT
                                         : cancelled_result();
}

/* ---- waiting with the list locked ---- */

uint32_t th_waiter_wait_unlock(th_waiter *waiter, void *xword, uint64_t unlocked, bool wide) {
    /*
     * A thread gives the lock up and then sleeps. A fiber does the same in three cases. Under the
     * thread sanitizer, the worker would give the lock up with everything that the worker knows. If
     * the fiber has forks, giving them takes long. The third case is a delegated call that is not
     * listed yet.
     */
    th_fiber *fiber = waiter->fiber;
    if (!fiber || TH_TSAN_CONTEXTS || th_forks_any(&fiber->worker->forks) ||
        th_delegated_is_unlisted(fiber)) {
        th_waiter_give_up(xword, unlocked, wide);
        return th_waiter_wait(waiter);
    }
    /* A canceller finds the lock taken until the waiter is parked. */
    th_cancel_show(fiber, waiter);
    if (th_unlikely(th_cancel_is_on(fiber)) && th_cancel_can(waiter)) {
        th_waiter_give_up(xword, unlocked, wide);
        uint32_t outcome = th_waiter_wait(waiter);
        th_cancel_end(fiber); /* it may have been released before th_waiter_wait looked */
        return outcome;
    }
    th_unlock_commit commit = {waiter, xword, unlocked, wide};
    TH_USDT2(wait, fiber, waiter);
    th_suspend_task(fiber, TH_COMMIT_UNLOCK, &commit);
    th_check(released(waiter));
    th_cancel_end(fiber);
    return outcome_of(waiter);
}

/* ---- the rest ---- */

void th_waiter_init(th_waiter *waiter, th_on on, void *object) {
    th_fiber *fiber = th_fiber_self();
    /* Field by field: next, prev and since_ns belong to the list and its primitive. */
    waiter->fiber = fiber;
    waiter->xword = 0;
    waiter->value = 0;
    waiter->timed = false;
    waiter->part = false;
    waiter->listed = false;
    waiter->on = (uint8_t)on;
    waiter->shielded = fiber && fiber->inherited.shields;
    waiter->deadline = TH_FOREVER;
    waiter->leave = NULL;
    waiter->object = object;
}

void th_waiter_wait_missed(th_waiter *waiter) {
    unsigned spins = 0;
    /* pairs: th_waiter_missed; its last access to the waiter */
    while (!(th_load_acquire(&waiter->xword) & TH_WAIT_LEFT)) {
        th_backoff(&spins); /* the waker is between two instructions */
    }
}
