/*
 * report.c: medians, targets and ratios, and writing them.
 *
 * A row's counts (operations, context switches, futex calls, steals) are from the run that gave the
 * median; per operation they are divided by that run's operations.
 */
#define _GNU_SOURCE
#include "report.h"

#include <inttypes.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

#ifndef BENCH_FLAGS
#define BENCH_FLAGS "unknown"
#endif

extern char **environ;

/* ---- statistics ---- */

typedef struct row_stats {
    double median;
    double min;
    double max;
    bench_sample middle; /* the run that gave the median (with an even number, the lower one) */
} row_stats;

static int compare_samples(const void *a, const void *b) {
    double x = ((const bench_sample *)a)->value;
    double y = ((const bench_sample *)b)->value;
    return (x > y) - (x < y);
}

static row_stats stats_of(bench_sample (*samples)[BENCH_ROWS_MAX], unsigned runs, unsigned part) {
    bench_sample *sorted = calloc(runs, sizeof(sorted[0]));
    if (!sorted) {
        abort();
    }
    for (unsigned i = 0; i < runs; i++) {
        sorted[i] = samples[i][part];
    }
    qsort(sorted, runs, sizeof(sorted[0]), compare_samples);
    row_stats stats = {.min = sorted[0].value,
                       .max = sorted[runs - 1].value,
                       .middle = sorted[(runs - 1) / 2],
                       .median = (sorted[(runs - 1) / 2].value + sorted[runs / 2].value) / 2};
    free(sorted);
    return stats;
}

/* The result of a row's baseline, if it has one. */
static bool baseline_of(const bench_job *job, unsigned part, double *value) {
    unsigned other = job->bench->rows[part].baseline_part;
    if (other > 0) {
        *value = stats_of(job->samples, job->runs, other - 1).median;
    } else if (job->baseline_runs > 0) {
        *value = stats_of(job->baselines, job->baseline_runs, part).median;
    } else {
        return false;
    }
    return true;
}

/* How this machine's locked add compares with the one the targets were written for. */
static double machine_scale(const bench_jobs *jobs) {
    for (size_t i = 0; i < jobs->count; i++) {
        const bench_job *job = &jobs->list[i];
        if (strcmp(job->bench->rows[0].name, "yard-rmw") == 0 && job->runs > 0) {
            return stats_of(job->samples, job->runs, 0).median / BENCH_REFERENCE_RMW;
        }
    }
    return 1;
}

/* The value that a row must reach on this machine, if any. */
static bool target_of(const bench_job *job, unsigned part, double scale, double *target) {
    const bench_row *row = &job->bench->rows[part];
    double limit = row->limit[job->args.workers >= 2];
    double baseline;
    switch (row->must) {
    case BENCH_SCALED:
        *target = limit * scale;
        return limit > 0;
    case BENCH_RATE_FIFO:
        *target = limit / scale;
        return job->args.policy == THRUM_FIFO;
    case BENCH_FIXED:
    case BENCH_FIXED_LEAST:
        *target = limit;
        return true;
    case BENCH_OF_BASELINE:
        if (!baseline_of(job, part, &baseline)) {
            return false;
        }
        *target = limit * baseline;
        return true;
    case BENCH_OVER_BASELINE:
        if (!baseline_of(job, part, &baseline)) {
            return false;
        }
        *target = limit + baseline;
        return true;
    case BENCH_NO_MUST:
    default:
        return false;
    }
}

/* ---- the machine ---- */

const char *bench_policy_name(thrum_policy policy) {
    switch (policy) {
    case THRUM_SHARDED:
        return "sharded";
    case THRUM_FIFO:
        return "fifo";
    case THRUM_GLOBAL:
        return "global";
    default:
        return "?";
    }
}

typedef struct machine {
    char cpu[128];
    char kernel[256];
    char date[32];
    int cores;
} machine;

static machine machine_of_this(void) {
    machine m = {.cpu = "unknown", .kernel = "unknown"};
    FILE *info = fopen("/proc/cpuinfo", "r");
    char line[256];
    while (info && fgets(line, sizeof(line), info)) {
        if (sscanf(line, "model name : %127[^\n]", m.cpu) == 1) {
            break;
        }
    }
    if (info) {
        fclose(info);
    }
    struct utsname name;
    if (uname(&name) == 0) {
        snprintf(m.kernel, sizeof(m.kernel), "%s %s %s", name.sysname, name.release, name.machine);
    }
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) {
        m.cores = CPU_COUNT(&allowed);
    }
    time_t now = time(NULL);
    struct tm utc;
    strftime(m.date, sizeof(m.date), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&now, &utc));
    return m;
}

#if defined(__clang__)
#define COMPILER __VERSION__
#else
#define COMPILER "gcc " __VERSION__
#endif

void bench_command(FILE *out, int argc, char *const argv[]) {
    for (char **variable = environ; *variable; variable++) {
        if (strncmp(*variable, "THRUM_", 6) == 0) {
            fprintf(out, "%s ", *variable);
        }
    }
    for (int i = 0; i < argc; i++) {
        fprintf(out, "%s%s", i == 0 ? "" : " ", argv[i]);
    }
}

