/*
 * rows_wake.c: how fast a scheduler with nothing to do wakes, and what it costs meanwhile.
 *
 * The wake is measured beside a bare futex, turn by turn, by the same waking thread, which blocks
 * right after in both. The kernel places all threads; it likes to run the woken thread on the
 * processor where its waker just went to sleep.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

#include "base/atomic.h"
#include "harness.h"

/* How long all threads are left alone before a wake, so that they sleep. */
#define SETTLE_US 500

/* ---- wake ---- */

typedef struct wake {
    int64_t sent_ns;  /* written by the waker before */
    int64_t awake_ns; /* written by the thread that was woken */
    uint32_t xturn;   /* odd: the thread to be woken has the turn; even: the waker */
    unsigned rounds;
} wake;

/* Gives the turn away and wakes the thread that sleeps for it. */
static void pass_turn(wake *w) {
    /* relaxed: only the thread that has the turn changes it */
    uint32_t turn = th_load_relaxed(&w->xturn);
    th_store_release(&w->xturn, turn + 1); /* pairs: bench_futex_wait; publishes the times */
    bench_futex_wake(&w->xturn);
}

static void answer_task(thrum_task *self, void *arg) {
    (void)self;
    wake *w = arg;
    w->awake_ns = bench_now();
    pass_turn(w);
}

static void *answer_thread(void *arg) {
    wake *w = arg;
    for (unsigned i = 0; i < w->rounds; i++) {
        bench_futex_wait(&w->xturn, 2 * i);
        w->awake_ns = bench_now();
        pass_turn(w);
    }
    return NULL;
}

/* Posts a task to the idle scheduler and blocks until it has run. */
static double wake_scheduler(wake *w, unsigned i, thrum_sched *sched, thrum_task *task) {
    bench_sleep_us(SETTLE_US);
    w->xturn = 2 * i + 1;
    w->sent_ns = bench_now();
    bench_ok(thrum_task_post(sched, task));
    bench_futex_wait(&w->xturn, 2 * i + 1);
    return (double)(w->awake_ns - w->sent_ns) / 1000;
}

static double wake_thread(wake *w, unsigned i) {
    bench_sleep_us(SETTLE_US);
    w->sent_ns = bench_now();
    pass_turn(w);
    bench_futex_wait(&w->xturn, 2 * i + 1);
    return (double)(w->awake_ns - w->sent_ns) / 1000;
}

static void run_wake(const bench_args *args, bench_sample *out) {
    unsigned rounds = bench_scale(args, 1000, 200);
    static bench_histogram distributions[2];
    double *ours_us = calloc(rounds, sizeof(double));
    double *bare_us = calloc(rounds, sizeof(double));
    bench_check(ours_us && bare_us, "no memory");
    wake ours = {.rounds = rounds};
    wake bare = {.rounds = rounds};
    thrum_sched *sched = bench_start(args);
    thrum_task task;
    thrum_task_init(&task, answer_task, &ours);
    pthread_t thread;
    bench_ok(pthread_create(&thread, NULL, answer_thread, &bare));
    bench_span span;
    bench_span_begin(&span, sched);
    for (unsigned i = 0; i < rounds; i++) {
        ours_us[i] = wake_scheduler(&ours, i, sched, &task);
        bare_us[i] = wake_thread(&bare, i);
        bench_histogram_add(&distributions[0], (uint64_t)(ours_us[i] * 1000));
        bench_histogram_add(&distributions[1], (uint64_t)(bare_us[i] * 1000));
    }
    bench_keep_histogram(0, &distributions[0]);
    bench_keep_histogram(2, &distributions[1]);
    bench_span_end(&span);
    bench_ok(pthread_join(thread, NULL));
    thrum_metrics m = bench_metrics(sched);
    bench_check(m.tasks_started == rounds, "%llu tasks were started",
                (unsigned long long)m.tasks_started);
    bench_check(m.parks >= rounds, "the workers slept only %llu times",
                (unsigned long long)m.parks);
    bench_stop(sched);
    out[0] = bench_span_value(&span, rounds, bench_quantile(ours_us, rounds, 0.5));
    out[1] = bench_span_value(&span, rounds, bench_quantile(ours_us, rounds, 0.99));
    out[2] = (bench_sample){.value = bench_quantile(bare_us, rounds, 0.5), .ops = rounds};
    out[3] = (bench_sample){.value = bench_quantile(bare_us, rounds, 0.99), .ops = rounds};
    free(ours_us);
    free(bare_us);
}

