/*
 * fiber_cache.c: idle fibers: kept by a worker, or by its scheduler for all workers (the store),
 * and when they are given back.
 *
 * The store is two lists: some of `fibers` may have a stack that went deep, those in
 * `fibers_measured` have none. Each list is last in, first out.
 */
#include "base/check.h"
#include "core/fiber/fiber.h"
#include "core/fiber/fiber_cache.h"
#include "core/fiber/stack.h"
#include "core/state/worker.h"

/* The hottest part of a stack: the pages beyond go back to the system before the stack is kept. */
#define KEEP_BYTES ((size_t)16 * 1024)
/* The number of the store's fibers that a step trims or frees while workers are awake. */
#define RECLAIM_ONCE 4u

/* One figure for all bound threads: a reader could not find the figures of their records. */
static void show_bound(thrum_sched *sched, size_t used) {
    uint64_t most = th_load_relaxed(&sched->xbound_high_water); /* relaxed: a figure to look at */
    /* lock-free: it fails only when another thread has made it larger */
    /* relaxed: a figure to look at */
    while (most < used && !th_cas_relaxed(&sched->xbound_high_water, &most, (uint64_t)used)) {
    }
}

size_t th_fiber_measure(th_worker *worker, th_fiber *fiber) {
    if (!fiber->ran) {
        return 0;
    }
    fiber->ran = false;
    size_t used = th_stack_high_water(&fiber->stack);
    if (used > worker->stack_high_water_seen) {
        worker->stack_high_water_seen = used;
        th_store_relaxed(&worker->xstack_high_water, used); /* relaxed: a figure to look at */
        if (worker->bound) {
            show_bound(worker->sched, used);
        }
    }
    return used;
}

bool th_fiber_trim(th_worker *worker, th_fiber *fiber) {
    if (th_fiber_measure(worker, fiber) <= KEEP_BYTES) {
        return false;
    }
    void *limit = th_stack_trim(&worker->sched->stacks, &fiber->stack, KEEP_BYTES);
    if (limit) {
        th_context_set_limit(&fiber->context, limit);
    }
    return true;
}

/* ---- idle fibers ---- */

/*
 * Measuring each stack would cost more than everything else in a short task. So if several leave
 * together, only the first is measured. If that went deep, all behind it are measured, since its
 * neighbours probably went deep too. The others are measured when there is nothing to do
 * (th_fiber_cache_trim_some), or another time.
 */
static void spill(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    th_fiber *first = worker->idle;
    th_fiber *last = first;
    bool deep = th_fiber_trim(worker, first);
    for (unsigned i = 1; i < TH_FIBER_CACHE_KEPT; i++) {
        last = last->next;
        if (deep) {
            (void)th_fiber_trim(worker, last);
        }
    }
    worker->idle = last->next;
    worker->idle_count -= TH_FIBER_CACHE_KEPT;
    th_lock_acquire(&sched->fibers_lock);
    last->next = sched->fibers;
    sched->fibers = first;
    sched->fibers_count += TH_FIBER_CACHE_KEPT;
    sched->fibers_deep = sched->fibers_deep || deep;
    bool more = deep || sched->fibers_count > TH_FIBER_CACHE_STORED;
    th_store_relaxed(&sched->xfibers_unmeasured, true); /* relaxed: the last to park reads it */
    th_lock_release(&sched->fibers_lock);
    if (more) {
        th_reclaim_want(worker);
    }
}

/* With the lock: takes a fiber from the store; NULL: it is empty. */
static th_fiber *take_stored(thrum_sched *sched) {
    if (!sched->fibers) {
        sched->fibers = sched->fibers_measured;
        sched->fibers_measured = NULL;
    }
    th_fiber *fiber = sched->fibers;
    if (fiber) {
        sched->fibers = fiber->next;
        sched->fibers_count--;
        if (sched->fibers_count < sched->fibers_least) {
            sched->fibers_least = sched->fibers_count;
        }
    }
    return fiber;
}

void th_fiber_cache_put(th_worker *worker, th_fiber *fiber) {
    fiber->next = worker->idle;
    worker->idle = fiber;
    if (th_unlikely(++worker->idle_count >= 2 * TH_FIBER_CACHE_KEPT)) {
        spill(worker);
    }
}

