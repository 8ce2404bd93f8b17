/*
 * rows_lone.c: the wait of a task that is queued behind a computing one, while another worker
 * sleeps.
 *
 * It takes turns with a bare futex wake by the same computing thread, which computes on after it
 * too. Worker and thread to be woken are tied to the second CPU, their wakers to the first: left
 * to the kernel, a woken thread may run on the CPU of its waker, which is not free.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "base/atomic.h"
#include "harness.h"

/* How long the task that starts the other one computes on. */
#define COMPUTE_NS 10000000

typedef struct lone lone;

/* A step of a row. The other one, when it begins, stores the time. */
typedef void (*lone_fn)(lone *l);

struct lone {
    unsigned rounds;
    lone_fn start;  /* queues the other one */
    lone_fn settle; /* waits for it, or begins it, when the computing is over */
    int64_t sent_ns;
    int64_t began_ns; /* 0: it has not begun */
    uint32_t xturn;   /* how often the bare thread was woken */
    int64_t bare_ns;  /* when it ran */
    int bare_cpu;     /* the CPU that it is tied to; -1: not yet */
    thrum_fork fork;
    double *ours_us;
    double *bare_us;
    bench_histogram distributions[2];
};

static void began(lone *l) {
    int64_t now = bench_now();
    th_store_release(&l->began_ns, now); /* pairs: measure_ours; when it began */
}

/* Stands for a computation that has nothing to do with the scheduler. */
static void compute_until(int64_t end_ns) {
    while (bench_now() < end_ns) {
        continue;
    }
}

static double measure_ours(lone *l) {
    l->began_ns = 0;
    l->sent_ns = bench_now();
    l->start(l);
    compute_until(l->sent_ns + COMPUTE_NS);
    l->settle(l);
    int64_t at = th_load_acquire(&l->began_ns); /* pairs: began */
    bench_check(at != 0, "it has not begun");
    return (double)(at - l->sent_ns) / 1000;
}

static double measure_bare(lone *l) {
    th_store_release(&l->bare_ns, 0); /* pairs: sleep_for_wakes */
    l->sent_ns = bench_now();
    /* pairs: bench_futex_wait; publishes the writes above */
    th_store_release(&l->xturn, l->xturn + 1);
    bench_futex_wake(&l->xturn);
    compute_until(l->sent_ns + COMPUTE_NS);
    int64_t at;
    while (!(at = th_load_acquire(&l->bare_ns))) { /* pairs: sleep_for_wakes */
        continue;
    }
    return (double)(at - l->sent_ns) / 1000;
}

static void *sleep_for_wakes(void *arg) {
    lone *l = arg;
    bench_check(bench_bind_cpu(1), "can't be tied to a CPU");
    th_store_release(&l->bare_cpu, sched_getcpu()); /* pairs: computing; where it runs */
    for (uint32_t i = 0; i < l->rounds; i++) {
        bench_futex_wait(&l->xturn, i);
        int64_t now = bench_now();
        th_store_release(&l->bare_ns, now); /* pairs: measure_bare; when it ran */
    }
    return NULL;
}

static int computing(void *arg) {
    lone *l = arg;
    int theirs = -1;
    while (theirs < 0) {
        theirs = th_load_acquire(&l->bare_cpu); /* pairs: sleep_for_wakes; where it runs */
    }
    bench_check(sched_getcpu() != theirs, "waker and woken share CPU %d", theirs);
    compute_until(bench_now() + COMPUTE_NS);
    for (unsigned i = 0; i < l->rounds; i++) {
        l->ours_us[i] = measure_ours(l);
        l->bare_us[i] = measure_bare(l);
        bench_histogram_add(&l->distributions[0], (uint64_t)(l->ours_us[i] * 1000));
        bench_histogram_add(&l->distributions[1], (uint64_t)(l->bare_us[i] * 1000));
    }
    return 0;
}

/* Starts a scheduler whose workers have a CPU each; the first one's is the computing task's. */
static thrum_sched *start_tied(const bench_args *args) {
    static const unsigned cpus[] = {0, 1};
    thrum_config config = bench_config(args);
    config.affinity = THRUM_AFFINITY_ONE;
    config.cpus = cpus;
    config.cpus_count = 2;
    thrum_sched *sched;
    bench_ok(thrum_sched_start(&sched, &config));
    return sched;
}

