/*
 * rows_priority.c: how late a task of high priority begins while each worker has more than enough
 * other tasks, which compute 1 ms each.
 *
 * At best, a post comes right before a worker's next pick; at worst, both workers have just begun a
 * task. A task of normal priority that is posted in its place waits behind all that are queued.
 */
#include <stdlib.h>

#include "base/atomic.h"
#include "harness.h"

#define BUSY_NS 1000000
#define BUSY 64      /* such tasks that are queued or run at each time */
#define PAUSE_US 700 /* between two posts */

typedef struct beside {
    thrum_sched *sched;
    thrum_task busy[BUSY];
    uint32_t xstop;
    int64_t began_ns; /* when the high task began; 0: not yet */
    uint32_t xdone;   /* how many have begun */
} beside;

static beside the_beside;

static void computes(thrum_task *self, void *arg) {
    beside *b = arg;
    const int64_t end = bench_now() + BUSY_NS;
    while (bench_now() < end) {
        continue;
    }
    /* relaxed: it orders nothing */
    if (!th_load_relaxed(&b->xstop)) {
        bench_ok(thrum_task_post(b->sched, self));
    }
}

static void begins(thrum_task *self, void *arg) {
    beside *b = arg;
    (void)self;
    b->began_ns = bench_now();
    th_store_release(&b->xdone, b->xdone + 1); /* pairs: bench_futex_wait; when it began */
    bench_futex_wake(&b->xdone);
}

static double post_one(beside *b, thrum_task *task, unsigned i) {
    bench_sleep_us(PAUSE_US);
    const int64_t sent = bench_now();
    bench_ok(thrum_task_post(b->sched, task));
    bench_futex_wait(&b->xdone, i);
    return (double)(b->began_ns - sent) / 1000;
}

static void run_high(const bench_args *args, bench_sample *out) {
    const unsigned rounds = bench_scale(args, 1000, 100);
    static bench_histogram distribution;
    double *us = calloc(rounds, sizeof(double));
    bench_check(us != NULL, "no memory");
    beside *b = &the_beside;
    *b = (beside){.sched = bench_start(args)};
    bench_span span;
    bench_span_begin(&span, b->sched);
    for (unsigned i = 0; i < BUSY; i++) {
        thrum_task_init(&b->busy[i], computes, b);
        bench_ok(thrum_task_post(b->sched, &b->busy[i]));
    }
    thrum_task task = THRUM_TASK_INIT(begins, b);
    bench_ok(thrum_task_set_priority(&task, THRUM_HIGH));
    for (unsigned i = 0; i < rounds; i++) {
        us[i] = post_one(b, &task, i);
        bench_histogram_add(&distribution, (uint64_t)(us[i] * 1000));
    }
    th_store_relaxed(&b->xstop, 1u); /* relaxed: it orders nothing */
    bench_ok(thrum_sched_wait_done(b->sched, thrum_after_s(60)));
    bench_span_end(&span);
    bench_keep_histogram(0, &distribution);
    bench_stop(b->sched);
    out[0] = bench_span_value(&span, rounds, bench_quantile(us, rounds, 0.5));
    out[1] = bench_span_value(&span, rounds, bench_quantile(us, rounds, 0.99));
    free(us);
}

static const bench_case cases[] = {
    {.what = "a task of high priority beside 64 queued tasks of 1 ms: how late it begins",
     .rows =
         {{.name = "high-beside-p50", .unit = "us"},
          {.name = "high-beside-p99", .unit = "us", .must = BENCH_FIXED, .limit = {1500, 1500}}},
     .count = 2,
     .workers_min = 2,
     .run = run_high},
};

const bench_theme bench_priority = {cases, sizeof(cases) / sizeof(cases[0])};
