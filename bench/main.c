/*
 * main.c: thrum-bench, from its options to its table. README.md explains how to read it.
 *
 * The runs go round: each run takes one sample of every row, yardsticks first, so that a noisy
 * minute spoils one sample of many rows and not all samples of one.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness.h"
#include "report.h"

#define LIST_MAX 16

typedef struct options {
    const char *only; /* names, separated by commas; NULL: all */
    const char *json;
    unsigned workers[LIST_MAX];
    unsigned workers_count;
    bool workers_given;
    thrum_policy policies[LIST_MAX];
    unsigned policies_count;
    bool policies_given;
    unsigned runs;
    unsigned seconds; /* how long a sample may take */
    bool list;
    bool quick;
    bool here;  /* samples are taken in this process */
    bool alone; /* neither yardsticks nor baselines */
    bool stats;
} options;

static const bench_theme *const themes[] = {
    &bench_yardsticks, &bench_switch, &bench_spawn,    &bench_sync,  &bench_turns, &bench_wake,
    &bench_memory,     &bench_timers, &bench_time,     &bench_fifo,  &bench_chan,  &bench_parallel,
    &bench_loops,      &bench_tokio,  &bench_marl,     &bench_study, &bench_lone,  &bench_cancel,
    &bench_stall,      &bench_files,  &bench_priority,
};
#define THEMES (sizeof(themes) / sizeof(themes[0]))

static const char usage[] =
    "usage: thrum-bench [options]\n"
    "  --list                name the rows, say what they measure\n"
    "  --only NAME[,NAME]    these rows (and the yardsticks, except with --in-process)\n"
    "  --workers N[,N]       with so many workers (1,2)\n"
    "  --policy P[,P]        sharded, fifo, global (sharded)\n"
    "  --runs R              samples of each row (5)\n"
    "  --json FILE           write the results there too\n"
    "  --stats               what the scheduler did per operation: switches, steals, wakes, parks\n"
    "  --quick               a twentieth of the work, 3 runs: to see that it works\n"
    "  --alone               neither yardsticks nor baselines\n"
    "  --timeout S           seconds that one sample may take (120)\n"
    "  --in-process          no process for each sample, for debuggers and profilers\n";

/* ---- options ---- */

static _Noreturn void bad_usage(const char *what, const char *value) {
    fprintf(stderr, "thrum-bench: %s: %s\n%s", what, value, usage);
    exit(2);
}

/* Reads a number, from 1, that ends where the text does. */
static unsigned parse_number(const char *text, const char *what) {
    char *end;
    unsigned long value = strtoul(text, &end, 10);
    if (end == text || *end != '\0' || value == 0 || value > 100000) {
        bad_usage(what, text);
    }
    return (unsigned)value;
}

/* Copies the next item of a list separated by commas; false at its end. */
static bool next_item(const char **list, char *item, size_t size) {
    size_t length = strcspn(*list, ",");
    if (length == 0) {
        return false;
    }
    snprintf(item, size, "%.*s", (int)length, *list);
    *list += length + ((*list)[length] == ',');
    return true;
}

static void parse_workers(const char *list, options *o) {
    char item[32];
    o->workers_count = 0;
    o->workers_given = true;
    while (next_item(&list, item, sizeof(item))) {
        if (o->workers_count == LIST_MAX) {
            bad_usage("too many worker counts", item);
        }
        o->workers[o->workers_count++] = parse_number(item, "not a worker count");
    }
}

static thrum_policy parse_policy(const char *name) {
    static const thrum_policy known[] = {THRUM_SHARDED, THRUM_FIFO, THRUM_GLOBAL};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (strcmp(name, bench_policy_name(known[i])) == 0) {
            return known[i];
        }
    }
    bad_usage("not a policy", name);
}

static void parse_policies(const char *list, options *o) {
    char item[32];
    o->policies_count = 0;
    o->policies_given = true;
    while (next_item(&list, item, sizeof(item))) {
        if (o->policies_count == LIST_MAX) {
            bad_usage("too many policies", item);
        }
        o->policies[o->policies_count++] = parse_policy(item);
    }
}

