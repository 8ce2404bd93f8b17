/*
 * gauges.c: see gauges.h.
 */
#include "core/inspect/gauges.h"

#include "core/fiber/stack.h"
#include "core/ready/external.h"
#include "core/ready/quiesce_sum.h"
#include "core/state/worker.h"
#include "core/trace/tick_marks.h"
#include "platform/platform.h"

/*
 * The ends are read before the begins, so items that began and ended in between count as
 * present.
 */
static uint64_t less(uint64_t began, uint64_t ended) {
    return began > ended ? began - ended : 0;
}

/* Only timers that have a deadline. */
static uint64_t timers_of(th_timers *timers) {
    TH_LOCKED(&timers->lock);
    return timers->wheel.count - timers->wheel.never_count;
}

static uint64_t larger(uint64_t a, uint64_t b) {
    return a > b ? a : b;
}

void th_gauges_take_worker(const th_worker *worker, int64_t now, th_gauges *out) {
    *out = (th_gauges){.queued_oldest_ns = (uint64_t)th_tick_marks_queued(worker, now),
                       .running_ns = (uint64_t)th_tick_marks_running(worker, now)};
    out->longest_run_ns = larger((uint64_t)th_tick_marks_longest(worker), out->running_ns);
}

static void add_times(th_gauges *out, const th_worker *worker, int64_t now) {
    th_gauges of;
    th_gauges_take_worker(worker, now, &of);
    out->queued_oldest_ns = larger(out->queued_oldest_ns, of.queued_oldest_ns);
    out->running_ns = larger(out->running_ns, of.running_ns);
    out->longest_run_ns = larger(out->longest_run_ns, of.longest_run_ns);
}

/* With bound_lock: the longest run of bound threads, including threads that have left. */
static uint64_t longest_of_bound(thrum_sched *sched) {
    uint64_t longest = 0;
    for (unsigned i = sched->workers_count; i < sched->bound_end; i++) {
        const th_worker *worker = th_worker_at(sched, (int32_t)i);
        longest = worker ? larger(longest, (uint64_t)th_tick_marks_longest(worker)) : longest;
    }
    return longest;
}

void th_gauges_take(thrum_sched *sched, th_gauges *out) {
    th_activity sum;
    const int64_t now = th_os_now();
    th_tick_marks_note_all(sched, now);
    th_quiesce_sum(sched, &sum);
    *out = (th_gauges){0};
    out->alive = less(sum.xcreated, sum.xfinished);
    out->runnable = less(sum.xcreated + sum.xreadied, sum.xfinished + sum.xsuspended);
    out->deferred = th_load_relaxed(&sched->xdeferred); /* relaxed: a figure */
    for (unsigned i = 0; i < th_workers_end(sched); i++) {
        out->timers += timers_of(&sched->workers[i].own_timers);
        add_times(out, &sched->workers[i], now);
    }
    th_lock_acquire(&sched->bound_lock);
    for (th_worker *w = sched->bound; w; w = w->bound_next) {
        out->timers += timers_of(&w->own_timers);
        add_times(out, w, now);
    }
    out->longest_run_ns = larger(out->longest_run_ns, longest_of_bound(sched));
    th_lock_release(&sched->bound_lock);
    out->timers += timers_of(&sched->loose_timers);
    out->queued_oldest_ns =
        larger(out->queued_oldest_ns, (uint64_t)th_tick_marks_injected(sched, now));
    th_stacks_count(&sched->stacks, &out->stacks, &out->stack_bytes);
}

static uint64_t places_of(const th_batch *batch) {
    uint64_t n = 0;
    for (unsigned i = 0; i < TH_BATCH; i++) {
        n += th_load_relaxed(&batch->xplace[i]) != NULL; /* relaxed: a guess */
    }
    return n;
}

uint64_t th_gauges_queued_at(const th_worker *worker) {
    const bool slot = th_load_relaxed(&worker->xslot) != NULL; /* relaxed: a guess */
    return slot + th_ring_size(&worker->ready) + th_ring_size(&worker->ring) +
           th_ring_size(&worker->yields) + places_of(&worker->batch) +
           places_of(&worker->yields_batch);
}

static void add_counters(th_counters *sum, const th_counters *counters) {
    /* relaxed: figures to look at */
#define ADD(name) sum->x##name += th_load_relaxed(&counters->x##name);
    TH_COUNTERS(ADD)
#undef ADD
}

void th_gauges_add_threads(thrum_sched *sched, th_counters *sum) {
    TH_LOCKED(&th_external_lock); /* no bound thread's counts are being retired */
    th_lock_acquire(&sched->bound_lock);
    add_counters(sum, &sched->externals.counters);
    for (const th_worker *w = sched->bound; w; w = w->bound_next) {
        add_counters(sum, &w->counters);
    }
    th_lock_release(&sched->bound_lock);
}