/* ---- idle ---- */

static double cpu_us(clockid_t clock) {
    struct timespec used;
    clock_gettime(clock, &used);
    return (double)used.tv_sec * 1e6 + (double)used.tv_nsec / 1e3;
}

/* CPU time of all threads but the measuring one, whose own goes on meanwhile. */
static double cpu_of_others_us(void) {
    double before = cpu_us(CLOCK_THREAD_CPUTIME_ID);
    double all = cpu_us(CLOCK_PROCESS_CPUTIME_ID);
    return all - (before + cpu_us(CLOCK_THREAD_CPUTIME_ID)) / 2;
}

static void count_run(thrum_task *self, void *arg) {
    (void)self;
    thrum_waitgroup_done(arg);
}

/* Lets the workers do something, so that they are idle after work and not merely new. */
static void work_a_little(thrum_sched *sched) {
    static thrum_task tasks[1000];
    thrum_waitgroup done = THRUM_WAITGROUP_INIT(1000);
    for (unsigned i = 0; i < 1000; i++) {
        thrum_task_init(&tasks[i], count_run, &done);
        bench_ok(thrum_task_post(sched, &tasks[i]));
    }
    bench_ok(thrum_waitgroup_wait(&done));
    bench_ok(thrum_sched_wait_idle(sched, thrum_after_s(10)));
    bench_sleep_us(200000);
}

static void run_idle(const bench_args *args, bench_sample *out) {
    int64_t us = bench_scale(args, 2000000, 500000);
    thrum_sched *sched = bench_start(args);
    work_a_little(sched);
    thrum_metrics before = bench_metrics(sched);
    bench_span span;
    bench_span_begin(&span, sched);
    double cpu = cpu_of_others_us();
    bench_sleep_us(us);
    cpu = cpu_of_others_us() - cpu;
    cpu = cpu > 0 ? cpu : 0; /* less than 0 is the error of measuring */
    bench_span_end(&span);
    thrum_metrics after = bench_metrics(sched);
    bench_stop(sched);
    /* A worker that woke and sleeps again has parked once more; one still awake uses CPU time. */
    uint64_t parks = after.parks - before.parks;
    uint64_t timers = after.wakes_timer - before.wakes_timer;
    out[0] = bench_span_value(&span, 1, cpu * 1e9 / span.ns);
    out[1] = bench_span_value(&span, 1, (double)(parks > timers ? parks : timers));
}

static const bench_case cases[] = {
    {.what = "from a post by a plain thread, which then blocks, until the task runs; the bare "
             "futex turn by turn with it",
     .rows = {{.name = "wake-p50",
               .unit = "us",
               .must = BENCH_OF_BASELINE,
               .limit = {1.15, 1.15},
               .baseline_part = 3},
              {.name = "wake-p99", .unit = "us", .baseline_part = 4},
              {.name = "wake-bare-p50", .unit = "us"},
              {.name = "wake-bare-p99", .unit = "us"}},
     .count = 4,
     .workers_min = 1,
     .run = run_wake,
     .baseline_what = "a bare futex"},
    {.what = "CPU time while there is nothing to do for 2 s; times that a worker woke meanwhile",
     .rows = {{.name = "idle", .unit = "us/s"},
              {.name = "idle-wakes", .unit = "count", .must = BENCH_FIXED, .limit = {0, 0}}},
     .count = 2,
     .workers_min = 1,
     .run = run_idle},
};

const bench_theme bench_wake = {cases, sizeof(cases) / sizeof(cases[0])};
