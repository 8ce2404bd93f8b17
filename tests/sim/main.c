/*
 * main.c: the command line: which worlds, how, how often; a line for each; the findings.
 */
#define _GNU_SOURCE
#include <fnmatch.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

typedef struct options {
    const char *world;
    const char *mode;
    const char *strategy;
    const char *replay;
    uint64_t runs;
    uint64_t seed;
    int64_t run;
    double seconds;
    double scale;
    bool list;
    bool list_heavy;
    bool rows; /* print nothing but the lines */
    bool quiet;
} options;

static const char usage[] =
    "usage: sim [options]\n"
    "  --list             the worlds\n"
    "  --world PATTERN    only these (shell pattern; several with commas)\n"
    "  --mode M           seq, tso or c11 (default: c11 most, the others a little)\n"
    "  --strategy S       random, pct, bounded or exhaustive (default: all that fit)\n"
    "  --runs N           runs of each world, strategy and mode\n"
    "  --scale PERCENT    of the default runs\n"
    "  --seconds S        at most so long for each\n"
    "  --seed N           another seed, other runs (default 1)\n"
    "  --run N            only the N-th run of a seed, traced\n"
    "  --replay FILE      the decisions of a file, traced\n";

static bool wanted(const options *o, const sim_world *w) {
    if (!o->world) {
        return true;
    }
    char *patterns = strdup(o->world);
    bool yes = false;
    for (char *p = strtok(patterns, ","); p; p = strtok(NULL, ",")) {
        yes = yes || fnmatch(p, w->name, 0) == 0;
    }
    free(patterns);
    return yes;
}

static int index_of(const char *const names[], int n, const char *name) {
    for (int i = 0; i < n; i++) {
        if (strcmp(names[i], name) == 0) {
            return i;
        }
    }
    fprintf(stderr, "unknown: %s\n%s", name, usage);
    exit(2);
}

/* ---- outcomes of litmus tests ---- */

#define OUTCOMES 64
typedef struct outcomes {
    char text[OUTCOMES][16];
    uint64_t times[OUTCOMES];
    unsigned count;
} outcomes;

/* It lives in the engine's mapping, not in a static variable. */
static outcomes *reached(void) {
    return (outcomes *)(void *)E->scratch;
}

static void add_outcome(const char *text) {
    outcomes *o = reached();
    for (unsigned i = 0; i < o->count; i++) {
        if (strcmp(o->text[i], text) == 0) {
            o->times[i]++;
            return;
        }
    }
    if (o->count < OUTCOMES) {
        snprintf(o->text[o->count], sizeof o->text[0], "%.15s", text);
        o->times[o->count++] = 1;
    }
}

static bool in_list(const char *list, const char *word) {
    size_t n = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at += n) {
        if ((at == list || at[-1] == ' ') && (at[n] == 0 || at[n] == ' ')) {
            return true;
        }
    }
    return false;
}

/* Whether exactly the allowed ones were reached. */
static bool outcomes_right(const char *allowed, bool complete, char *text, size_t size) {
    outcomes *o = reached();
    size_t used = 0;
    bool right = true;
    text[0] = 0;
    for (unsigned i = 0; i < o->count; i++) {
        bool ok = in_list(allowed, o->text[i]);
        right = right && ok;
        if (used < size) {
            used += (size_t)snprintf(text + used, size - used, "%s%s%s", i ? " " : "", o->text[i],
                                     ok ? "" : "(FORBIDDEN)");
        }
    }
    char *copy = strdup(allowed);
    for (char *w = strtok(copy, " "); w; w = strtok(NULL, " ")) {
        bool there = false;
        for (unsigned i = 0; i < o->count; i++) {
            there = there || strcmp(o->text[i], w) == 0;
        }
        if (!there && complete && used < size) {
            used += (size_t)snprintf(text + used, size - used, " %s(NOT REACHED)", w);
        }
        right = right && (there || !complete);
    }
    free(copy);
    return right;
}

/* ---- one row ---- */

typedef struct totals {
    uint64_t rows, bad, runs, distinct;
    double seconds;
} totals;

/*
 * How far a search came: "complete", or with how many old values (in mode tso: stores that reach
 * memory early) at most. A world declared as small must not end before one of them.
 */
static bool searched(const options *o, const sim_world *w, memory_mode mode, const tally *t,
                     char *text, size_t size) {
    unsigned bound = w->preemptions ? w->preemptions : 2;
    bool enough = t->complete && (mode == M_SEQ || t->old > 0);
    bool must = w->exhaustive && !o->runs && o->seconds <= 0 && (mode == M_SEQ || o->scale >= 100);
    if (!t->complete) {
        snprintf(text, size, "%s at %u preemptions", must ? "NOT COMPLETE" : "not complete", bound);
    } else if (t->old == OLD_ALL) {
        snprintf(text, size, "complete at %u preemptions", bound);
    } else {
        snprintf(text, size, "complete at %u preemptions, %u %s", bound, t->old,
                 mode == M_TSO ? "early" : "old");
    }
    return must && !enough;
}

