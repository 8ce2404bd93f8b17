/*
 * submit.c: see submit.h.
 */
#include "core/ready/submit.h"

#include "core/ready/bound_wake.h"
#include "core/ready/pinned.h"
#include "core/ready/priority.h"
#include "core/ready/wake.h"

/* Puts the work into the inbox of the one worker that may run it, and wakes that worker. */
static TH_NO_TSAN void submit_pinned(thrum_sched *sched, th_work *work) {
    th_worker *target = th_worker_at(sched, work->worker);
    th_inject_push(&target->inbox, work, 1);
    (void)th_wake_worker(target);
}

/*
 * Puts the work into the owner's own list, where no other thread looks: behind the present contents
 * of its inbox, or a fiber that posts from here would overtake its earlier posts from another
 * worker.
 */
static void submit_pinned_here(th_worker *worker, th_work *work, unsigned hint) {
    worker->picks.quick = NULL; /* the work comes before the batch */
    if (hint == THRUM_HINT_YIELD) {
        th_yields_mark(worker);
        th_pinned_yield(worker, work);
    } else {
        th_pinned_collect(worker);
        th_pinned_put(worker, work);
    }
    th_bound_posted(worker);
}

/* Not shown to the thread sanitizer, since work is read in the worker's context (queue/work.h). */
TH_NO_TSAN void th_submit(th_worker *worker, th_work *work, unsigned hint) {
    if (th_likely(work->worker < 0)) {
        worker->policy->submit(worker, work, hint);
    } else if (th_unlikely(th_place_priority(work->worker) != TH_NORMAL)) {
        th_priority_put(worker->sched, worker, work, hint);
    } else if ((unsigned)work->worker == worker->index) {
        submit_pinned_here(worker, work, hint);
    } else {
        submit_pinned(worker->sched, work);
    }
}

TH_NO_TSAN void th_submit_external(thrum_sched *sched, th_work *work) {
    if (th_likely(work->worker < 0)) {
        const th_chain chain = {work, work, 1};
        sched->policy->submit_external(sched, &chain);
    } else if (th_unlikely(th_place_priority(work->worker) != TH_NORMAL)) {
        th_priority_put(sched, NULL, work, THRUM_HINT_NONE);
    } else {
        submit_pinned(sched, work);
    }
}

void th_submit_chain(th_worker *worker, th_chain *chain) {
    worker->policy->submit_chain(worker, chain);
}

void th_call_submit(th_worker *worker, th_call *call) {
    th_tsan_release(call);
    th_enter(worker);
    th_activity_began(&worker->activity.xcreated);
    th_submit(worker, &call->work, THRUM_HINT_NONE);
    th_leave(worker);
}
