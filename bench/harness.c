/*
 * harness.c: how one sample is taken: in a child process, over a span, with its counts.
 *
 * The child reports through a pipe: one `report`, written at once, by whichever thread or fiber
 * ends the sample, then its histograms. A child that ends without a report has crashed or was too
 * slow.
 */
#define _GNU_SOURCE
#include "harness.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/atomic.h"

typedef struct report {
    bench_outcome outcome;
    char note[BENCH_NOTE_MAX];
    bench_sample samples[BENCH_ROWS_MAX];
} report;

/*
 * The descriptor to which a sample's process reports; negative: it is taken in the program
 * itself.
 */
static int report_fd = -1;

/* The histograms of this sample's rows. */
static const bench_histogram *kept[BENCH_ROWS_MAX];

/* ---- histograms ---- */

void bench_histogram_add(bench_histogram *h, uint64_t ns) {
    unsigned shift = ns < 32 ? 0 : 59u - (unsigned)__builtin_clzll(ns);
    h->counts[shift == 0 ? (unsigned)ns : shift * 32 + (unsigned)(ns >> (shift - 1)) % 32]++;
}

double bench_class_us(unsigned index) {
    unsigned shift = index / 32;
    return (shift == 0 ? index : (double)((uint64_t)(32 + index % 32) << (shift - 1))) / 1000;
}

double bench_histogram_quantile(const bench_histogram *h, double share) {
    uint64_t all = 0;
    uint64_t seen = 0;
    unsigned last = 0;
    for (unsigned i = 0; i < BENCH_CLASSES; i++) {
        all += h->counts[i];
    }
    for (unsigned i = 0; i < BENCH_CLASSES && (double)seen < share * (double)all; i++) {
        seen += h->counts[i];
        last = h->counts[i] > 0 ? i : last;
    }
    return bench_class_us(last);
}

void bench_keep_histogram(unsigned part, const bench_histogram *h) {
    kept[part] = h;
}

static void add_histogram(bench_histogram *histograms[BENCH_ROWS_MAX], unsigned part,
                          const bench_histogram *more) {
    if (!histograms[part]) {
        histograms[part] = calloc(1, sizeof(bench_histogram));
    }
    if (!histograms[part]) {
        abort();
    }
    for (unsigned i = 0; i < BENCH_CLASSES; i++) {
        histograms[part]->counts[i] += more->counts[i];
    }
}

/* ---- samples ---- */

/* Ends the sample with its result. A report fits a pipe's buffer, so it is written whole. */
static void send_all(const void *from, size_t size) {
    if (write(report_fd, from, size) != (ssize_t)size) {
        _exit(2);
    }
}

static void send_report(const report *r) {
    send_all(r, sizeof(*r));
}

static _Noreturn void end_sample(bench_outcome outcome, const char *format, va_list args) {
    report r = {.outcome = outcome};
    vsnprintf(r.note, sizeof(r.note), format, args);
    if (report_fd < 0) {
        fprintf(stderr, "thrum-bench: %s: %s\n", outcome == BENCH_FAILED ? "failed" : "skipped",
                r.note);
        exit(outcome == BENCH_FAILED ? 1 : 0);
    }
    send_report(&r);
    _exit(0);
}

void bench_skip(const char *format, ...) {
    va_list args;
    va_start(args, format);
    end_sample(BENCH_SKIPPED, format, args);
}

void bench_fail(const char *format, ...) {
    va_list args;
    va_start(args, format);
    end_sample(BENCH_FAILED, format, args);
}

static _Noreturn void run_child(bench_fn fn, const bench_args *args, unsigned seconds) {
    report r = {.outcome = BENCH_DONE};
    alarm(seconds);
    fn(args, r.samples);
    send_report(&r);
    for (unsigned part = 0; part < BENCH_ROWS_MAX; part++) {
        bench_histogram none = {{0}};
        send_all(kept[part] ? kept[part] : &none, sizeof(none));
    }
    _exit(0);
}

