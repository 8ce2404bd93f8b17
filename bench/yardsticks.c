/*
 * yardsticks.c: this machine's cost of the operations of which a scheduler consists. They are
 * measured first in every run: the first one scales the targets, the others explain the rest.
 *
 * The loops chain each operation to the one before (same word), as a scheduler meets them.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "base/cc.h"
#include "harness.h"

/* A word that has its cache line, and the neighbour that is fetched with it, to itself. */
typedef struct lone_word {
    _Alignas(TH_CACHE_LINE) uint32_t xvalue;
} lone_word;

static lone_word word;
static lone_word other;

/* ---- instructions ---- */

/*
 * The best of some stretches counts: other programs can only add to the time of an instruction, and
 * the scale of the targets should not depend on them.
 */
#define STRETCHES 10

static void run_stretches(const bench_args *args, bench_sample *out, void (*stretch)(uint32_t n)) {
    uint32_t n = bench_scale(args, 2000000, 200000);
    for (unsigned i = 0; i < STRETCHES; i++) {
        bench_span span;
        word.xvalue = 0;
        bench_span_begin(&span, NULL);
        stretch(n);
        bench_span_end(&span);
        bench_check(word.xvalue == n, "%u of %u operations were done", word.xvalue, n);
        bench_sample sample = bench_span_per_op(&span, n);
        if (i == 0 || sample.value < out[0].value) {
            out[0] = sample;
        }
    }
}

static void stretch_rmw(uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        th_add_seq(&word.xvalue, 1u); /* seq: no race; it is the instruction that is timed */
    }
}

static void stretch_fence(uint32_t n) {
    uint32_t seen = 0;
    for (uint32_t i = 1; i <= n; i++) {
        /* relaxed: the fence orders the two, and no other thread reads it */
        th_store_relaxed(&word.xvalue, i);
        th_fence_seq(); /* seq: no race; it is the instruction that is timed */
        /* relaxed: as above */
        seen |= th_load_relaxed(&other.xvalue);
    }
    bench_check(seen == 0, "another thread wrote here");
}

/* Times it with the load that comes before it in practice. */
static void stretch_cas(uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        /* relaxed: no other thread writes it */
        uint32_t expected = th_load_relaxed(&word.xvalue);
        /* seq: no race; it is the instruction that is timed */
        if (!th_cas_seq(&word.xvalue, &expected, expected + 1)) {
            bench_fail("a compare-exchange without rivals failed");
        }
    }
}

static void run_rmw(const bench_args *args, bench_sample *out) {
    run_stretches(args, out, stretch_rmw);
}

static void run_fence(const bench_args *args, bench_sample *out) {
    run_stretches(args, out, stretch_fence);
}

static void run_cas(const bench_args *args, bench_sample *out) {
    run_stretches(args, out, stretch_cas);
}

/* ---- a cache line between two cores ---- */

typedef struct line_work {
    unsigned rounds;
    uint32_t xready; /* whether the echo has its core */
} line_work;

/* Spins until the word is `value`. */
static void spin_for(uint32_t *xword, uint32_t value) {
    /* pairs: run_line, echo_line; each publishes only the word itself */
    while (th_load_acquire(xword) != value) {
        continue;
    }
}

static void *echo_line(void *arg) {
    line_work *work = arg;
    if (!bench_bind_cpu(1)) {
        bench_skip("there is only one CPU");
    }
    th_store_release(&work->xready, 1u); /* pairs: spin_for */
    for (uint32_t i = 1; i <= work->rounds; i++) {
        spin_for(&word.xvalue, 2 * i - 1);
        th_store_release(&word.xvalue, 2 * i); /* pairs: spin_for */
    }
    return NULL;
}

static void run_line(const bench_args *args, bench_sample *out) {
    line_work work = {.rounds = bench_scale(args, 200000, 20000)};
    pthread_t echo;
    bench_ok(pthread_create(&echo, NULL, echo_line, &work));
    bench_check(bench_bind_cpu(0), "can't be tied to a CPU");
    spin_for(&work.xready, 1);
    word.xvalue = 0;
    bench_span span;
    bench_span_begin(&span, NULL);
    for (uint32_t i = 1; i <= work.rounds; i++) {
        th_store_release(&word.xvalue, 2 * i - 1); /* pairs: spin_for */
        spin_for(&word.xvalue, 2 * i);
    }
    bench_span_end(&span);
    bench_ok(pthread_join(echo, NULL));
    bench_check(word.xvalue == 2 * work.rounds, "the line did not come back");
    out[0] = bench_span_per_op(&span, work.rounds);
}

