/*
 * rows_stall.c: how late small tasks begin while others hold up their workers.
 *
 * One, two or four tasks hold their worker for 1 s each: they block its thread or compute. From
 * their start on a small task is due every 2 ms, which a plain thread posts then; in between one
 * with a deadline is due, set before by a task of each worker in turn. A task's lateness counts
 * from the instant at which it is due. So the poster's own sleep is in it, a tenth of a millisecond
 * or so, and no post is left out because the one before it was late.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

#define PERIOD_NS 2000000
#define LEAD_NS 20000000 /* for setting the deadlines, before anything is held up */

/* A small task, which is due at an instant and begins at another one. */
typedef struct probe {
    thrum_task task;
    int64_t due_ns;
    int64_t began_ns;
    unsigned runs;
} probe;

/* How a task holds its worker. */
typedef struct stall_way {
    thrum_fn hold;         /* the task's body */
    void (*prepare)(void); /* called before the tasks start; NULL: nothing to be done */
    void (*release)(void); /* called when their second is over; NULL: they end by themselves */
} stall_way;

typedef struct stall {
    const stall_way *way;
    unsigned holders;
    int64_t hold_ns;
    atomic_uint begun; /* holders */
    atomic_uint ended;
    int pipe[2];
    pthread_mutex_t mutex;
    int64_t start_ns;
    int64_t end_ns; /* the instant at which all holders were seen to have ended */
    probe *posted;
    probe *timed;
    unsigned max; /* the number of elements in each of both */
    unsigned posts;
    unsigned setters; /* the number of tasks that set deadlines, one on each worker */
    bench_histogram distribution;
} stall;

static stall s;

/* ---- holders of a worker ---- */

static int sleep_on(void *arg) {
    (void)arg;
    atomic_fetch_add(&s.begun, 1);
    bench_sleep_us(s.hold_ns / 1000);
    atomic_fetch_add(&s.ended, 1);
    return 0;
}

static int compute_on(void *arg) {
    (void)arg;
    atomic_fetch_add(&s.begun, 1);
    int64_t end = bench_now() + s.hold_ns;
    while (bench_now() < end) {
        continue;
    }
    atomic_fetch_add(&s.ended, 1);
    return 0;
}

static int read_pipe(void *arg) {
    (void)arg;
    char byte;
    ssize_t got;
    atomic_fetch_add(&s.begun, 1);
    do {
        got = read(s.pipe[0], &byte, 1);
    } while (got < 0 && errno == EINTR);
    bench_check(got == 1, "nothing was read");
    atomic_fetch_add(&s.ended, 1);
    return 0;
}

static void open_pipe(void) {
    bench_ok(pipe(s.pipe));
}

static void write_pipe(void) {
    for (unsigned i = 0; i < s.holders; i++) {
        bench_check(write(s.pipe[1], "", 1) == 1, "nothing was written");
    }
}

static int wait_for_mutex(void *arg) {
    (void)arg;
    atomic_fetch_add(&s.begun, 1);
    bench_ok(pthread_mutex_lock(&s.mutex));
    bench_ok(pthread_mutex_unlock(&s.mutex));
    atomic_fetch_add(&s.ended, 1);
    return 0;
}

static void lock_mutex(void) {
    bench_ok(pthread_mutex_init(&s.mutex, NULL));
    bench_ok(pthread_mutex_lock(&s.mutex));
}

static void unlock_mutex(void) {
    bench_ok(pthread_mutex_unlock(&s.mutex));
}

static const stall_way by_sleep = {.hold = sleep_on};
static const stall_way by_computing = {.hold = compute_on};
static const stall_way by_read = {.hold = read_pipe, .prepare = open_pipe, .release = write_pipe};
static const stall_way by_mutex = {
    .hold = wait_for_mutex, .prepare = lock_mutex, .release = unlock_mutex};

/* ---- work due meanwhile ---- */

static void probe_run(thrum_task *self, void *arg) {
    (void)self;
    probe *p = arg;
    p->began_ns = bench_now();
    p->runs++;
}

