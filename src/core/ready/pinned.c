/*
 * pinned.c: see pinned.h.
 */
#include "core/ready/pinned.h"

void th_pinned_put_root(th_worker *worker) {
    th_chain *pinned = &worker->pinned;
    th_work *root = &worker->home.work;
    th_work_link(root, pinned->first);
    pinned->first = root;
    pinned->last = pinned->last ? pinned->last : root;
    pinned->count++;
    worker->picks.pinned_end++; /* the fibers that yielded do not come earlier for it */
}

/* The thread's own wake may be among the work of the inbox. */
static void find_root(th_worker *worker) {
    th_chain *chain = &worker->collected;
    th_work *root = &worker->home.work;
    th_work *before = NULL;
    th_work *work = chain->first;
    while (work && work != root) {
        before = work;
        work = th_work_next(work);
    }
    if (!work) {
        return;
    }
    if (before) {
        th_work_link(before, th_work_next(root));
    } else {
        chain->first = th_work_next(root);
    }
    chain->last = chain->last == root ? before : chain->last;
    chain->count--;
    th_pinned_put_root(worker);
}

void th_pinned_collect(th_worker *worker) {
    th_inject *inbox = &worker->inbox;
    if (th_likely(th_inject_is_empty(inbox)) || !th_inject_turn_begin(inbox)) {
        return; /* the turn is always free: no other thread consumes */
    }
    th_inject_take_into(inbox, 1, SIZE_MAX, &worker->collected);
    th_inject_turn_end(inbox);
    if (worker->bound) {
        find_root(worker);
    }
    th_chain_join(&worker->pinned, worker->collected);
}

th_work *th_pinned_take_some(th_worker *worker) {
    worker->picks.quick = NULL; /* there may be more pinned work */
    if (!worker->pinned.first) {
        th_pinned_collect(worker);
    }
    th_work *work = th_chain_take(&worker->pinned);
    if (work) {
        worker->sharded.lifo_runs = 0;
        worker->picks.pinned_runs++;
        worker->picks.pinned_taken++;
        th_count(&worker->counters.xruns_pinned, 1);
    }
    return work;
}

static void mark(th_worker *worker) {
    worker->picks.pinned_end = worker->picks.pinned_taken + (unsigned)worker->pinned.count;
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
