/*
 * report.h: the measurements, as a table and as JSON.
 */
#ifndef BENCH_REPORT_H
#define BENCH_REPORT_H

#include <stdio.h>

#include "harness.h"

/* A case with its parameters and results. */
typedef struct bench_job {
    const bench_case *bench;
    bench_args args;
    bool wanted[BENCH_ROWS_MAX]; /* which of its rows are reported */
    /* of the samples so far; no further one is taken unless BENCH_DONE */
    bench_outcome outcome;
    char note[BENCH_NOTE_MAX];               /* why it was skipped or has failed */
    unsigned runs;                           /* samples taken */
    bench_sample (*samples)[BENCH_ROWS_MAX]; /* one for each run */
    unsigned baseline_runs;
    bench_sample (*baselines)[BENCH_ROWS_MAX];
    bench_histogram *histograms[BENCH_ROWS_MAX]; /* all runs'; NULL: a row has none */
} bench_job;

typedef struct bench_jobs {
    bench_job *list;
    size_t count;
} bench_jobs;

/* The name of a policy, as the options take it. */
const char *bench_policy_name(thrum_policy policy);

/* The arguments and the THRUM_ variables of this program, as one line to run it again. */
void bench_command(FILE *out, int argc, char *const argv[]);

/* Prints the table; with `stats` also the scheduler's counts for each operation. */
void bench_print_table(FILE *out, const bench_jobs *jobs, bool stats, int argc, char *const argv[]);

/* Returns 0, or -1 when it could not be written; errno has the reason. */
int bench_write_json(const char *path, const bench_jobs *jobs, int argc, char *const argv[]);

#endif