static void sleep_until(int64_t ns) {
    struct timespec at = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR) {
        continue;
    }
}

static probe *new_probes(unsigned n, int64_t first_ns) {
    probe *all = calloc(n, sizeof(probe));
    bench_check(all != NULL, "no memory");
    for (unsigned i = 0; i < n; i++) {
        all[i].due_ns = first_ns + (int64_t)i * PERIOD_NS;
        thrum_task_init(&all[i].task, probe_run, &all[i]);
    }
    return all;
}

/* Sets the deadlines of a worker's share, in the timers of that worker. */
static int set_deadlines(void *arg) {
    unsigned mine = (unsigned)((uintptr_t)arg);
    for (unsigned i = mine; i < s.max; i += s.setters) {
        bench_ok(thrum_task_post_until(thrum_sched_current(), &s.timed[i].task, s.timed[i].due_ns));
    }
    return 0;
}

static void set_all_deadlines(thrum_sched *sched) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    for (unsigned i = 0; i < s.setters; i++) {
        attr.worker = (int)i;
        bench_ok(thrum_go_with(&attr, set_deadlines, (void *)(uintptr_t)i));
    }
    bench_ok(thrum_sched_wait_idle(sched, THRUM_FOREVER));
    bench_check(bench_now() < s.start_ns, "setting the deadlines took too long");
}

/* Starts the holders; returns when as many hold a worker as there are workers for. */
static void start_holders(thrum_sched *sched, unsigned workers) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    for (unsigned i = 0; i < s.holders; i++) {
        bench_ok(thrum_go_with(&attr, s.way->hold, NULL));
    }
    while (atomic_load(&s.begun) < (s.holders < workers ? s.holders : workers)) {
        bench_sleep_us(50);
    }
}

/* Posts due work, as long as a worker is held up, and releases the holders in time. */
static void post_meanwhile(thrum_sched *sched) {
    bool held = s.way->release != NULL;
    for (int64_t due = s.start_ns + PERIOD_NS; atomic_load(&s.ended) < s.holders;
         due += PERIOD_NS) {
        sleep_until(due);
        if (held && due >= s.start_ns + s.hold_ns) {
            s.way->release();
            held = false;
        }
        if (s.posts < s.max) {
            bench_ok(thrum_task_post(sched, &s.posted[s.posts++].task));
        }
    }
    s.end_ns = bench_now();
}

/* ---- the figures ---- */

/* How late the probes were that were due before the end; returns their number. */
static unsigned gather(const probe *all, unsigned n, double *late_us) {
    unsigned counted = 0;
    for (unsigned i = 0; i < n; i++) {
        bench_check(all[i].runs == 1, "a task ran %u times", all[i].runs);
        if (all[i].due_ns > s.end_ns) {
            continue;
        }
        int64_t late = all[i].began_ns - all[i].due_ns;
        late_us[counted++] = (double)(late > 0 ? late : 0) / 1000;
    }
    bench_check(counted > 0, "nothing was due");
    return counted;
}

static void report(const bench_span *span, bench_sample *out) {
    double *late_us = calloc(s.max, sizeof(double));
    bench_check(late_us != NULL, "no memory");
    unsigned n = gather(s.posted, s.posts, late_us);
    for (unsigned i = 0; i < n; i++) {
        bench_histogram_add(&s.distribution, (uint64_t)(late_us[i] * 1000));
    }
    bench_keep_histogram(0, &s.distribution);
    out[0] = bench_span_value(span, n, bench_quantile(late_us, n, 0.5));
    out[1] = bench_span_value(span, n, bench_quantile(late_us, n, 0.99));
    out[2] = bench_span_value(span, n, bench_quantile(late_us, n, 1));
    n = gather(s.timed, s.max, late_us);
    out[3] = bench_span_value(span, n, bench_quantile(late_us, n, 0.99));
    free(late_us);
}