/* Reads so much from the child; false if it is cut short: the child's status has the reason. */
static bool read_whole(int fd, void *to, size_t size) {
    size_t got = 0;
    while (got < size) {
        ssize_t n = read(fd, (char *)to + got, size - got);
        if (n == 0 || (n < 0 && errno != EINTR)) {
            break;
        }
        got += n > 0 ? (size_t)n : 0;
    }
    return got == size;
}

static bool is_empty(const bench_histogram *h) {
    static const bench_histogram none;
    return memcmp(h, &none, sizeof(none)) == 0;
}

static void read_histograms(int fd, bench_histogram *histograms[BENCH_ROWS_MAX]) {
    bench_histogram h;
    for (unsigned part = 0; part < BENCH_ROWS_MAX && read_whole(fd, &h, sizeof(h)); part++) {
        if (!is_empty(&h)) {
            add_histogram(histograms, part, &h);
        }
    }
}

static void explain_end(int status, unsigned seconds, report *r) {
    r->outcome = BENCH_FAILED;
    if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM) {
        snprintf(r->note, sizeof(r->note), "not done within %u s", seconds);
    } else if (WIFSIGNALED(status)) {
        snprintf(r->note, sizeof(r->note), "killed: %s", strsignal(WTERMSIG(status)));
    } else {
        snprintf(r->note, sizeof(r->note), "ended with status %d", WEXITSTATUS(status));
    }
}

static void take_in_child(bench_fn fn, const bench_args *args, unsigned seconds, report *r,
                          bench_histogram *histograms[BENCH_ROWS_MAX]) {
    int ends[2];
    if (pipe(ends) != 0) {
        perror("thrum-bench: pipe");
        exit(1);
    }
    fflush(NULL);
    pid_t child = fork();
    if (child < 0) {
        perror("thrum-bench: fork");
        exit(1);
    }
    if (child == 0) {
        close(ends[0]);
        report_fd = ends[1];
        run_child(fn, args, seconds);
    }
    close(ends[1]);
    bool whole = read_whole(ends[0], r, sizeof(*r));
    if (whole && r->outcome == BENCH_DONE) {
        read_histograms(ends[0], histograms);
    }
    close(ends[0]);
    int status = 0;
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
        continue;
    }
    if (!whole) {
        explain_end(status, seconds, r);
    }
}

bench_outcome bench_sample_take(bench_fn fn, const bench_args *args, unsigned seconds, bool here,
                                bench_sample out[BENCH_ROWS_MAX],
                                bench_histogram *histograms[BENCH_ROWS_MAX],
                                char note[BENCH_NOTE_MAX]) {
    report r = {.outcome = BENCH_DONE};
    memset(kept, 0, sizeof(kept));
    if (here) {
        fn(args, r.samples);
    } else {
        take_in_child(fn, args, seconds, &r, histograms);
    }
    for (unsigned part = 0; here && part < BENCH_ROWS_MAX; part++) {
        if (kept[part]) {
            add_histogram(histograms, part, kept[part]);
        }
    }
    memcpy(out, r.samples, sizeof(r.samples));
    memcpy(note, r.note, sizeof(r.note));
    return r.outcome;
}

/* ---- time and counts ---- */

int64_t bench_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

unsigned bench_scale(const bench_args *args, unsigned full, unsigned least) {
    unsigned part = full / args->divide;
    return part < least ? least : part;
}

static uint64_t context_switches_now(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (uint64_t)usage.ru_nvcsw + (uint64_t)usage.ru_nivcsw;
}

static thrum_metrics metrics_now(const thrum_sched *sched) {
    return sched ? bench_metrics(sched) : (thrum_metrics){0};
}

static uint64_t wakes_of(const thrum_metrics *m) {
    return m->wakes_submit + m->wakes_chain + m->wakes_pinned;
}

void bench_span_begin(bench_span *span, const thrum_sched *sched) {
    *span = (bench_span){.sched = sched};
    span->before = metrics_now(sched);
    span->context_switches = context_switches_now();
    span->begin_ns = bench_now();
}

