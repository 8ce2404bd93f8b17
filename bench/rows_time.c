/*
 * rows_time.c: sleeping fibers, by the hundred thousand, and fewer, so that there is time between
 * them: the processor time of each sleep, and the delay of its end.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "harness.h"

/* So many fibers sleep so often; the first few times of each, while others start, are not noted. */
typedef struct crowd {
    unsigned sleepers;
    unsigned rounds;
    unsigned unnoted;
    unsigned beside; /* tasks that compute for 0.1 ms, queued behind the sleepers */
} crowd;

typedef struct sleeper {
    uint32_t random;
    const crowd *crowd;
} sleeper;

static sleeper *sleepers;

/*
 * How late sleeps end, counted by each worker: to note each by itself would touch a cold line each
 * time, which costs as much as the sleep.
 */
static bench_histogram lateness[THRUM_WORKERS_MAX];
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
    for (unsigned i = 0; i < s->crowd->rounds; i++) {
        thrum_time until = thrum_after_us(1000 + next_random(&s->random) % 99001);
        bench_ok(thrum_sleep_until(until));
        thrum_time late = thrum_now() - until;
        bench_check(late >= 0, "a sleep was short by %lld ns", (long long)-late);
        if (i >= s->crowd->unnoted) {
            bench_histogram_add(&lateness[thrum_worker_id()], (uint64_t)late);
        }
    }
    thrum_waitgroup_done(&left);
    return 0;
}

static int compute(void *arg) {
    (void)arg;
    const thrum_time end = thrum_now() + 100000;
    while (thrum_now() < end) {
        continue;
    }
    return 0;
}

static int start_sleepers(void *arg) {
    const crowd *c = arg;
    for (unsigned i = 0; i < c->sleepers; i++) {
        bench_ok(thrum_go(sleep_often, &sleepers[i]));
    }
    for (unsigned i = 0; i < c->beside; i++) {
        bench_ok(thrum_go(compute, NULL));
    }
    return 0;
}

/* Adds up all workers' counts in the first one's. */
static const bench_histogram *all_lateness(void) {
    for (unsigned w = 1; w < THRUM_WORKERS_MAX; w++) {
        for (unsigned c = 0; c < BENCH_CLASSES; c++) {
            lateness[0].counts[c] += lateness[w].counts[c];
        }
    }
    return &lateness[0];
}

static void sleep_all(const bench_args *args, bench_sample *out, crowd c) {
    unsigned n = c.sleepers;
    size_t count = (size_t)n * c.rounds;
    sleepers = calloc(n, sizeof *sleepers);
    memset(lateness, 0, sizeof lateness);
    bench_check(sleepers != NULL, "no memory");
    thrum_waitgroup_init(&left, n);
    for (unsigned i = 0; i < n; i++) {
        sleepers[i] = (sleeper){.random = i * 2654435761u + 1, .crowd = &c};
    }
    bench_span span;
    thrum_sched *sched = bench_start(args);
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    double before = cpu_us();
    bench_span_begin(&span, sched);
    bench_ok(thrum_go_with(&attr, start_sleepers, &c));
    bench_ok(thrum_waitgroup_wait(&left));
    bench_span_end(&span);
    double used = cpu_us() - before;
    bench_stop(sched);
    const bench_histogram *late = all_lateness();
    bench_keep_histogram(1, late);
    out[0] = bench_span_value(&span, count, used / (double)count);
    out[1] = bench_span_value(&span, count, bench_histogram_quantile(late, 0.5));
    out[2] = bench_span_value(&span, count, bench_histogram_quantile(late, 0.99));
    out[3] = bench_span_value(&span, count, bench_histogram_quantile(late, 1.0));
    free(sleepers);
}

static void run_sleeps(const bench_args *args, bench_sample *out) {
    sleep_all(args, out, (crowd){bench_scale(args, 100000, 5000), 20, 0, 0});
}

/*
 * With almost two microseconds a sleep these keep one worker half busy: 280,000 end in a second.
 * How many they are is the row, so a quick run has fewer rounds.
 */
static void run_sleeps_half(const bench_args *args, bench_sample *out) {
    sleep_all(args, out, (crowd){14000, bench_scale(args, 60, 6), 3, 0});
}

/* Whether sleepers are late because other tasks are queued: these take 0.5 s of processor time. */
static void run_sleeps_beside(const bench_args *args, bench_sample *out) {
    bench_sample all[4];
    sleep_all(args, all, (crowd){100, 4, 0, bench_scale(args, 5000, 500)});
    out[0] = all[1];
    out[1] = all[2];
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
    {.what = "14,000 fibers that sleep 60 times, so that one worker is half busy: the same",
     .rows = {{.name = "sleeps-half", .unit = "us"},
              {.name = "sleeps-half-late-p50", .unit = "us"},
              {.name = "sleeps-half-late-p99", .unit = "us"},
              {.name = "sleeps-half-late-max", .unit = "us"}},
     .count = 4,
     .workers_min = 1,
     .run = run_sleeps_half},
    {.what = "100 fibers that sleep 4 times beside 5,000 tasks of 0.1 ms: how late it ends",
     .rows = {{.name = "sleeps-beside-p50", .unit = "us"},
              {.name = "sleeps-beside-p99", .unit = "us"}},
     .count = 2,
     .workers_min = 1,
     .run = run_sleeps_beside},
};

const bench_theme bench_time = {cases, sizeof(cases) / sizeof(cases[0])};
