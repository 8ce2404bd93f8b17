/*
 * trace_series.h: short runs that share a mark in a trace, so that a run costs a few instructions
 * and the clock is read once for some of them. core/trace/TRACE.md, "Series", has the argument.
 *
 * Words:      a *series* is the runs of one function, without names, that a worker begins and ends
 *             on one fiber one after the other, and whose mark is open. The *pace* is the number
 *             of runs from one reading of the clock, at the begin of a run, to the next.
 * Invariants: while worker->series.extra is not 0 the open mark is a series; its last run so far is
 *             traced_run of the fiber that the worker is on, and all before it have ended.
 */
#ifndef TH_TRACE_SERIES_H
#define TH_TRACE_SERIES_H

#include "core/state/handle.h"
#include "core/state/worker.h"

/* The function of a task that may be in a series, or 0: it has a name, or it is of another kind. */
static TH_INLINE_NO_TSAN uintptr_t th_trace_series_function(const th_work *work) {
    if (work->kind == TH_WORK_GO) {
        return (uintptr_t)((const th_go *)work)->fn;
    }
    if (work->kind == TH_WORK_SPAWN) {
        const thrum_handle *handle = (const thrum_handle *)work;
        return handle->name[0] ? 0 : (uintptr_t)handle->fn;
    }
    return work->kind == TH_WORK_TASK
               ? (uintptr_t)((const thrum_task *)(const void *)work)->reserved_fn
               : 0;
}

/* The fiber begins to run a task: true, if that belongs to the series, and no clock is due. */
static TH_INLINE_NO_TSAN bool th_trace_series_joins(th_worker *worker, th_fiber *fiber,
                                                    const th_work *work, uint32_t extra) {
    if (extra != worker->series.extra || th_trace_series_function(work) != fiber->traced_fn ||
        --worker->series.left == 0) {
        return false;
    }
    fiber->traced_run = fiber->run_id;
    return true;
}

/* A run has ended: true, if the worker has more at hand, and the series goes on without a clock. */
static TH_INLINE_NO_TSAN bool th_trace_series_goes_on(const th_worker *worker) {
    return worker->series.left > 1 && (th_batch_any(&worker->batch) || th_ring_size(&worker->ring));
}

#endif
