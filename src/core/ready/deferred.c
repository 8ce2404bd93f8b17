/*
 * deferred.c: see deferred.h.
 */
#include "core/ready/deferred.h"

#include "core/fiber/fiber_cache.h"
#include "core/ready/priority.h"
#include "core/ready/quiesce_sum.h"
#include "core/ready/submit.h"
#include "core/ready/wake.h"
#include "core/state/panic.h"
#include "platform/platform.h"

/*
 * The time after which a task that cannot get a stack stops the program, if nothing is left that
 * could free one. That is so for a task with a stack of its own size, and where there are only
 * bound threads. A worker has been given two fibers at its start, and none of these goes back to
 * the system, so when no task runs one of them can be spared: by a worker, or in the store.
 */
#define DEFERRED_MAX_NS 1000000000

/*
 * Whether nothing is left that could free a stack, after an attempt without success: no body was
 * left when this worker asked after its attempt before that, and none has begun since. To ask once
 * is not enough: the last body may have ended, and freed its stack, between the attempt and the
 * question.
 */
static bool is_for_ever(th_worker *worker) {
    uint64_t begun;
    if (th_quiesce_any_body(worker->sched, &begun)) {
        worker->bodies_gone = 0;
        return false;
    }
    bool again = worker->bodies_gone == begun + 1;
    worker->bodies_gone = begun + 1;
    return again;
}

static void defer_again(th_worker *worker, bool apart, int64_t since) {
    int64_t now = th_os_now();
    worker->defer_until = now + TH_DEFER_NS;
    bool may_be = apart || !worker->sched->workers_regular;
    if (may_be && now - since >= DEFERRED_MAX_NS && is_for_ever(worker)) {
        th_panic(worker->sched,
                 "thrum: no stack can be had, and nothing is left that could free one");
    }
}

/* With deferred_lock: the time since which no stack can be had. */
static int64_t refused_since(thrum_sched *sched) {
    if (!sched->deferred_since) {
        sched->deferred_since = th_os_now();
    }
    return sched->deferred_since;
}

/* With deferred_lock, after each change by one. */
static void count_changed(thrum_sched *sched) {
    size_t count = sched->deferred.count;
    /* relaxed: a hint; the worker that put the task there looks again itself */
    th_store_relaxed(&sched->xdeferred, (uint32_t)count);
    if (th_unlikely(count == TH_DEFERRED_MAX || count == TH_DEFERRED_MAX / 2)) {
        th_slab_refuse(sched->go_slab, count == TH_DEFERRED_MAX);
        th_slab_refuse(sched->spawn_slab, count == TH_DEFERRED_MAX);
    }
    sched->deferred_all_woken = sched->deferred_all_woken && count;
}

/*
 * Any sleeper may have a fiber to spare, and after a spurious wake it sleeps again on top of the
 * others. So each is woken by name, once: as long as a task is deferred, it looks again after at
 * most TH_DEFER_NS. Spares that have never taken over have no fibers.
 */
static void wake_each(thrum_sched *sched) {
    for (unsigned i = 0; i < th_workers_end(sched); i++) {
        (void)th_wake_worker(&sched->workers[i]);
    }
}

/* No fiber of a sleeper helps a task with a stack of its own size. */
void th_deferred_put(th_worker *worker, th_work *work, bool apart) {
    thrum_sched *sched = worker->sched;
    worker->took_deferred = false;
    th_priority_runs(worker, -1);
    th_lock_acquire(&sched->deferred_lock);
    th_chain_append(&sched->deferred, work);
    count_changed(sched);
    bool wake_all = !apart && !sched->deferred_all_woken;
    sched->deferred_all_woken = sched->deferred_all_woken || wake_all;
    int64_t since = refused_since(sched);
    th_lock_release(&sched->deferred_lock);
    if (wake_all) {
        wake_each(sched);
    } else {
        th_notify_shared(sched, worker, TH_WAKE_CHAIN);
    }
    defer_again(worker, apart, since);
}

static th_work *deferred_pop(th_worker *worker, bool spare);

void th_deferred_began(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    worker->took_deferred = false;
    TH_LOCKED(&sched->deferred_lock);
    sched->deferred_since = 0; /* a stack could be had */
}

/* Whether a fiber can be spared: a task that suspends needs a spare one, the loop needs none. */
static bool may_give(const th_worker *worker) {
    return worker->idle_count > 1 || !worker->current->body;
}

static TH_INLINE_NO_TSAN bool is_of_another(const th_worker *worker, const th_work *work) {
    const int32_t pinned = th_place_worker(work->worker);
    return pinned >= 0 && (unsigned)pinned != worker->index;
}

/* Not shown to the thread sanitizer: it reads work in the worker's context (queue/work.h). */
TH_NO_TSAN th_work *th_deferred_take(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    /* relaxed: a hint, see th_deferred_put */
    if (th_likely(!th_load_relaxed(&sched->xdeferred)) || th_os_now() < worker->defer_until) {
        return NULL;
    }
    bool spare = th_fiber_cache_refill(worker);
    th_work *work = deferred_pop(worker, spare);
    while (work && is_of_another(worker, work)) {
        /* It is pinned to another worker, which had no stack for it: give that one a stack. */
        bool given = may_give(worker);
        if (given) {
            th_fiber_cache_give(worker);
        }
        th_submit(worker, work, THRUM_HINT_NONE);
        /* Take nothing unless another fiber can be spared, or the task would come back at once. */
        work = given && worker->idle ? deferred_pop(worker, true) : NULL;
    }
    worker->took_deferred = work != NULL;
    if (work) {
        th_priority_runs(worker, work->worker);
    }
    return work;
}

static th_work *deferred_pop(th_worker *worker, bool spare) {
    thrum_sched *sched = worker->sched;
    th_lock_acquire(&sched->deferred_lock);
    int64_t since = spare ? 0 : refused_since(sched);
    th_work *work = spare ? th_chain_take(&sched->deferred) : NULL;
    if (work) {
        count_changed(sched);
    }
    th_lock_release(&sched->deferred_lock);
    if (!work && !spare) {
        defer_again(worker, false, since);
    }
    return work;
}
