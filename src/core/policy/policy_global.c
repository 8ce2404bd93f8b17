/*
 * policy_global.c: one queue under one mutex. The honest baseline, kept simple on purpose: hints
 * are ignored, each worker takes one at a time, and each submission wakes a worker.
 */
#include "core/policy/pick.h"
#include "core/policy/policy.h"
#include "core/ready/wake.h"
#include "core/state/worker.h"

/* Not shown to the thread sanitizer: the chain lies on the stack of a task, and this may run as its
 * worker. */
static TH_NO_TSAN void append(thrum_sched *sched, th_worker *by, th_chain chain) {
    th_work_link(chain.last, NULL);
    th_lock_acquire(&sched->global_lock);
    th_tsan_release(&sched->global); /* shows the lock to the sanitizer */
    th_chain_join(&sched->global, chain);
    /* relaxed: it is read without the lock only to spare the lock, or after a fence */
    th_store_relaxed(&sched->xglobal_count, sched->global.count);
    th_lock_release(&sched->global_lock);
    th_notify_shared(sched, by, TH_WAKE_SUBMIT);
}

static TH_NO_TSAN void submit(th_worker *worker, th_work *work, unsigned hint) {
    (void)hint;
    append(worker->sched, worker, (th_chain){work, work, 1});
}

static void submit_chain(th_worker *worker, th_chain *chain) {
    append(worker->sched, worker, *chain);
}

static void submit_external(thrum_sched *sched, const th_chain *chain) {
    append(sched, NULL, *chain);
}

/* Not shown either, since it is the other side of the same lock. */
static TH_NO_TSAN th_work *take(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    /* relaxed: spares the lock when there is nothing */
    if (!th_load_relaxed(&sched->xglobal_count)) {
        return NULL;
    }
    th_lock_acquire(&sched->global_lock);
    th_tsan_acquire(&sched->global);
    th_work *work = th_chain_take(&sched->global);
    th_store_relaxed(&sched->xglobal_count, sched->global.count); /* relaxed: as in append */
    th_lock_release(&sched->global_lock);
    if (work) {
        worker->picks.pinned_runs = 0;
        th_count(&worker->counters.xruns_inject, 1);
    }
    return work;
}

static th_work *pick(th_worker *worker) {
    return th_pick_of_one(worker, take);
}

static bool pending(th_worker *worker) {
    /* relaxed: ordered by the parker's fence */
    return th_load_relaxed(&worker->sched->xglobal_count) || !th_inject_is_empty(&worker->inbox);
}

const th_policy th_policy_global = {
    .submit = submit,
    .submit_chain = submit_chain,
    .submit_external = submit_external,
    .pick = pick,
    .steal = th_steal_none,
    .pending = pending,
    .help = take,
    .rescue = th_rescue_none,
};
