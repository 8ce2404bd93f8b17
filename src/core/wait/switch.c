/*
 * switch.c: see switch.h.
 */
#include "core/wait/switch.h"

#include "base/annotate.h"
#include "core/fiber/fiber.h"
#include "core/fiber/fiber_cache.h"
#include "core/fiber/reclaim.h"
#include "core/policy/pick.h"
#include "core/due/timer.h"
#include "core/ready/priority.h"
#include "core/ready/waiter.h"
#include "core/trace/trace_notes.h"
#include "platform/platform.h"

/* Yields of a fiber that is alone on its worker before the worker looks for other workers' work. */
#define LONE_YIELDS TH_LIMIT(16, 3)

static TH_COLD TH_NO_TSAN void see_to_extra(th_worker *worker, th_fiber *from, th_fiber *to) {
    if (th_is_traced(worker)) {
        th_trace_switches(worker, from, to);
    }
    th_priority_runs(worker, worker->handoff ? worker->handoff->worker : to->work.worker);
    /* relaxed: as in switch_to */
    bool reclaim = (th_load_relaxed(&worker->xextra) & TH_EXTRA_RECLAIM) != 0;
    if (reclaim && worker->left.kind != TH_COMMIT_RETIRE) {
        worker->then = worker->left.kind;
        worker->left.kind = TH_COMMIT_RECLAIM;
    }
}

/*
 * For the address sanitizer: the fiber now runs on its stack, with its own fake stack. A thread
 * that has just bound itself may switch to a fiber that began elsewhere, so the bounds of the
 * thread's own stack are noted here too.
 */
static TH_INLINE_NO_TSAN void arrive(const th_fiber *fiber, void *fake) {
#if TH_ASAN
    const void *bottom;
    size_t size;
    th_asan_arrive(fake, &bottom, &size);
    th_fiber *home = &fiber->worker->home;
    if (!home->stack.bottom) { /* the first switch on this thread came from its own stack */
        home->stack.bottom = (char *)(uintptr_t)bottom;
        home->stack.top = home->stack.bottom + size;
    }
#else
    (void)fiber, (void)fake;
#endif
}

/* Switches away and comes back. All that must be true at the moment of the switch is set here. */
static TH_INLINE_NO_TSAN void switch_to(th_worker *worker, th_fiber *from, th_fiber *to) {
    /* relaxed: see th_is_traced */
    uint32_t extra =
        th_load_relaxed(&worker->xextra) & (TH_EXTRA_TRACE | TH_EXTRA_RECLAIM | TH_EXTRA_PRIORITY);
    if (th_unlikely(extra)) {
        see_to_extra(worker, from, to);
    }
    th_store_relaxed(&to->worker, worker);  /* relaxed: for inspectors (snapshot.c); else our own */
    th_store_relaxed(&worker->current, to); /* relaxed: as above */
    th_count(&worker->counters.xswitches, 1);
    bool for_ever = worker->left.kind == TH_COMMIT_RETIRE;
    th_asan_leave(for_ever ? NULL : &from->asan_fake, to->stack.bottom,
                  (size_t)(to->stack.top - to->stack.bottom));
    th_context_jump(&from->context, &to->context);
    arrive(from, from->asan_fake);
    th_commit(from->worker);
}

TH_NO_TSAN void th_switch_to(th_worker *worker, th_fiber *from, th_fiber *to) {
    switch_to(worker, from, to);
}

TH_NO_TSAN void th_fiber_begins(th_fiber *fiber) {
    arrive(fiber, NULL);
    th_commit(fiber->worker);
}

/* Whether the running fiber handles exceptions of C++, or is being unwound by one. */
static TH_INLINE_NO_TSAN bool in_exception(const th_worker *worker) {
    const th_os_exceptions *mine = worker->exceptions;
    return th_unlikely(mine) && (mine->caught || mine->uncaught);
}

/*
 * C++ keeps the state of exceptions per thread, but it belongs to the fiber, which takes it along.
 * A fiber leaves none on the thread, so the next one there finds none of another fiber.
 */
static TH_COLD TH_NO_TSAN void switch_with_exceptions(th_worker *worker, th_fiber *fiber,
                                                      th_fiber *to) {
    th_os_exceptions mine = *worker->exceptions;
    *worker->exceptions = (th_os_exceptions){0};
    switch_to(worker, fiber, to);
    *fiber->worker->exceptions = mine;
}

TH_NO_TSAN void th_suspend(th_fiber *fiber, th_commit_kind commit, void *arg) {
    th_worker *worker = fiber->worker;
    if (th_unlikely(fiber->canary)) {
        th_fiber_check_canary(fiber);
    }
    th_work *work = commit == TH_COMMIT_YIELD ? th_find_in_batch(worker) : NULL;
    if (!work) {
        th_timers_poll(worker, false);
        work = worker->policy->pick(worker);
    }
    /*
     * Nothing else to run: the fiber goes on at once. Every LONE_YIELDS-th time it takes the long
     * way, so that its worker looks for work of others.
     */
    if (!work && commit == TH_COMMIT_YIELD && ++worker->lone_yields % LONE_YIELDS &&
        !worker->policy->pending(worker)) {
        return;
    }
    worker->left = (th_left){.kind = commit, .fiber = fiber, .arg = arg};
    th_count(&worker->counters.xsuspends, 1);
    th_fiber *to;
    if (work && work->kind == TH_WORK_FIBER) {
        to = th_fiber_of(work); /* one switch for a handoff, straight to the next fiber */
        th_count(&worker->counters.xfibers_resumed, 1);
    } else {
        worker->handoff = work;
        worker->picks.quick = NULL; /* the task comes before the batch */
        to = th_fiber_cache_take(
            worker); /* there always is one: a task only starts while there is */
    }
    if (th_unlikely(in_exception(worker))) {
        switch_with_exceptions(worker, fiber, to);
        return;
    }
    switch_to(worker, fiber, to);
}

static TH_COLD TH_NO_TSAN void commit_and_reclaim(th_worker *worker) {
    worker->left.kind = worker->then;
    th_commit(worker); /* first: other workers may be waiting for it */
    th_reclaim_poll(worker);
}

TH_NO_TSAN void th_commit(th_worker *worker) {
    th_left left = worker->left;
    /* Asked now: a fiber that is no root may be gone below. */
    bool is_root = worker->bound && left.fiber == &worker->home;
    worker->left.kind = TH_COMMIT_NONE;
    switch (left.kind) {
    case TH_COMMIT_NONE:
        return;
    case TH_COMMIT_RECLAIM:
        commit_and_reclaim(worker);
        return;
    case TH_COMMIT_WAIT:
        th_wait_commit(worker, left.fiber, left.arg);
        break;
    case TH_COMMIT_UNLOCK:
        th_wait_commit_unlock(left.arg);
        break;
    case TH_COMMIT_YIELD:
        th_count(&worker->counters.xyields, 1);
        worker->unseen = true;
        th_ready_on(worker, left.fiber, THRUM_HINT_YIELD);
        worker->unseen = false;
        break;
    case TH_COMMIT_ROOT:
        return;
    case TH_COMMIT_IDLE:
        th_fiber_cache_put(worker, left.fiber);
        return;
    case TH_COMMIT_RETIRE:
        th_fiber_measure(worker, left.fiber);
        th_fiber_free(left.fiber);
        th_count(&worker->counters.xstacks_freed, 1);
        return;
    }
    /*
     * The run ended by suspending. Counted last: the wake that queued the fiber again was counted
     * before.
     */
    if (th_likely(!is_root)) {
        th_activity_ended(&worker->activity.xsuspended);
    }
}