/* Whether something was found. */
static bool row(const options *o, totals *sum, const sim_world *w, strategy s, memory_mode mode,
                uint64_t runs) {
    plan p = {.world = w,
              .strategy = s,
              .mode = mode,
              .runs = runs,
              .seed = o->seed,
              .seconds_max = o->seconds};
    tally t = {0};
    memset(reached(), 0, sizeof(outcomes));
    E->on_outcome = add_outcome;
    distinct_begin(runs);
    bool failed = explore(&p, &t);
    uint64_t run = p.first + t.runs - 1;

    char verdict[256] = "";
    bool bad = failed;
    const char *allowed = mode == M_SEQ   ? w->outcomes_seq
                          : mode == M_TSO ? w->outcomes_tso
                                          : w->outcomes;
    if (w->expect) {
        bool may =
            mode == M_C11 || (mode == M_TSO && w->expect_tso) || (mode == M_SEQ && w->expect_seq);
        snprintf(verdict, sizeof verdict, "%s%s",
                 failed ? "found: "
                 : may  ? "not yet found"
                        : "not there",
                 failed ? E->fault : "");
        bad = failed && (!may || !in_list(w->expect, E->fault));
    } else if (allowed && !failed) {
        bad = !outcomes_right(allowed, s == S_EXHAUSTIVE ? t.complete : true, verdict,
                              sizeof verdict);
        if (s == S_EXHAUSTIVE && !t.complete) {
            snprintf(verdict, sizeof verdict, "NOT COMPLETE");
            bad = true;
        }
    } else if (s == S_EXHAUSTIVE && !failed) {
        bad = searched(o, w, mode, &t, verdict, sizeof verdict);
    }
    char line[512];
    snprintf(line, sizeof line, "%-28s %-10s %-4s %10llu %10llu %6.0f %6llu %08x %8.2f %9.0f  %s%s",
             w->name, strategy_names[s], mode_names[mode], (unsigned long long)t.runs,
             (unsigned long long)t.distinct, (double)t.steps_sum / (double)t.runs,
             (unsigned long long)t.steps_max, (unsigned)(t.digest >> 32), t.seconds,
             t.seconds > 0 ? (double)t.runs / t.seconds : 0.0, bad ? "FAULT " : "", verdict);
    puts(line);
    fflush(stdout);
    if (bad && failed) {
        report_fault(&p, run);
    }
    sum->rows++;
    sum->bad += bad;
    sum->runs += t.runs;
    sum->distinct += t.distinct;
    sum->seconds += t.seconds;
    return failed;
}

/* Searches all of a small world in mode seq. */
#define SEARCH_LEAST 50000

static uint64_t default_runs(const sim_world *w, strategy s, memory_mode mode) {
    if (s == S_EXHAUSTIVE) {
        return w->outcomes ? 2000000 : w->heavy ? 20000 : 1000000;
    }
    uint64_t runs = w->heavy ? 2000 : 30000;
    if (w->runs) {
        runs = w->runs;
    }
    return mode == M_C11 ? runs : runs / 4 + 1;
}

static void world_rows(const options *o, totals *sum, const sim_world *w) {
    for (int mode = M_COUNT - 1; mode >= 0; mode--) {
        if (o->mode && strcmp(o->mode, mode_names[mode]) != 0) {
            continue;
        }
        bool found = false;
        bool must = w->expect && (mode == M_C11 || (mode == M_TSO && w->expect_tso) ||
                                  (mode == M_SEQ && w->expect_seq));
        for (int s = S_RANDOM; s <= S_EXHAUSTIVE && !found; s++) {
            if (o->strategy         ? strcmp(o->strategy, strategy_names[s]) != 0
                : s == S_EXHAUSTIVE ? !w->exhaustive
                                    : w->outcomes != NULL) {
                continue;
            }
            uint64_t runs = o->runs ? o->runs : default_runs(w, (strategy)s, (memory_mode)mode);
            if (must && o->scale < 100) {
                /* All of its runs: it ends with the first that finds the fault. */
            } else if (!o->runs && s != S_EXHAUSTIVE) {
                runs = (uint64_t)((double)runs * o->scale / 100.0) + 1;
            } else if (!o->runs && !w->outcomes && !w->expect && o->scale < 100) {
                double fewer = (double)runs * o->scale / 100.0;
                runs = fewer < SEARCH_LEAST ? SEARCH_LEAST : (uint64_t)fewer;
            }
            found = row(o, sum, w, (strategy)s, (memory_mode)mode, runs) && w->expect;
        }
        if (must && !found) {
            printf("%-28s NOT FOUND in mode %s: %s\n", w->name, mode_names[mode], w->expect);
            sum->bad++;
        }
    }
}

/* ---- replay ---- */

static const sim_world *world_named(const char *name) {
    for (const sim_world *w = world_first(); w; w = w->next) {
        if (strcmp(w->name, name) == 0) {
            return w;
        }
    }
    fprintf(stderr, "no world is called %s\n", name);
    exit(2);
}

