/*
 * trace.c: turning tracing on and off, and reading it, while workers run (core/trace/TRACE.md).
 */
#include <errno.h>

#include "base/atomic.h"
#include "core/record/trace_control.h"
#include "core/state/worker.h"
#include "core/trace/trace_notes.h"
#include "whole.h"

static thrum_sched *sched;
static whole_gate gate;

/* Stretches and sleeps of a buffer follow each other; each mark is whole, and of this trace. */
static void read_trace(void) {
    th_trace_copy copy;
    th_traced_mark mark;
    sim_check(th_trace_read(sched, &copy) == 0);
    for (unsigned i = 0; i < copy.count; i++) {
        uint64_t end = copy.since;
        for (uint64_t n = 0; n < copy.buffers[i].count; n++) {
            if (!th_trace_mark(&copy, &copy.buffers[i].marks[n], &mark)) {
                continue;
            }
            sim_check(mark.begin >= copy.since && mark.begin <= mark.end);
            sim_check(mark.end <= copy.until);
            if (mark.kind < TH_TRACED_STOLE) {
                sim_check(mark.begin >= end);
                end = mark.end;
            }
        }
    }
    th_trace_forget(sched, &copy);
}

static void turns_it_on_and_off(void *arg) {
    (void)arg;
    sim_check(th_trace_start(sched, 1, false) == 0);
    read_trace();
    sim_check(th_trace_stop(sched) == 0);
    sim_check(th_trace_start(sched, 2, false) == 0); /* a larger one needs other trace buffers */
    sim_check(th_trace_start(sched, 2, false) == -EALREADY);
    read_trace();
    whole_pass(&gate);
    sim_check(th_trace_stop(sched) == 0);
    read_trace();
}

/* Tasks begin and end, and the worker sleeps and wakes, in, between and across two traces. */
SIM_WORLD(trace_on_and_off, .heavy = true) {
    thrum_config config = whole_config(1);
    sched = whole_start_bare(&config);
    int t = sim_spawn(turns_it_on_and_off, NULL);
    for (unsigned i = 0; i < 3; i++) {
        whole_post(sched, i, whole_count, NULL);
    }
    whole_open(&gate);
    sim_join(t);
    whole_stop(sched);
    whole_ran_once(0, 3);
}

static uint64_t runs;

/* Stretches follow each other, and the numbers of those of one fiber do. */
static void count_runs(void) {
    th_trace_copy copy;
    th_traced_mark mark;
    runs = 0;
    sim_check(th_trace_read(sched, &copy) == 0);
    for (unsigned i = 0; i < copy.count; i++) {
        sim_check(copy.buffers[i].dropped == 0);
        for (uint64_t n = 0; n < copy.buffers[i].count; n++) {
            if (th_trace_mark(&copy, &copy.buffers[i].marks[n], &mark) &&
                mark.kind == TH_TRACED_BEGAN) {
                sim_check(mark.fn != 0);
                runs += mark.runs;
            }
        }
    }
    th_trace_forget(sched, &copy);
}

static void reads_now_and_then(void *arg) {
    (void)arg;
    count_runs();
    sim_check(runs <= 5);
}

/* Short runs share marks, whose open one may be read: at the end each run is in one of them. */
SIM_WORLD(trace_series, .heavy = true) {
    thrum_config config = whole_config(1);
    sched = whole_start_bare(&config);
    sim_check(th_trace_start(sched, 30, true) == 0);
    int t = sim_spawn(reads_now_and_then, NULL);
    for (unsigned i = 0; i < 5; i++) {
        whole_post(sched, i, whole_count, NULL);
    }
    sim_join(t);
    sim_check(thrum_sched_wait_idle(sched, THRUM_FOREVER) == 0);
    count_runs();
    sim_check(runs == 5);
    whole_stop(sched);
    whole_ran_once(0, 5);
}

static void binds(void *arg) {
    (void)arg;
    sim_check(thrum_sched_bind(sched) == 0);
    sim_check(thrum_sched_unbind() == 0);
}

/* A thread is bound while a trace goes on, is read, or begins. */
SIM_WORLD(trace_bound, .heavy = true) {
    thrum_config config = whole_config(0);
    sched = whole_start(&config);
    bool before = sim_pick(2) == 0;
    if (before) {
        sim_check(th_trace_start(sched, 1, false) == 0);
    }
    int t = sim_spawn(binds, NULL);
    if (!before) {
        sim_check(th_trace_start(sched, 1, false) == 0);
    }
    read_trace();
    sim_join(t);
    read_trace();
    whole_stop(sched);
}

static th_trace_copy last;

/* The numbers of traces come again. */
SIM_WORLD(trace_numbers, .steps_max = 200000) {
    thrum_config config = whole_config(1);
    sched = whole_start_bare(&config);
    for (unsigned i = 1; i <= 257; i++) {
        sim_check(th_trace_start(sched, 1, false) == 0);
        sim_check(sched->trace.number == (i - 1) % 255 + 1);
        sim_check(th_trace_stop(sched) == 0);
    }
    sim_check(th_trace_read(sched, &last) == 0);
    th_trace_forget(sched, &last);
    whole_stop(sched);
}