TH_NO_TSAN th_fiber *th_fiber_cache_take(th_worker *worker) {
    th_fiber *fiber = worker->idle;
    th_check(fiber != NULL);
    worker->idle = fiber->next;
    worker->idle_count--;
    return fiber;
}

bool th_fiber_cache_refill(th_worker *worker) {
    if (th_likely(worker->idle)) {
        return true;
    }
    thrum_sched *sched = worker->sched;
    th_lock_acquire(&sched->fibers_lock);
    th_fiber *taken;
    for (int i = 0; i < (TH_FIBER_CACHE_KEPT + 3) / 4 && (taken = take_stored(sched)); i++) {
        taken->next = worker->idle;
        worker->idle = taken;
        worker->idle_count++;
    }
    th_lock_release(&sched->fibers_lock);
    if (worker->idle) {
        th_count(&worker->counters.xstacks_reused, worker->idle_count);
        return true;
    }
    th_fiber *fiber = th_fiber_new(sched, sched->stack_class, false);
    if (!fiber) {
        return false;
    }
    th_count(&worker->counters.xstacks_created, 1);
    th_fiber_cache_put(worker, fiber);
    return true;
}

void th_fiber_cache_give(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    th_fiber *fiber = th_fiber_cache_take(worker);
    TH_LOCKED(&sched->fibers_lock);
    fiber->next = sched->fibers;
    sched->fibers = fiber;
    sched->fibers_count++;
    th_store_relaxed(&sched->xfibers_unmeasured, true); /* relaxed: as in spill */
}

unsigned th_fiber_cache_give_back(th_worker *worker, unsigned most, bool all) {
    thrum_sched *sched = worker->sched;
    th_fiber *surplus = NULL;
    unsigned count = 0;
    th_lock_acquire(&sched->fibers_lock);
    for (; count < most && sched->fibers_count > TH_FIBER_CACHE_STORED; count++) {
        th_fiber *fiber = take_stored(sched);
        fiber->next = surplus;
        surplus = fiber;
    }
    th_lock_release(&sched->fibers_lock);
    bool first = true;
    while (surplus) {
        th_fiber *next = surplus->next;
        if (first || all) {
            th_fiber_measure(worker, surplus);
            first = false;
        }
        th_fiber_free(surplus);
        th_count(&worker->counters.xstacks_freed, 1);
        surplus = next;
    }
    return count;
}

/* ---- for reclaim.c: while workers are awake ---- */

bool th_fiber_cache_period(thrum_sched *sched, unsigned *unused, bool *deep) {
    TH_LOCKED(&sched->fibers_lock);
    unsigned least = sched->fibers_least;
    sched->fibers_least = sched->fibers_count;
    *unused = least > TH_FIBER_CACHE_STORED ? least - TH_FIBER_CACHE_STORED : 0;
    *deep = sched->fibers_deep && least >= sched->fibers_count / 2;
    return sched->fibers_deep || sched->fibers_count > TH_FIBER_CACHE_STORED;
}

unsigned th_fiber_cache_reclaim(th_worker *worker, unsigned most) {
    return th_fiber_cache_give_back(worker, most < RECLAIM_ONCE ? most : RECLAIM_ONCE, false);
}

bool th_fiber_cache_trim_some(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    th_fiber *some[RECLAIM_ONCE];
    unsigned count = 0;
    th_lock_acquire(&sched->fibers_lock);
    while (count < RECLAIM_ONCE && sched->fibers) {
        some[count] = sched->fibers;
        sched->fibers = some[count++]->next;
    }
    sched->fibers_count -= count;
    th_lock_release(&sched->fibers_lock);
    for (unsigned i = 0; i < count; i++) {
        th_fiber_trim(worker, some[i]);
    }
    TH_LOCKED(&sched->fibers_lock);
    for (unsigned i = 0; i < count; i++) {
        some[i]->next = sched->fibers_measured;
        sched->fibers_measured = some[i];
    }
    sched->fibers_count += count;
    bool more = sched->fibers != NULL;
    if (!more) {
        sched->fibers = sched->fibers_measured;
        sched->fibers_measured = NULL;
        sched->fibers_deep = false;
        /* relaxed: as in spill */
        th_store_relaxed(&sched->xfibers_unmeasured, sched->fibers_count > TH_FIBER_CACHE_STORED);
    }
    return more;
}
