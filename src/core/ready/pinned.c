/*
 * pinned.c: see pinned.h.
 */
#include "core/ready/pinned.h"

#include "core/ready/submit.h"
#include "platform/platform.h"

/* ---- the list ---- */

/* Behind the ready fiber given; NULL: before all others. */
static void put_behind(th_worker *worker, th_work *before, th_work *work) {
    th_chain *pinned = &worker->pinned;
    if (before) {
        th_work_link(work, th_work_next(before));
        th_work_link(before, work);
    } else {
        th_work_link(work, pinned->first);
        pinned->first = work;
    }
    pinned->last = pinned->last == before ? work : pinned->last;
    pinned->count++;
    worker->pinned_ready = worker->pinned_ready == before ? work : worker->pinned_ready;
}

/* Not shown to the thread sanitizer, since work is read in the worker's context (queue/work.h). */
TH_NO_TSAN void th_pinned_put(th_worker *worker, th_work *work) {
    if (th_unlikely(work == &worker->home.work)) {
        put_behind(worker, NULL, work);
    } else if (th_is_ready(work, THRUM_HINT_NONE)) {
        put_behind(worker, worker->pinned_ready, work);
    } else {
        th_chain_append(&worker->pinned, work);
        worker->picks.pinned_new++;
    }
}

void th_pinned_put_chain(th_worker *worker, th_chain *chain) {
    for (th_work *work; (work = th_chain_take(chain));) {
        th_pinned_put(worker, work);
    }
}

void th_pinned_collect(th_worker *worker) {
    th_inject *inbox = &worker->inbox;
    if (th_likely(th_inject_is_empty(inbox)) || !th_inject_turn_begin(inbox)) {
        return; /* the turn is always free: no other thread consumes */
    }
    th_inject_take_into(inbox, 1, SIZE_MAX, &worker->collected);
    th_inject_turn_end(inbox);
    th_pinned_put_chain(worker, &worker->collected);
}

/* ---- taking ---- */

/* The first ready fiber, or, if none is, the first task. */
static th_work *take_first(th_worker *worker) {
    th_work *work = th_chain_take(&worker->pinned);
    worker->pinned_ready = worker->pinned_ready == work ? NULL : worker->pinned_ready;
    return work;
}

/* The first task, from behind the ready fibers; there are both. */
static th_work *take_new(th_worker *worker) {
    th_chain *pinned = &worker->pinned;
    th_work *before = worker->pinned_ready;
    th_work *work = th_work_next(before);
    th_work_link(before, th_work_next(work));
    pinned->last = pinned->last == work ? before : pinned->last;
    pinned->count--;
    return work;
}

/* Whether ready fibers have come before tasks for so long that a task comes first. */
static bool is_new_due(const th_worker *worker) {
    const th_picks *picks = &worker->picks;
    return picks->passed_tick &&
           (worker->xtick - picks->passed_tick >= worker->sched->config.global_interval ||
            th_os_ticks_ns(th_os_ticks() - picks->passed_at) > TH_FAIR_NS);
}

/* A ready fiber comes before tasks. */
static void pass_over(th_worker *worker) {
    if (!worker->picks.passed_tick) {
        worker->picks.passed_tick = worker->xtick;
        worker->picks.passed_at = th_os_ticks();
    }
}

/* The next work of the list, which is not empty. */
static th_work *take_next(th_worker *worker) {
    const bool any_ready = worker->pinned_ready != NULL;
    const bool any_new = worker->pinned.last != worker->pinned_ready;
    if (any_ready && any_new && !th_pinned_root_is_next(worker) && is_new_due(worker)) {
        return take_new(worker);
    }
    if (any_ready && any_new) {
        pass_over(worker);
    }
    return take_first(worker);
}

/* It was taken from the list. */
static TH_NO_TSAN void count_taken(th_worker *worker, const th_work *work) {
    th_picks *picks = &worker->picks;
    if (!th_is_ready(work, THRUM_HINT_NONE)) {
        picks->pinned_new--;
        picks->marked_new -= picks->marked_new != 0;
        picks->passed_tick = 0;
    } else if (work != &worker->home.work) {
        picks->marked_ready -= picks->marked_ready != 0;
    }
    worker->sharded.lifo_runs = 0;
    picks->pinned_runs++;
    th_count(&worker->counters.xruns_pinned, 1);
}

/* A ready fiber may be in the inbox. */
static void look_for_ready(th_worker *worker) {
    worker->picks.quick = NULL; /* there may be more pinned work */
    if (!worker->pinned_ready) {
        th_pinned_collect(worker);
    }
}

th_work *th_pinned_take_some(th_worker *worker) {
    look_for_ready(worker);
    th_work *work = worker->pinned.first ? take_next(worker) : NULL;
    if (work) {
        count_taken(worker, work);
    }
    return work;
}

th_work *th_pinned_take_some_after(th_worker *worker, th_work *(*take_ready)(th_worker *)) {
    look_for_ready(worker);
    if (!worker->pinned_ready && !is_new_due(worker)) {
        th_work *work = take_ready(worker);
        if (work) {
            pass_over(worker);
            worker->picks.pinned_runs = 0;
            return work;
        }
    }
    return th_pinned_take_some(worker);
}

/* ---- fibers that yielded ---- */

/* Marks the work that is there: it comes before the oldest of them. */
static void mark(th_worker *worker) {
    const size_t root = th_pinned_root_is_next(worker);
    worker->picks.marked_ready = worker->pinned.count - worker->picks.pinned_new - root;
    worker->picks.marked_new = worker->picks.pinned_new;
}

void th_pinned_yield(th_worker *worker, th_work *work) {
    th_pinned_collect(worker);
    if (!worker->pinned_yields.first) {
        mark(worker); /* fibers behind it get their mark when they become the first */
    }
    th_chain_append(&worker->pinned_yields, work);
}

th_work *th_pinned_take_yielded(th_worker *worker) {
    th_work *work = th_chain_take(&worker->pinned_yields);
    if (work) {
        mark(worker);
        th_count(&worker->counters.xruns_pinned, 1);
    }
    return work;
}
