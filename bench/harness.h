/*
 * harness.h: the rows of the benchmark, and their measurement.
 *
 * Words
 *   case      one piece of work that gives one or more rows, e.g. the wake latency's p50 and p99
 *   row       one named figure with a unit; its name and unit are those of the project's targets
 *   sample    the result of one measurement of a row
 *   span      a stretch of time with its counts: context switches, futex calls, steals histogram
 *   how a sample's figures are distributed, for rows that are one of their quantiles
 *   baseline  the simplest program for the same work, or the least cost that the work could have
 *   must      the value that the row has to reach on the reference machine
 *
 * Each sample is taken in a separate process (see bench_sample_take): memory starts out clean, a
 * row that hangs or crashes fails alone, and every row may use globals.
 */
#ifndef BENCH_HARNESS_H
#define BENCH_HARNESS_H

#include "thrum.h"

/* The most rows that one case gives. */
#define BENCH_ROWS_MAX 4

/* The cost of a locked add on the machine for which the musts were written, in ns. */
#define BENCH_REFERENCE_RMW 5.6

/* The parameters of one measurement. */
typedef struct bench_args {
    unsigned workers;
    thrum_policy policy;
    unsigned divide; /* how many times less work than the row's definition (--quick); else 1 */
} bench_args;

typedef struct bench_sample {
    double value;              /* in the row's unit */
    uint64_t ops;              /* how many operations were counted */
    uint64_t context_switches; /* the kernel's */
    uint64_t futex_calls;
    uint64_t fiber_switches; /* these and the rest are the scheduler's (thrum_metrics) */
    uint64_t steals;         /* searches through other workers that found something */
    uint64_t wakes; /* wakes that were sent: for new work, on by a searcher, for pinned work */
    uint64_t parks; /* times that a worker went to sleep */
} bench_sample;

/*
 * How many figures fell into each class of nanoseconds. Classes are a 32nd apart, so a quantile is
 * true to 3 %, and counting touches few lines.
 */
#define BENCH_CLASSES (64 * 32)
typedef struct bench_histogram {
    uint32_t counts[BENCH_CLASSES];
} bench_histogram;

/* How a must is to be read. */
typedef enum {
    BENCH_NO_MUST,
    BENCH_SCALED, /* time: it grows with the machine's locked add; 0: none for that many workers */
    BENCH_FIXED,  /* bytes and counts: the same everywhere */
    BENCH_RATE_FIFO,    /* operations a second, at least: divided by the locked add; fifo only */
    BENCH_FIXED_LEAST,  /* at least so much, everywhere */
    BENCH_OF_BASELINE,  /* so many times the baseline of the same run */
    BENCH_OVER_BASELINE /* so much more than the baseline of the same run */
} bench_must;

typedef struct bench_row {
    const char *name;
    const char *unit;
    bench_must must;
    double limit[2];        /* with one worker, with two or more */
    unsigned baseline_part; /* 1 + the part of the same case that is its baseline; 0: the case's */
} bench_row;

typedef void (*bench_fn)(const bench_args *args, bench_sample *out);

typedef struct bench_case {
    const char *what; /* one line for --list */
    bench_row rows[BENCH_ROWS_MAX];
    unsigned count;       /* how many rows there are */
    unsigned workers_min; /* fewer make no sense; 0: it has no workers, and is measured once */
    bool workers_same;    /* the worker count changes nothing: by default measured with the least */
    const unsigned *workers_own; /* by default measured with these, up to a 0; NULL: with all's */
    bool fifo_too;               /* by default measured on the fifo policy as well */
    bool global_too;             /* by default measured on the global policy as well */
    bench_fn run;      /* fills a sample for each row, or calls bench_skip or bench_fail */
    bench_fn baseline; /* NULL: none; fills a value (in the row's unit) for each row */
    const char *baseline_what;
} bench_case;

/* The cases of one file, in the order in which they are measured. */
typedef struct bench_theme {
    const bench_case *cases;
    size_t count;
} bench_theme;

extern const bench_theme bench_yardsticks;
extern const bench_theme bench_switch;
extern const bench_theme bench_spawn;
extern const bench_theme bench_sync;
extern const bench_theme bench_turns;
extern const bench_theme bench_wake;
extern const bench_theme bench_lone;
extern const bench_theme bench_memory;
extern const bench_theme bench_time;
extern const bench_theme bench_priority;
extern const bench_theme bench_timers;
extern const bench_theme bench_fifo;
extern const bench_theme bench_chan;
extern const bench_theme bench_parallel;
extern const bench_theme bench_loops;
extern const bench_theme bench_tokio;
extern const bench_theme bench_marl;
extern const bench_theme bench_study;
extern const bench_theme bench_cancel;
extern const bench_theme bench_stall;
extern const bench_theme bench_files;

