/*
 * rows_parallel.h: shared by the rows that do one piece of work in parallel, and serially as their
 * baseline.
 */
#ifndef BENCH_ROWS_PARALLEL_H
#define BENCH_ROWS_PARALLEL_H

#include "harness.h"

/* One kind of work: made ready, done in parallel or serially, checked. */
typedef struct work {
    void (*prepare)(const bench_args *args);
    void (*parallel)(void);
    void (*serial)(void);
    void (*check)(void);
    uint64_t ops;  /* set by prepare */
    unsigned warm; /* times that it is done before the clock runs */
    bool in_ms;    /* the row is in ms, not in ns per operation */
} work;

static work *measured;
static bench_sample *measured_out;

static inline void take(const thrum_sched *sched, void (*run)(void)) {
    work *w = measured;
    for (unsigned i = 0; i < w->warm; i++) {
        run();
    }
    bench_span span;
    bench_span_begin(&span, sched);
    run();
    bench_span_end(&span);
    w->check();
    *measured_out = w->in_ms ? bench_span_value(&span, w->ops, span.ns / 1e6)
                             : bench_span_per_op(&span, w->ops);
}

static inline int take_inside(void *arg) {
    (void)arg;
    take(thrum_sched_current(), measured->parallel);
    return 0;
}

static inline void run_work(work *w, const bench_args *args, bench_sample *out) {
    measured = w;
    measured_out = out;
    w->prepare(args);
    bench_inside(args, take_inside, NULL);
}

static inline void run_serial(work *w, const bench_args *args, bench_sample *out) {
    measured = w;
    measured_out = out;
    w->prepare(args);
    take(NULL, w->serial);
}

/* run_NAME and serial_NAME for the table, of NAME_work. */
#define ROW(name)                                                                                  \
    static void run_##name(const bench_args *args, bench_sample *out) {                            \
        run_work(&name##_work, args, out);                                                         \
    }                                                                                              \
    static void serial_##name(const bench_args *args, bench_sample *out) {                         \
        run_serial(&name##_work, args, out);                                                       \
    }

#endif