static void parse_option(int option, options *o) {
    switch (option) {
    case 'l':
        o->list = true;
        break;
    case 'o':
        o->only = optarg;
        break;
    case 'w':
        parse_workers(optarg, o);
        break;
    case 'p':
        parse_policies(optarg, o);
        break;
    case 'r':
        o->runs = parse_number(optarg, "not a number of runs");
        break;
    case 'j':
        o->json = optarg;
        break;
    case 'q':
        o->quick = true;
        break;
    case 't':
        o->seconds = parse_number(optarg, "not a number of seconds");
        break;
    case 'a':
        o->alone = true;
        break;
    case 's':
        o->stats = true;
        break;
    case 'i':
        o->here = true;
        break;
    case 'h':
        fputs(usage, stdout);
        exit(0);
    default:
        fputs(usage, stderr);
        exit(2);
    }
}

static void parse_options(int argc, char *const argv[], options *o) {
    static const struct option known[] = {
        {"list", no_argument, NULL, 'l'},
        {"only", required_argument, NULL, 'o'},
        {"workers", required_argument, NULL, 'w'},
        {"policy", required_argument, NULL, 'p'},
        {"runs", required_argument, NULL, 'r'},
        {"json", required_argument, NULL, 'j'},
        {"quick", no_argument, NULL, 'q'},
        {"timeout", required_argument, NULL, 't'},
        {"alone", no_argument, NULL, 'a'},
        {"in-process", no_argument, NULL, 'i'},
        {"stats", no_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    for (int c = getopt_long(argc, argv, "", known, NULL); c != -1;
         c = getopt_long(argc, argv, "", known, NULL)) {
        parse_option(c, o);
    }
    if (optind < argc) {
        bad_usage("not an option", argv[optind]);
    }
    if (o->runs == 0) {
        o->runs = o->quick ? 3 : 5;
    }
}

/* ---- the selection of rows ---- */

/* Whether `name` is in the user's list. */
static bool is_listed(const char *list, const char *name) {
    char item[64];
    while (next_item(&list, item, sizeof(item))) {
        if (strcmp(item, name) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_row(const char *name) {
    for (size_t t = 0; t < THEMES; t++) {
        for (size_t i = 0; i < themes[t]->count; i++) {
            const bench_case *bench = &themes[t]->cases[i];
            for (unsigned part = 0; part < bench->count; part++) {
                if (strcmp(bench->rows[part].name, name) == 0) {
                    return true;
                }
            }
        }
    }
    return false;
}

static void check_only(const char *list) {
    char item[64];
    while (next_item(&list, item, sizeof(item))) {
        if (!is_row(item)) {
            bad_usage("no such row (see --list)", item);
        }
    }
}

static void add_job(bench_jobs *jobs, const options *o, const bench_case *bench, unsigned workers,
                    thrum_policy policy) {
    jobs->list = realloc(jobs->list, (jobs->count + 1) * sizeof(jobs->list[0]));
    if (!jobs->list) {
        abort();
    }
    bench_job *job = &jobs->list[jobs->count++];
    *job = (bench_job){.bench = bench};
    job->args = (bench_args){.workers = workers, .policy = policy, .divide = o->quick ? 20 : 1};
    job->samples = calloc(o->runs, sizeof(job->samples[0]));
    job->baselines = calloc(o->runs, sizeof(job->baselines[0]));
    if (!job->samples || !job->baselines) {
        abort();
    }
    for (unsigned part = 0; part < bench->count; part++) {
        job->wanted[part] = workers == 0 || !o->only || is_listed(o->only, bench->rows[part].name);
    }
}

/* Adds a case on one policy, with each number of workers that makes sense for it. */
static void add_workers(bench_jobs *jobs, const options *o, const bench_case *bench,
                        thrum_policy policy) {
    if (bench->workers_own && !o->workers_given) {
        for (const unsigned *workers = bench->workers_own; *workers != 0; workers++) {
            add_job(jobs, o, bench, *workers, policy);
        }
        return;
    }
    for (unsigned w = 0; w < o->workers_count; w++) {
        if (o->workers[w] < bench->workers_min) {
            continue;
        }
        add_job(jobs, o, bench, o->workers[w], policy);
        if (bench->workers_same && !o->workers_given) {
            break;
        }
    }
}

/* Adds a case, with each policy and each number of workers that makes sense for it. */
static void add_case(bench_jobs *jobs, const options *o, const bench_case *bench) {
    /* Profiles should show the row, and its process should not be tied to a CPU by yardsticks. */
    bool wanted = !o->only || (bench->workers_min == 0 && !o->here && !o->alone);
    for (unsigned part = 0; part < bench->count && !wanted; part++) {
        wanted = is_listed(o->only, bench->rows[part].name);
    }
    if (!wanted) {
        return;
    }
    if (bench->workers_min == 0) {
        add_job(jobs, o, bench, 0, THRUM_SHARDED);
        return;
    }
    for (unsigned p = 0; p < o->policies_count; p++) {
        add_workers(jobs, o, bench, o->policies[p]);
    }
    if (bench->fifo_too && !o->policies_given) {
        add_workers(jobs, o, bench, THRUM_FIFO);
    }
    if (bench->global_too && !o->policies_given) {
        add_workers(jobs, o, bench, THRUM_GLOBAL);
    }
}

static void list_rows(void) {
    for (size_t t = 0; t < THEMES; t++) {
        for (size_t i = 0; i < themes[t]->count; i++) {
            const bench_case *bench = &themes[t]->cases[i];
            for (unsigned part = 0; part < bench->count; part++) {
                printf("%-20s %-6s %s%s%s\n", bench->rows[part].name, bench->rows[part].unit,
                       bench->what, bench->baseline_what ? "; baseline: " : "",
                       bench->baseline_what ? bench->baseline_what : "");
            }
        }
    }
}

/* ---- measuring ---- */

static void show_progress(const options *o, const bench_job *job, unsigned run) {
    if (isatty(STDERR_FILENO)) {
        fprintf(stderr, "\r\033[Krun %u of %u: %s, %u workers", run + 1, o->runs,
                job->bench->rows[0].name, job->args.workers);
    }
}

static void take_samples(const options *o, bench_job *job) {
    bench_sample samples[BENCH_ROWS_MAX];
    job->outcome = bench_sample_take(job->bench->run, &job->args, o->seconds, o->here, samples,
                                     job->histograms, job->note);
    if (job->outcome != BENCH_DONE) {
        return;
    }
    memcpy(job->samples[job->runs++], samples, sizeof(samples));
    if (!job->bench->baseline || o->alone) {
        return;
    }
    bench_histogram *unused[BENCH_ROWS_MAX] = {NULL};
    job->outcome = bench_sample_take(job->bench->baseline, &job->args, o->seconds, o->here, samples,
                                     unused, job->note);
    for (unsigned part = 0; part < BENCH_ROWS_MAX; part++) {
        free(unused[part]);
    }
    if (job->outcome == BENCH_DONE) {
        memcpy(job->baselines[job->baseline_runs++], samples, sizeof(samples));
    }
}

/* Whether all went well; rows that were skipped are no failure. */
static bool measure(const options *o, bench_jobs *jobs) {
    bool well = true;
    for (unsigned run = 0; run < o->runs; run++) {
        for (size_t i = 0; i < jobs->count; i++) {
            bench_job *job = &jobs->list[i];
            if (job->outcome != BENCH_DONE) {
                continue;
            }
            show_progress(o, job, run);
            take_samples(o, job);
            well = well && job->outcome != BENCH_FAILED;
        }
    }
    if (isatty(STDERR_FILENO)) {
        fputs("\r\033[K", stderr);
    }
    return well;
}

int main(int argc, char *argv[]) {
    options o = {.workers = {1, 2},
                 .workers_count = 2,
                 .policies = {THRUM_SHARDED},
                 .policies_count = 1,
                 .seconds = 120};
    parse_options(argc, argv, &o);
    if (o.list) {
        list_rows();
        return 0;
    }
    if (o.only) {
        check_only(o.only);
    }
    bench_jobs jobs = {NULL, 0};
    for (size_t t = 0; t < THEMES; t++) {
        for (size_t i = 0; i < themes[t]->count; i++) {
            add_case(&jobs, &o, &themes[t]->cases[i]);
        }
    }
    bool well = measure(&o, &jobs);
    bench_print_table(stdout, &jobs, o.stats, argc, argv);
    if (o.json && bench_write_json(o.json, &jobs, argc, argv) != 0) {
        fprintf(stderr, "thrum-bench: %s: %m\n", o.json);
        well = false;
    }
    for (size_t i = 0; i < jobs.count; i++) {
        free(jobs.list[i].samples);
        free(jobs.list[i].baselines);
        for (unsigned part = 0; part < BENCH_ROWS_MAX; part++) {
            free(jobs.list[i].histograms[part]);
        }
    }
    free(jobs.list);
    return well ? 0 : 1;
}