void bench_span_end(bench_span *span) {
    span->ns = (double)(bench_now() - span->begin_ns);
    span->context_switches = context_switches_now() - span->context_switches;
    thrum_metrics after = metrics_now(span->sched);
    const thrum_metrics *before = &span->before;
    span->futex_calls = after.futex_waits + after.futex_wakes;
    span->futex_calls -= before->futex_waits + before->futex_wakes;
    span->fiber_switches = after.switches - before->switches;
    span->steals = after.steals_done - before->steals_done;
    span->wakes = wakes_of(&after) - wakes_of(before);
    span->parks = after.parks - before->parks;
}

bench_sample bench_span_value(const bench_span *span, uint64_t ops, double value) {
    return (bench_sample){.value = value,
                          .ops = ops,
                          .context_switches = span->context_switches,
                          .futex_calls = span->futex_calls,
                          .fiber_switches = span->fiber_switches,
                          .steals = span->steals,
                          .wakes = span->wakes,
                          .parks = span->parks};
}

bench_sample bench_span_per_op(const bench_span *span, uint64_t ops) {
    return bench_span_value(span, ops, span->ns / (double)ops);
}

static int compare_doubles(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_quantile(double *values, size_t n, double share) {
    qsort(values, n, sizeof(values[0]), compare_doubles);
    size_t i = (size_t)(share * (double)n);
    return values[i < n ? i : n - 1];
}

/* ---- schedulers ---- */

thrum_metrics bench_metrics(const thrum_sched *sched) {
    thrum_metrics m = {.size = sizeof(m)};
    bench_ok(thrum_metrics_read(sched, THRUM_ALL_WORKERS, &m));
    return m;
}

thrum_config bench_config(const bench_args *args) {
    thrum_config config;
    thrum_config_init(&config);
    config.name = "bench";
    config.workers = args->workers;
    config.policy = args->policy;
    return config;
}

static void check_started(const bench_args *args, const thrum_sched *sched) {
    unsigned workers = thrum_sched_parallelism(sched);
    bench_check(workers == args->workers, "only %u workers could be started", workers);
}

static void check_start(int err) {
    bench_check(err == 0, "the scheduler did not start: %s", thrum_strerror(err));
}

thrum_sched *bench_start(const bench_args *args) {
    thrum_config config = bench_config(args);
    thrum_sched *sched = NULL;
    check_start(thrum_sched_start(&sched, &config));
    check_started(args, sched);
    return sched;
}

void bench_stop(thrum_sched *sched) {
    bench_ok(thrum_sched_stop(sched));
}

typedef struct inside {
    const bench_args *args;
    thrum_fn entry;
    void *arg;
} inside;

static int run_inside(void *arg) {
    const inside *in = arg;
    check_started(in->args, thrum_sched_current());
    return in->entry(in->arg);
}

void bench_inside(const bench_args *args, thrum_fn entry, void *arg) {
    thrum_config config = bench_config(args);
    inside in = {.args = args, .entry = entry, .arg = arg};
    check_start(thrum_run(&config, run_inside, &in));
}

/* ---- threads ---- */

void bench_threads(unsigned n, void *(*entry)(void *), void *arg) {
    pthread_t *threads = calloc(n, sizeof(threads[0]));
    bench_check(threads != NULL, "no memory for %u threads", n);
    for (unsigned i = 0; i < n; i++) {
        bench_ok(pthread_create(&threads[i], NULL, entry, arg));
    }
    for (unsigned i = 0; i < n; i++) {
        bench_ok(pthread_join(threads[i], NULL));
    }
    free(threads);
}

bool bench_bind_cpu(unsigned n) {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0) {
        return false;
    }
    for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (!CPU_ISSET(cpu, &allowed) || n-- > 0) {
            continue;
        }
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        return sched_setaffinity(0, sizeof(one), &one) == 0;
    }
    return false;
}

void bench_futex_wait(uint32_t *xword, uint32_t value) {
    /* pairs: bench_futex_wake's callers, which store the word with release before */
    while (th_load_acquire(xword) == value) {
        syscall(SYS_futex, xword, FUTEX_WAIT_PRIVATE, value, NULL, NULL, 0);
    }
}

void bench_futex_wake(uint32_t *xword) {
    syscall(SYS_futex, xword, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
}

void bench_sleep_us(int64_t us) {
    struct timespec left = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    while (nanosleep(&left, &left) != 0 && errno == EINTR) {
        continue;
    }
}