static void run_stall(const bench_args *args, bench_sample *out, unsigned holders,
                      const stall_way *way) {
    /* If nothing takes over for a worker, the holders take so many turns. */
    unsigned turns = (holders + args->workers - 1) / args->workers;
    s = (stall){.way = way, .holders = holders, .setters = args->workers};
    s.hold_ns = (int64_t)bench_scale(args, 1000, 50) * 1000000;
    s.max = (unsigned)(turns * s.hold_ns / PERIOD_NS);
    thrum_sched *sched = bench_start(args);
    s.start_ns = bench_now() + LEAD_NS;
    s.posted = new_probes(s.max, s.start_ns + PERIOD_NS);
    s.timed = new_probes(s.max, s.start_ns + PERIOD_NS / 2);
    set_all_deadlines(sched);
    if (way->prepare) {
        way->prepare();
    }
    bench_span span;
    sleep_until(s.start_ns);
    bench_span_begin(&span, sched);
    start_holders(sched, args->workers);
    post_meanwhile(sched);
    bench_span_end(&span);
    bench_ok(thrum_sched_wait_done(sched, THRUM_FOREVER));
    bench_stop(sched);
    report(&span, out);
    free(s.posted);
    free(s.timed);
}

static void run_sleep_1(const bench_args *args, bench_sample *out) {
    run_stall(args, out, 1, &by_sleep);
}

static void run_sleep_2(const bench_args *args, bench_sample *out) {
    run_stall(args, out, 2, &by_sleep);
}

static void run_sleep_4(const bench_args *args, bench_sample *out) {
    run_stall(args, out, 4, &by_sleep);
}

static void run_compute_1(const bench_args *args, bench_sample *out) {
    run_stall(args, out, 1, &by_computing);
}

static void run_compute_2(const bench_args *args, bench_sample *out) {
    run_stall(args, out, 2, &by_computing);
}

static void run_compute_4(const bench_args *args, bench_sample *out) {
    run_stall(args, out, 4, &by_computing);
}

static void run_read_2(const bench_args *args, bench_sample *out) {
    run_stall(args, out, 2, &by_read);
}

static void run_mutex_2(const bench_args *args, bench_sample *out) {
    run_stall(args, out, 2, &by_mutex);
}

/* ---- the rows ---- */

static const unsigned two[] = {2, 0};

/* The rows of a case. Both p99 must be at most `us`; 0: they need not. */
#define STALL_MUST(us) .must = (us) > 0 ? BENCH_FIXED : BENCH_NO_MUST, .limit = {us, us}
#define STALL_ROWS(row, us)                                                                        \
    .rows = {{.name = row "-p50", .unit = "us"},                                                   \
             {.name = row "-p99", .unit = "us", STALL_MUST(us)},                                   \
             {.name = row "-max", .unit = "us"},                                                   \
             {.name = row "-timer-p99", .unit = "us", STALL_MUST(us)}},                            \
    .count = 4, .workers_min = 2, .workers_own = two, .fifo_too = true, .global_too = true

static const bench_case cases[] = {
    {.what = "a task holds its worker for 1 s by nanosleep: how late tasks begin that a plain "
             "thread posts meanwhile, and tasks with a deadline",
     STALL_ROWS("stall-sleep-1", 20000),
     .run = run_sleep_1},
    {.what = "the same with two tasks", STALL_ROWS("stall-sleep-2", 20000), .run = run_sleep_2},
    {.what = "the same with four tasks", STALL_ROWS("stall-sleep-4", 0), .run = run_sleep_4},
    {.what = "the same with one task that computes",
     STALL_ROWS("stall-compute-1", 20000),
     .run = run_compute_1},
    {.what = "the same with two that compute",
     STALL_ROWS("stall-compute-2", 20000),
     .run = run_compute_2},
    {.what = "the same with four that compute",
     STALL_ROWS("stall-compute-4", 0),
     .run = run_compute_4},
    {.what = "the same with two that read a pipe, which is written after 1 s",
     STALL_ROWS("stall-read-2", 20000),
     .run = run_read_2},
    {.what = "the same with two that wait for a pthread mutex, which a plain thread holds for 1 s",
     STALL_ROWS("stall-mutex-2", 20000),
     .run = run_mutex_2},
};

const bench_theme bench_stall = {cases, sizeof(cases) / sizeof(cases[0])};
