/*
 * rows_time.c: sleeping fibers, by the hundred thousand: what each sleep costs the processor, and
 * how late it ends. And what a task that waits costs in memory.
 */
#include <stdlib.h>
#include <sys/resource.h>

#include "harness.h"

#define SLEEPERS 100000
#define ROUNDS 20

typedef struct sleeper {
    uint32_t random;
    uint32_t rounds;
} sleeper;

static sleeper *sleepers;
static float *lateness; /* us, of each sleep */
static thrum_waitgroup left;

static uint32_t next_random(uint32_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static double cpu_us(void) {
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e6 +
           (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

/* Sleeps of 1 to 100 ms. */
static int sleep_often(void *arg) {
    sleeper *s = arg;
    size_t me = (size_t)(s - sleepers);
    for (unsigned i = 0; i < s->rounds; i++) {
        thrum_time until = thrum_after_us(1000 + next_random(&s->random) % 99001);
        bench_ok(thrum_sleep_until(until));
        thrum_time late = thrum_now() - until;
        bench_check(late >= 0, "a sleep was short by %lld ns", (long long)-late);
        lateness[me * ROUNDS + i] = (float)late / 1000;
    }
    thrum_waitgroup_done(&left);
    return 0;
}

static int start_sleepers(void *arg) {
    unsigned n = *(unsigned *)arg;
    for (unsigned i = 0; i < n; i++)
        bench_ok(thrum_go(sleep_often, &sleepers[i]));
    return 0;
}

static double quantile(size_t n, double share) {
    double *values = malloc(n * sizeof *values);
    bench_check(values != NULL, "no memory");
    for (size_t i = 0; i < n; i++)
        values[i] = lateness[i];
    double value = bench_quantile(values, n, share);
    free(values);
    return value;
}

static void run_sleeps(const bench_args *args, bench_sample *out) {
    unsigned n = bench_scale(args, SLEEPERS, 5000);
    size_t count = (size_t)n * ROUNDS;
    sleepers = calloc(n, sizeof *sleepers);
    lateness = calloc(count, sizeof *lateness);
    bench_check(sleepers != NULL && lateness != NULL, "no memory");
    thrum_waitgroup_init(&left, n);
    for (unsigned i = 0; i < n; i++)
        sleepers[i] = (sleeper){.random = i * 2654435761u + 1, .rounds = ROUNDS};
    bench_span span;
    thrum_sched *sched = bench_start(args);
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    double before = cpu_us();
    bench_span_begin(&span, sched);
    bench_ok(thrum_go_with(&attr, start_sleepers, &n));
    bench_ok(thrum_waitgroup_wait(&left));
    bench_span_end(&span);
    double used = cpu_us() - before;
    bench_stop(sched);
    out[0] = bench_span_value(&span, count, used / (double)count);
    out[1] = bench_span_value(&span, count, quantile(count, 0.5));
    out[2] = bench_span_value(&span, count, quantile(count, 0.99));
    out[3] = bench_span_value(&span, count, quantile(count, 1.0));
    free(lateness);
    free(sleepers);
}

static const bench_case cases[] = {
    {.what = "100,000 fibers that sleep 20 times 1 to 100 ms: CPU time a sleep; how late it ends",
     .rows = {{.name = "sleeps", .unit = "us", .must = BENCH_SCALED, .limit = {0.6, 0.6}},
              {.name = "sleeps-late-p50", .unit = "us"},
              {.name = "sleeps-late-p99", .unit = "us"},
              {.name = "sleeps-late-max", .unit = "us"}},
     .count = 4,
     .workers_min = 1,
     .run = run_sleeps},
};

const bench_theme bench_time = {cases, sizeof(cases) / sizeof(cases[0])};