/* ---- the table ---- */

/* A figure in eight columns, with the digits that mean something. */
static void print_figure(FILE *out, double value) {
    if (value >= 1e9) {
        fprintf(out, " %8.3g", value);
    } else if (value >= 1000) {
        fprintf(out, " %8.0f", value);
    } else if (value >= 100) {
        fprintf(out, " %8.1f", value);
    } else {
        fprintf(out, " %8.2f", value);
    }
}

static void print_optional(FILE *out, bool there, double value) {
    if (there) {
        print_figure(out, value);
    } else {
        fprintf(out, " %8s", "-");
    }
}

static void print_rate(FILE *out, const char *unit, double median) {
    if (strcmp(unit, "ns/op") == 0 && median > 0) {
        fprintf(out, " %8.3gM", 1e3 / median);
    } else {
        fprintf(out, " %9s", "-");
    }
}

/* The output of --stats; only schedulers have such counts. */
static void print_stats(FILE *out, const bench_job *job, const bench_sample *sample, double ops) {
    const uint64_t counts[] = {sample->fiber_switches, sample->steals, sample->wakes,
                               sample->parks};
    for (unsigned i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
        if (job->args.workers > 0) {
            fprintf(out, " %9.2g", (double)counts[i] / ops);
        } else {
            fprintf(out, " %9s", "-");
        }
    }
}

static void print_row(FILE *out, const bench_job *job, unsigned part, double scale,
                      bool stats_too) {
    const bench_row *row = &job->bench->rows[part];
    row_stats stats = stats_of(job->samples, job->runs, part);
    double ops = stats.middle.ops > 0 ? (double)stats.middle.ops : 1;
    double baseline = 0;
    double target = 0;
    bool has_baseline = baseline_of(job, part, &baseline);
    bool has_target = target_of(job, part, scale, &target);
    char workers[16] = "-";
    if (job->args.workers > 0) {
        snprintf(workers, sizeof(workers), "%u", job->args.workers);
    }
    fprintf(out, "%-20s %3s %-8s %-6s", row->name, workers,
            job->args.workers > 0 ? bench_policy_name(job->args.policy) : "-", row->unit);
    print_figure(out, stats.median);
    print_figure(out, stats.min);
    print_figure(out, stats.max);
    print_rate(out, row->unit, stats.median);
    fprintf(out, " %9.2g %9.2g", (double)stats.middle.context_switches / ops,
            (double)stats.middle.futex_calls / ops);
    if (stats_too) {
        print_stats(out, job, &stats.middle, ops);
    }
    print_optional(out, has_baseline, baseline);
    print_optional(out, has_target, target);
    /* a target of nothing at all has no ratio: it is met or missed */
    if (has_target && target > 0) {
        fprintf(out, " %6.2f", stats.median / target);
    } else {
        fprintf(out, " %6s", "-");
    }
    bool least = row->must == BENCH_RATE_FIFO || row->must == BENCH_FIXED_LEAST;
    bool missed = least ? stats.median < target : stats.median > target;
    fprintf(out, "%s\n", has_target && missed ? " miss" : "");
}

void bench_print_table(FILE *out, const bench_jobs *jobs, bool stats, int argc,
                       char *const argv[]) {
    machine m = machine_of_this();
    double scale = machine_scale(jobs);
    fprintf(out, "thrum %s · %s · %d cores · %s · %s\n", thrum_version(), m.cpu, m.cores, m.kernel,
            m.date);
    fprintf(out, "%s · %s\n", COMPILER, BENCH_FLAGS);
    bench_command(out, argc, argv);
    fprintf(out, "\ntimes must be at most `must`, scaled by yard-rmw / %.1f = %.2f\n\n",
            BENCH_REFERENCE_RMW, scale);
    fprintf(out, "%-20s %3s %-8s %-6s %8s %8s %8s %9s %9s %9s", "row", "w", "policy", "unit",
            "median", "min", "max", "op/s", "ctxsw/op", "futex/op");
    if (stats) {
        fprintf(out, " %9s %9s %9s %9s", "switch/op", "steal/op", "wake/op", "park/op");
    }
    fprintf(out, " %8s %8s %6s\n", "baseline", "must", "ratio");
    for (size_t i = 0; i < jobs->count; i++) {
        const bench_job *job = &jobs->list[i];
        for (unsigned part = 0; part < job->bench->count; part++) {
            if (!job->wanted[part]) {
                continue;
            }
            if (job->outcome == BENCH_DONE) {
                print_row(out, job, part, scale, stats);
            } else {
                fprintf(out, "%-20s %3u %-8s %s: %s\n", job->bench->rows[part].name,
                        job->args.workers, bench_policy_name(job->args.policy),
                        job->outcome == BENCH_FAILED ? "FAILED" : "skipped", job->note);
            }
        }
    }
}

/* ---- JSON ---- */

