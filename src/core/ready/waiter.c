/*
 * waiter.c: see waiter.h. core/wait/WAITING.md has the states and the three cases of a wake.
 */
#include "core/ready/waiter.h"

#include "base/annotate.h"
#include "base/usdt.h"
#include "core/ready/external.h"
#include "core/ready/submit.h"
#include "core/state/worker.h"
#include "platform/platform.h"

bool th_waiter_time_out(th_waiter *waiter, th_work **work) {
    th_fiber *fiber = waiter->fiber; /* afterwards the waiter may be gone */
    if (!th_waiter_claim(waiter, TH_WAIT_TIMEDOUT)) {
        return false;
    }
    /* pairs: released, th_wait_commit; as th_waiter_wake */
    uint32_t old = th_or_acq_rel(&waiter->xword, TH_WAIT_RELEASED);
    if (old & TH_WAIT_PARKED) {
        *work = &fiber->work; /* else the fiber sees it itself, or its committer queues it */
    }
    return true;
}

void th_wait_commit_unlock(void *arg) {
    const th_unlock_commit *commit = arg;
    /* relaxed: no waker finds the waiter before the lock is released, which publishes this */
    th_store_relaxed(&commit->waiter->xword, TH_WAIT_PARKED);
    /* the waiter, its fiber and its object may be gone by now */
    th_waiter_give_up(commit->xword, commit->unlocked, commit->wide);
}

/* After the step that released the waiter: the thread that found it parked resumes it. */
static void unpark(th_waiter *waiter, th_fiber *fiber, uint32_t old) {
    if (!(old & TH_WAIT_PARKED)) {
        return; /* it has not parked yet: it sees it itself, or its committer queues it */
    }
    if (fiber) {
        th_ready(fiber);
    } else {
        th_os_futex_wake(&waiter->xword, 1); /* the word may be gone: allowed */
    }
}

void th_waiter_wake(th_waiter *waiter) {
    th_fiber *fiber = waiter->fiber; /* afterwards the waiter may be gone */
    /* pairs: th_wait_commit, th_wait_commit_unlock; the fiber's registers are saved */
    uint32_t word = th_load_acquire(&waiter->xword);
    if (word == TH_WAIT_PARKED) {
        /* Only a wake ends this wait, and it is parked: no other thread writes the word. */
        /* pairs: released; publishes the waker's writes */
        th_store_release(&waiter->xword, TH_WAIT_WOKEN | TH_WAIT_RELEASED);
        unpark(waiter, fiber, word);
        return;
    }
    /*
     * pairs: released; publishes the waker's writes pairs: th_wait_commit; PARKED means that the
     * fiber's registers are saved
     */
    uint32_t old = th_xchg_acq_rel(&waiter->xword, TH_WAIT_WOKEN | TH_WAIT_RELEASED);
    unpark(waiter, fiber, old);
}

bool th_waiter_claim(th_waiter *waiter, uint32_t outcome) {
    uint32_t word = th_load_relaxed(&waiter->xword); /* relaxed: the exchange decides */
    do {
        if (word & TH_WAIT_OUTCOME) {
            return false;
        }
        /* wait-free: each word changes at most twice before it is decided */
        /* relaxed: the release that follows publishes */
    } while (!th_cas_relaxed(&waiter->xword, &word, word | outcome));
    return true;
}

void th_waiter_release(th_waiter *waiter) {
    th_fiber *fiber = waiter->fiber; /* afterwards the waiter may be gone */
    if (th_unlikely(!fiber) && waiter->leave && !waiter->leave(waiter->object, waiter)) {
        return; /* no stack waits: it may be gone */
    }
    /* pairs: released, th_wait_commit; as th_waiter_wake */
    uint32_t old = th_or_acq_rel(&waiter->xword, TH_WAIT_RELEASED);
    unpark(waiter, fiber, old);
}

void th_waiter_release_cancelled(th_waiter *waiter) {
    th_fiber *fiber = waiter->fiber; /* afterwards the waiter may be gone */
    /*
     * pairs: th_wait_commit; publishes PARKED. The lock in th_cancel_end publishes the canceller's
     * earlier writes
     */
    uint32_t old = th_xchg_acquire(&waiter->xword, TH_WAIT_CANCELLED | TH_WAIT_RELEASED);
    unpark(waiter, fiber, old);
}

void th_waiter_missed(th_waiter *waiter) {
    /* pairs: th_waiter_wait_missed; publishes the waker's earlier writes */
    th_or_release(&waiter->xword, TH_WAIT_LEFT);
}

TH_NO_TSAN void th_wait_commit(th_worker *worker, th_fiber *fiber, void *arg) {
    th_waiter *waiter = arg;
    uint32_t word = th_load_relaxed(&waiter->xword); /* relaxed: the exchange decides */
    while (!(word & TH_WAIT_RELEASED)) {
        /* wait-free: the word changes at most twice more */
        /* pairs: th_waiter_wake, th_waiter_release; publishes the saved registers */
        if (th_cas_release_unseen(&waiter->xword, &word, word | TH_WAIT_PARKED)) {
            return; /* the waiter, and the fiber, may be gone by now */
        }
    }
    /* the wake came before the commit and left the fiber to it */
    th_ready_on(worker, fiber, THRUM_HINT_NEXT);
}

TH_NO_TSAN void th_ready_on(th_worker *worker, th_fiber *fiber, unsigned hint) {
    if (th_likely(!fiber->root)) {
        th_activity_began(&worker->activity.xreadied);
    }
    if (hint == THRUM_HINT_NEXT && !worker->sched->config.wake_hint) {
        hint = TH_HINT_READY;
    }
    th_submit(worker, &fiber->work, hint);
}

void th_ready(th_fiber *fiber) {
    TH_USDT1(wake, fiber);
    thrum_sched *sched = fiber->sched;
    th_worker *worker = th_here();
    if (th_likely(worker && worker->sched == sched)) {
        th_enter(worker);
        th_ready_on(worker, fiber, THRUM_HINT_NEXT);
        th_leave(worker);
        return;
    }
    /* Enter before the fiber is queued: it may end, and its scheduler with it. */
    th_external *record = th_external_enter(sched, false);
    if (th_unlikely(!record)) {
        return; /* in the child of a fork: the fiber is the parent's */
    }
    if (th_likely(!fiber->root)) {
        th_activity_began(&record->activity.xreadied);
    }
    th_submit_external(sched, &fiber->work);
    th_external_leave(sched, record);
}