/* ---- the kernel ---- */

static void run_syscall(const bench_args *args, bench_sample *out) {
    unsigned n = bench_scale(args, 2000000, 100000);
    long parent = getppid();
    unsigned done = 0;
    bench_span span;
    bench_span_begin(&span, NULL);
    for (unsigned i = 0; i < n; i++) {
        done += syscall(SYS_getppid) == parent;
    }
    bench_span_end(&span);
    bench_check(done == n, "getppid changed its mind");
    out[0] = bench_span_per_op(&span, n);
}

typedef struct futex_work {
    unsigned rounds;
    int64_t sent_ns; /* written before the wake */
    double *latencies_us;
    uint32_t xturn; /* odd: the sleeper's, even: the waker's; a new number each time */
} futex_work;

static void pass_turn(futex_work *work, uint32_t turn) {
    th_store_release(&work->xturn,
                     turn); /* pairs: bench_futex_wait; publishes sent_ns and latencies_us */
    bench_futex_wake(&work->xturn);
}

static void *sleep_for_wakes(void *arg) {
    futex_work *work = arg;
    if (!bench_bind_cpu(1)) {
        bench_skip("there is only one CPU");
    }
    for (uint32_t i = 0; i < work->rounds; i++) {
        bench_futex_wait(&work->xturn, 2 * i);
        work->latencies_us[i] = (double)(bench_now() - work->sent_ns) / 1000;
        pass_turn(work, 2 * i + 2);
    }
    return NULL;
}

/* Lets the sleeper fall asleep, then wakes it; the waker blocks at once after its wake. */
static void run_futex(const bench_args *args, bench_sample *out) {
    futex_work work = {.rounds = bench_scale(args, 1000, 200)};
    work.latencies_us = calloc(work.rounds, sizeof(double));
    bench_check(work.latencies_us != NULL, "no memory");
    pthread_t sleeper;
    bench_ok(pthread_create(&sleeper, NULL, sleep_for_wakes, &work));
    bench_check(bench_bind_cpu(0), "can't be tied to a CPU");
    bench_span span;
    bench_span_begin(&span, NULL);
    for (uint32_t i = 0; i < work.rounds; i++) {
        bench_sleep_us(300);
        work.sent_ns = bench_now();
        pass_turn(&work, 2 * i + 1);
        bench_futex_wait(&work.xturn, 2 * i + 1);
    }
    bench_span_end(&span);
    bench_ok(pthread_join(sleeper, NULL));
    double p50 = bench_quantile(work.latencies_us, work.rounds, 0.5);
    double p99 = bench_quantile(work.latencies_us, work.rounds, 0.99);
    out[0] = bench_span_value(&span, work.rounds, p50);
    out[1] = bench_span_value(&span, work.rounds, p99);
    free(work.latencies_us);
}

/* ---- the rows ---- */

static const bench_case cases[] = {
    {.what = "a locked add, in the nearest cache",
     .rows = {{.name = "yard-rmw", .unit = "ns/op"}},
     .count = 1,
     .run = run_rmw},
    {.what = "a store, a fence, a load",
     .rows = {{.name = "yard-fence", .unit = "ns/op"}},
     .count = 1,
     .run = run_fence},
    {.what = "a load and a compare-exchange that succeeds",
     .rows = {{.name = "yard-cas", .unit = "ns/op"}},
     .count = 1,
     .run = run_cas},
    {.what = "a cache line to the other core and back",
     .rows = {{.name = "yard-line", .unit = "ns/op"}},
     .count = 1,
     .run = run_line},
    {.what = "the shortest system call",
     .rows = {{.name = "yard-syscall", .unit = "ns/op"}},
     .count = 1,
     .run = run_syscall},
    {.what = "a futex wake, until the other core runs the sleeper",
     .rows = {{.name = "yard-futex-p50", .unit = "us"}, {.name = "yard-futex-p99", .unit = "us"}},
     .count = 2,
     .run = run_futex},
};

const bench_theme bench_yardsticks = {cases, sizeof(cases) / sizeof(cases[0])};