static int replay_file(const char *path) {
    FILE *f = fopen(path, "r");
    if (!f) {
        perror(path);
        return 2;
    }
    char world[64];
    char mode[16];
    unsigned l[6];
    if (fscanf(f, "world %63s mode %15s limits %u %u %u %u %u %u choices", world, mode, &l[0],
               &l[1], &l[2], &l[3], &l[4], &l[5]) != 8) {
        fprintf(stderr, "%s: not a file of choices\n", path);
        return 2;
    }
    E->limits = (limits){.refusals = (uint8_t)l[0],
                         .timers = (uint8_t)l[1],
                         .spurious = (uint8_t)l[2],
                         .inserts = l[3] != 0,
                         .reuse = l[4] != 0,
                         .fair = l[5] != 0};
    uint32_t count = 0;
    unsigned at;
    unsigned choice;
    memset(E->given, 0, LOG_MAX);
    while (fscanf(f, " %u:%u", &at, &choice) == 2 && at < LOG_MAX) {
        E->given[at] = (uint8_t)choice;
        count = at + 1;
    }
    fclose(f);
    trace_given(world_named(world), (memory_mode)index_of(mode_names, M_COUNT, mode), count);
    return E->failed;
}

static int one_run(const options *o) {
    const sim_world *w = world_named(o->world ? o->world : "");
    int mode = index_of(mode_names, M_COUNT, o->mode ? o->mode : "c11");
    int s = index_of(strategy_names, S_COUNT, o->strategy ? o->strategy : "random");
    warm_up(w, (memory_mode)mode, o->seed);
    run_once(w, (strategy)s, (memory_mode)mode, o->seed, (uint64_t)o->run);
    memcpy(E->given, E->log, E->log_count);
    trace_given(w, (memory_mode)mode, E->log_count);
    return E->failed;
}

static int parse(options *o, int argc, char **argv) {
    static const struct option longs[] = {{"list", no_argument, NULL, 'l'},
                                          {"list-heavy", no_argument, NULL, 'h'},
                                          {"rows", no_argument, NULL, 'b'},
                                          {"world", required_argument, NULL, 'w'},
                                          {"mode", required_argument, NULL, 'm'},
                                          {"strategy", required_argument, NULL, 's'},
                                          {"runs", required_argument, NULL, 'n'},
                                          {"scale", required_argument, NULL, 'c'},
                                          {"seconds", required_argument, NULL, 't'},
                                          {"seed", required_argument, NULL, 'x'},
                                          {"run", required_argument, NULL, 'r'},
                                          {"replay", required_argument, NULL, 'p'},
                                          {NULL, 0, NULL, 0}};
    int c;
    while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        switch (c) {
        case 'l':
            o->list = true;
            break;
        case 'b':
            o->rows = true;
            break;
        case 'h':
            o->list = o->list_heavy = true;
            break;
        case 'w':
            o->world = optarg;
            break;
        case 'm':
            index_of(mode_names, M_COUNT, optarg);
            o->mode = optarg;
            break;
        case 's':
            index_of(strategy_names, S_COUNT, optarg);
            o->strategy = optarg;
            break;
        case 'n':
            o->runs = strtoull(optarg, NULL, 10);
            break;
        case 'c':
            o->scale = strtod(optarg, NULL);
            break;
        case 't':
            o->seconds = strtod(optarg, NULL);
            break;
        case 'x':
            o->seed = strtoull(optarg, NULL, 10);
            break;
        case 'r':
            o->run = strtoll(optarg, NULL, 10);
            break;
        case 'p':
            o->replay = optarg;
            break;
        default:
            fputs(usage, stderr);
            return 2;
        }
    }
    return 0;
}

int main(int argc, char **argv) {
    options o = {.seed = 1, .run = -1, .scale = 100};
    if (argc > 1 && strcmp(argv[1], "mutate") == 0) {
        engine_start();
        return mutate_main(argc - 1, argv + 1);
    }
    if (parse(&o, argc, argv)) {
        return 2;
    }
    engine_start();
    if (o.list) {
        for (const sim_world *w = world_first(); w; w = w->next) {
            if (wanted(&o, w) && (!o.list_heavy || w->heavy)) {
                printf("%s\n", w->name);
            }
        }
        return 0;
    }
    if (o.replay) {
        return replay_file(o.replay);
    }
    if (o.run >= 0) {
        return one_run(&o);
    }
    totals sum = {0};
    if (!o.rows) {
        printf("%-28s %-10s %-4s %10s %10s %6s %6s %8s %8s %9s\n", "world", "strategy", "mode",
               "runs", "distinct", "steps", "most", "digest", "seconds", "runs/s");
    }
    for (const sim_world *w = world_first(); w; w = w->next) {
        if (wanted(&o, w)) {
            world_rows(&o, &sum, w);
        }
    }
    if (o.rows) {
        return sum.bad != 0;
    }
    printf("%llu rows, %llu runs, %llu distinct, %.1f s: %s\n", (unsigned long long)sum.rows,
           (unsigned long long)sum.runs, (unsigned long long)sum.distinct, sum.seconds,
           sum.bad    ? "FAULTS"
           : sum.rows ? "no fault"
                      : "no such world");
    return sum.bad || !sum.rows;
}