static void json_string(FILE *out, const char *text) {
    putc('"', out);
    for (const char *c = text; *c != '\0'; c++) {
        if (*c == '"' || *c == '\\') {
            putc('\\', out);
        }
        putc((unsigned char)*c < ' ' ? ' ' : *c, out);
    }
    putc('"', out);
}

static void json_field(FILE *out, const char *name, const char *text) {
    fprintf(out, "\"%s\": ", name);
    json_string(out, text);
}

static void json_machine(FILE *out, int argc, char *const argv[]) {
    machine m = machine_of_this();
    char *command = NULL;
    size_t length = 0;
    FILE *memory = open_memstream(&command, &length);
    if (!memory) {
        abort();
    }
    bench_command(memory, argc, argv);
    fclose(memory);
    fprintf(out, "{\"machine\": {");
    json_field(out, "cpu", m.cpu);
    fprintf(out, ", \"cores\": %d, ", m.cores);
    json_field(out, "kernel", m.kernel);
    fprintf(out, ",\n  ");
    json_field(out, "compiler", COMPILER);
    fprintf(out, ", ");
    json_field(out, "flags", BENCH_FLAGS);
    fprintf(out, ",\n  ");
    json_field(out, "command", command);
    fprintf(out, ", ");
    json_field(out, "date", m.date);
    fprintf(out, ", ");
    json_field(out, "thrum", thrum_version());
    fprintf(out, "},\n");
    free(command);
}

/* Pairs of microseconds and how many, of all runs. */
static void json_histogram(FILE *out, const bench_histogram *h) {
    if (!h) {
        return;
    }
    const char *separator = ", \"histogram\": [";
    for (unsigned i = 0; i < BENCH_CLASSES; i++) {
        if (h->counts[i] == 0) {
            continue;
        }
        fprintf(out, "%s[%.6g, %" PRIu32 "]", separator, bench_class_us(i), h->counts[i]);
        separator = ", ";
    }
    fprintf(out, "]");
}

static void json_row(FILE *out, const bench_job *job, unsigned part, double scale) {
    const bench_row *row = &job->bench->rows[part];
    row_stats stats = stats_of(job->samples, job->runs, part);
    fprintf(out, "  {");
    json_field(out, "name", row->name);
    fprintf(out, ", \"workers\": %u, ", job->args.workers);
    json_field(out, "policy", job->args.workers > 0 ? bench_policy_name(job->args.policy) : "none");
    fprintf(out, ", ");
    json_field(out, "unit", row->unit);
    fprintf(out, ", \"median\": %.6g, \"min\": %.6g, \"max\": %.6g", stats.median, stats.min,
            stats.max);
    fprintf(out,
            ", \"ops\": %" PRIu64 ", \"context_switches\": %" PRIu64 ", \"futex_calls\": %" PRIu64,
            stats.middle.ops, stats.middle.context_switches, stats.middle.futex_calls);
    fprintf(out,
            ", \"fiber_switches\": %" PRIu64 ", \"steals\": %" PRIu64 ", \"wakes\": %" PRIu64
            ", \"parks\": %" PRIu64,
            stats.middle.fiber_switches, stats.middle.steals, stats.middle.wakes,
            stats.middle.parks);
    json_histogram(out, job->histograms[part]);
    double value;
    if (baseline_of(job, part, &value)) {
        fprintf(out, ", \"baseline\": %.6g", value);
    }
    if (target_of(job, part, scale, &value)) {
        fprintf(out, ", \"must\": %.6g", value);
    }
    fprintf(out, "}");
}

/* Writes the rows that are reported and have this outcome, separated by commas. */
static void json_rows(FILE *out, const bench_jobs *jobs, bool done) {
    double scale = machine_scale(jobs);
    const char *separator = "\n";
    for (size_t i = 0; i < jobs->count; i++) {
        const bench_job *job = &jobs->list[i];
        for (unsigned part = 0; part < job->bench->count; part++) {
            if (!job->wanted[part] || (job->outcome == BENCH_DONE) != done) {
                continue;
            }
            fputs(separator, out);
            separator = ",\n";
            if (done) {
                json_row(out, job, part, scale);
                continue;
            }
            fprintf(out, "  {");
            json_field(out, "name", job->bench->rows[part].name);
            fprintf(out, ", \"workers\": %u, ", job->args.workers);
            json_field(out, "policy", bench_policy_name(job->args.policy));
            fprintf(out, ", \"failed\": %s, ", job->outcome == BENCH_FAILED ? "true" : "false");
            json_field(out, "why", job->note);
            fprintf(out, "}");
        }
    }
}

int bench_write_json(const char *path, const bench_jobs *jobs, int argc, char *const argv[]) {
    FILE *out = fopen(path, "w");
    if (!out) {
        return -1;
    }
    json_machine(out, argc, argv);
    fprintf(out, " \"rows\": [");
    json_rows(out, jobs, true);
    fprintf(out, "\n ],\n \"missing\": [");
    json_rows(out, jobs, false);
    fprintf(out, "\n ]}\n");
    bool failed = ferror(out) != 0;
    return fclose(out) != 0 || failed ? -1 : 0;
}
