/*
 * policy_global.c: two queues under one mutex: fibers that are ready, and the rest. The honest
 * baseline, kept simple on purpose: hints are ignored, each worker takes one at a time, and each
 * submission wakes a worker.
 */
#include "core/policy/pick.h"
#include "core/policy/policy.h"
#include "core/ready/submit.h"
#include "core/ready/wake.h"
#include "core/state/worker.h"

/* With the lock. */
static void count(thrum_sched *sched) {
    /* relaxed: it is read without the lock only to spare the lock, or after a fence */
    th_store_relaxed(&sched->xglobal_count, sched->global.count + sched->global_ready.count);
}

/* Not shown to the thread sanitizer: the chain lies on the stack of a task, and this may run as its
 * worker. */
static TH_NO_TSAN void append(thrum_sched *sched, th_worker *by, th_chain chain, bool ready) {
    th_work_link(chain.last, NULL);
    th_lock_acquire(&sched->global_lock);
    th_tsan_release(&sched->global); /* shows the lock to the sanitizer */
    th_chain_join(ready ? &sched->global_ready : &sched->global, chain);
    count(sched);
    th_lock_release(&sched->global_lock);
    th_notify_shared(sched, by, TH_WAKE_SUBMIT);
}

static TH_NO_TSAN void submit(th_worker *worker, th_work *work, unsigned hint) {
    append(worker->sched, worker, (th_chain){work, work, 1}, th_is_ready(work, hint));
}

static TH_NO_TSAN void submit_chain(th_worker *worker, th_chain *chain) {
    append(worker->sched, worker, *chain, th_is_ready(chain->first, THRUM_HINT_NONE));
}

static TH_NO_TSAN void submit_external(thrum_sched *sched, const th_chain *chain) {
    append(sched, NULL, *chain, th_is_ready(chain->first, THRUM_HINT_NONE));
}

/*
 * Takes the oldest ready fiber, or the oldest of the rest; `any`: if there is none, one of the
 * other kind. Not shown either, since it is the other side of the same lock.
 */
static TH_NO_TSAN th_work *take_first(th_worker *worker, bool ready, bool any) {
    thrum_sched *sched = worker->sched;
    /* relaxed: spares the lock when there is nothing */
    if (!th_load_relaxed(&sched->xglobal_count)) {
        return NULL;
    }
    th_lock_acquire(&sched->global_lock);
    th_tsan_acquire(&sched->global);
    th_work *work = th_chain_take(ready ? &sched->global_ready : &sched->global);
    work = work || !any ? work : th_chain_take(ready ? &sched->global : &sched->global_ready);
    count(sched);
    th_lock_release(&sched->global_lock);
    if (work) {
        worker->picks.pinned_runs = 0;
        th_count(&worker->counters.xruns_inject, 1);
    }
    return work;
}

static th_work *take(th_worker *worker) {
    return take_first(worker, true, true);
}

static th_work *take_new(th_worker *worker) {
    return take_first(worker, false, true);
}

static th_work *take_ready(th_worker *worker) {
    return take_first(worker, true, false);
}

static th_work *pick(th_worker *worker) {
    return th_pick_of_one(worker, take, take_new, take_ready);
}

static bool pending(th_worker *worker) {
    /* relaxed: ordered by the parker's fence */
    return th_load_relaxed(&worker->sched->xglobal_count) || th_priority_pending(worker) ||
           !th_inject_is_empty(&worker->inbox);
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