static void run_lone(const bench_args *args, bench_sample *out, lone_fn start, lone_fn settle) {
    static lone l;
    l = (lone){
        .rounds = bench_scale(args, 300, 50), .start = start, .settle = settle, .bare_cpu = -1};
    l.ours_us = calloc(l.rounds, sizeof(double));
    l.bare_us = calloc(l.rounds, sizeof(double));
    bench_check(l.ours_us && l.bare_us, "no memory");
    thrum_sched *sched = start_tied(args);
    pthread_t thread;
    bench_ok(pthread_create(&thread, NULL, sleep_for_wakes, &l));
    bench_span span;
    bench_span_begin(&span, sched);
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    attr.flags = THRUM_PINNED;
    attr.worker = 0;
    bench_ok(thrum_go_with(&attr, computing, &l));
    bench_ok(thrum_sched_wait_idle(sched, THRUM_FOREVER));
    bench_span_end(&span);
    bench_ok(pthread_join(thread, NULL));
    bench_stop(sched);
    bench_keep_histogram(0, &l.distributions[0]);
    bench_keep_histogram(2, &l.distributions[1]);
    out[0] = bench_span_value(&span, l.rounds, bench_quantile(l.ours_us, l.rounds, 0.5));
    out[1] = bench_span_value(&span, l.rounds, bench_quantile(l.ours_us, l.rounds, 0.99));
    out[2] = (bench_sample){.value = bench_quantile(l.bare_us, l.rounds, 0.5), .ops = l.rounds};
    out[3] = (bench_sample){.value = bench_quantile(l.bare_us, l.rounds, 0.99), .ops = l.rounds};
    free(l.ours_us);
    free(l.bare_us);
}

/* ---- the started work ---- */

static int lone_body(void *arg) {
    began(arg);
    return 0;
}

static void start_task(lone *l) {
    bench_ok(thrum_go(lone_body, l));
}

/* A task that has not begun is begun here, so that its figure shows its delay. */
static void settle_task(lone *l) {
    while (!th_load_acquire(&l->began_ns)) { /* pairs: began */
        thrum_yield();
    }
}

static void start_fork(lone *l) {
    thrum_fork_start(&l->fork, lone_body, l);
}

static void settle_fork(lone *l) {
    (void)thrum_fork_join(&l->fork);
}

static void run_lone_task(const bench_args *args, bench_sample *out) {
    run_lone(args, out, start_task, settle_task);
}

static void run_lone_fork(const bench_args *args, bench_sample *out) {
    run_lone(args, out, start_fork, settle_fork);
}

/* ---- the rows ---- */

static const unsigned two[] = {2, 0};

static const bench_case cases[] = {
    {.what = "a task starts one other and computes on; a worker sleeps; until the other begins. "
             "The bare futex turn by turn with it",
     .rows = {{.name = "lone-task-p50",
               .unit = "us",
               .must = BENCH_OVER_BASELINE,
               .limit = {50, 50},
               .baseline_part = 3},
              {.name = "lone-task-p99",
               .unit = "us",
               .must = BENCH_OF_BASELINE,
               .limit = {2, 2},
               .baseline_part = 4},
              {.name = "lone-task-bare-p50", .unit = "us"},
              {.name = "lone-task-bare-p99", .unit = "us"}},
     .count = 4,
     .workers_min = 2,
     .workers_own = two,
     .fifo_too = true,
     .run = run_lone_task,
     .baseline_what = "a bare futex"},
    {.what = "the same with one fork in the other's place",
     .rows = {{.name = "lone-fork-p50",
               .unit = "us",
               .must = BENCH_OVER_BASELINE,
               .limit = {50, 50},
               .baseline_part = 3},
              {.name = "lone-fork-p99",
               .unit = "us",
               .must = BENCH_OF_BASELINE,
               .limit = {2, 2},
               .baseline_part = 4},
              {.name = "lone-fork-bare-p50", .unit = "us"},
              {.name = "lone-fork-bare-p99", .unit = "us"}},
     .count = 4,
     .workers_min = 2,
     .workers_own = two,
     .fifo_too = true,
     .run = run_lone_fork,
     .baseline_what = "a bare futex"},
};

const bench_theme bench_lone = {cases, sizeof(cases) / sizeof(cases[0])};