/* ---- for the rows ---- */

/* Nanoseconds on the monotonic clock, the same for thrum and for the baselines. */
int64_t bench_now(void);

/* The work of the row's definition, or the part of it that --quick leaves; at least `least`. */
unsigned bench_scale(const bench_args *args, unsigned full, unsigned least);

/* Ends this sample: the row is left out, with the reason (bench_skip), or has failed. */
_Noreturn void bench_skip(const char *format, ...) __attribute__((format(printf, 1, 2)));
_Noreturn void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Fails the row unless the condition holds, such as that the work was done, and done once. */
#define bench_check(cond, ...) ((cond) ? (void)0 : bench_fail(__VA_ARGS__))
/* Fails the row unless the call returned 0. */
#define bench_ok(call) bench_check((call) == 0, "%s failed", #call)

typedef struct bench_span {
    const thrum_sched *sched; /* the one whose futex calls are counted; NULL: none */
    thrum_metrics before;
    uint64_t context_switches;
    uint64_t futex_calls;
    uint64_t fiber_switches, steals, wakes, parks;
    int64_t begin_ns;
    double ns;
} bench_span;

/*
 * The clock is read last at the begin and first at the end, so that the counting is not timed.
 * Context switches are those of the whole process.
 */
void bench_span_begin(bench_span *span, const thrum_sched *sched);
void bench_span_end(bench_span *span);

/* The time of one operation. */
bench_sample bench_span_per_op(const bench_span *span, uint64_t ops);
/* The span's counts, with another figure as the value. */
bench_sample bench_span_value(const bench_span *span, uint64_t ops, double value);

/* The scheduler's counters at present, of all workers. */
thrum_metrics bench_metrics(const thrum_sched *sched);

/* The configuration that a sample requests; all else is from the environment. */
thrum_config bench_config(const bench_args *args);

/* Starts a scheduler with all of its workers, and stops it. */
thrum_sched *bench_start(const bench_args *args);
void bench_stop(thrum_sched *sched);

/* Runs `entry(arg)` as the first fiber of such a scheduler and waits for all that it started. */
void bench_inside(const bench_args *args, thrum_fn entry, void *arg);

/* The value below which the given share of them lies; sorts them. */
double bench_quantile(double *values, size_t n, double share);

void bench_histogram_add(bench_histogram *h, uint64_t ns);

/* The class below which the given share lies, in us. */
double bench_histogram_quantile(const bench_histogram *h, double share);

/* The least of a class, in us. */
double bench_class_us(unsigned index);

/* This sample's row `part` is reported with its distribution. `h` stays where it is. */
void bench_keep_histogram(unsigned part, const bench_histogram *h);

/* Plain threads for the baselines: starts n of them and waits for their ends. */
void bench_threads(unsigned n, void *(*entry)(void *), void *arg);

/* Ties the calling thread to the n-th CPU that it may use; false when there are not so many. */
bool bench_bind_cpu(unsigned n);

/* Bare futexes, for baselines. The wait returns when *xword is no longer `value`. */
void bench_futex_wait(uint32_t *xword, uint32_t value);
void bench_futex_wake(uint32_t *xword);

/* Puts the whole thread to sleep. */
void bench_sleep_us(int64_t us);

/* ---- for the program ---- */

typedef enum { BENCH_DONE, BENCH_SKIPPED, BENCH_FAILED } bench_outcome;

#define BENCH_NOTE_MAX 160

/*
 * Takes one sample of a case in a child process, which may last so many seconds; `note` has the
 * reason if it was skipped or has failed. Histograms are added to the present ones, and made if
 * there is none. With `here` it is taken in this process, for debuggers and profilers: a failure
 * then ends the program.
 */
bench_outcome bench_sample_take(bench_fn fn, const bench_args *args, unsigned seconds, bool here,
                                bench_sample out[BENCH_ROWS_MAX],
                                bench_histogram *histograms[BENCH_ROWS_MAX],
                                char note[BENCH_NOTE_MAX]);

#endif
