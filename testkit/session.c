/*
 * session.c: the exploration of a test: it runs the test in different orders until one fails, and
 * then reports that one.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hosts/hosts.h"
#include "kit.h"

#define LEARNING 16u /* runs that measure the typical length of a run */
#define SEARCHED 2u  /* an exhaustive search has up to so many workers by default */

#define POLICIES 3u
static const char *const policy_names[POLICIES] = {"any", "sharded", "fifo"};
const thrum_policy kit_policies[POLICIES] = {THRUM_GLOBAL, THRUM_SHARDED, THRUM_FIFO};

/* It is not static: the program's data is restored before each run. */
typedef struct session {
    kit_test test;
    sim_world world;
    thrum_test_options options;
    bool of_main; /* of thrum_test_main */
} session;
static session *S;

const thrum_test_options *kit_options(void) {
    return &S->options;
}

const kit_test *kit_test_now(void) {
    return &S->test;
}

/* The strategy, the workers and the policy of a run: by the options, or in turn by its number. */
static strategy configure(uint64_t run) {
    const thrum_test_options *o = &S->options;
    S->test.workers = o->workers ? o->workers : 2 + (unsigned)(run / 3 % 3);
    S->test.policy = (unsigned)(run / 9 % 2 ? 1 + run / 18 % 2 : 0); /* any every second time */
    for (unsigned i = 0; i < POLICIES; i++) {
        if (o->policy && !strcmp(o->policy, policy_names[i])) {
            S->test.policy = i;
        }
    }
    for (int s = S_RANDOM; s <= S_EXHAUSTIVE; s++) {
        if (o->strategy && !strcmp(o->strategy, strategy_names[s])) {
            return (strategy)s;
        }
    }
    return (strategy)(S_RANDOM + run % 3);
}

/* ---- a schedule as text ---- */

/* "2s:17=1,40=3": the workers, the policy's first letter, and the decisions that are not 0. */
static void print_schedule(FILE *out, uint32_t count) {
    char mark = ':';
    fprintf(out, "%u%c", S->test.workers, policy_names[S->test.policy][0]);
    for (uint32_t i = 0; i < count; i++) {
        if (E->given[i]) {
            fprintf(out, "%c%u=%u", mark, i, E->given[i]);
            mark = ',';
        }
    }
}

static bool read_schedule(const char *text, uint32_t *count) {
    char *end;
    S->test.workers = (unsigned)strtoul(text, &end, 10);
    S->test.policy = POLICIES;
    for (unsigned i = 0; i < POLICIES; i++) {
        if (*end == policy_names[i][0]) {
            S->test.policy = i;
        }
    }
    if (S->test.policy == POLICIES || S->test.workers < 1 ||
        S->test.workers > THRUM_TEST_WORKERS_MAX) {
        return false;
    }
    memset(E->given, 0, LOG_MAX);
    *count = 0;
    for (end++; *end == ':' || *end == ',';) {
        unsigned long at = strtoul(end + 1, &end, 10);
        if (*end != '=' || at >= LOG_MAX) {
            return false;
        }
        const unsigned long value = strtoul(end + 1, &end, 10);
        if (value > UINT8_MAX) {
            return false;
        }
        E->given[at] = (uint8_t)value;
        *count = at >= *count ? (uint32_t)at + 1 : *count;
    }
    return !*end;
}

/* ---- reports ---- */

static bool trace(uint32_t count) {
    kit_mute(false);
    E->tracing = true;
    E->words_count = 0;
    E->race_cell = NULL;
    memset(E->race_steps, 0, sizeof E->race_steps);
    bool failed = replay(&S->world, kit_mode, E->given, count);
    if (failed && E->race_cell) { /* once more, for the earlier of two accesses */
        E->words_count = 0;
        failed = replay(&S->world, kit_mode, E->given, count);
    }
    E->tracing = false;
    fflush(NULL);
    return failed;
}

/* The program's own arguments, as the system has them: main may have changed argv. */
static void print_arguments(FILE *out) {
    FILE *file = fopen("/proc/self/cmdline", "r");
    char *argument = NULL;
    size_t size = 0;
    bool first = true;
    bool is_value = false; /* of an option of the kit */
    while (file && getdelim(&argument, &size, '\0', file) > 0) {
        bool plain = argument[0] != '\0';
        if (is_value) {
            is_value = false;
            continue;
        }
        if (!first && kit_is_option(argument, &is_value)) {
            continue;
        }
        for (const char *c = argument; *c; c++) {
            plain = plain && (isalnum((unsigned char)*c) || strchr("_-./=:,+@%", *c));
        }
        if (plain) {
            fprintf(out, "%s ", argument);
        } else {
            fputc('\'', out);
            for (const char *c = argument; *c; c++) {
                fprintf(out, *c == '\'' ? "'\\%c'" : "%c", *c);
            }
            fputs("' ", out);
        }
        first = false;
    }
    if (first) {
        fprintf(out, "%s ", program_invocation_name);
    }
    free(argument);
    if (file) {
        fclose(file);
    }
}

static void print_again(FILE *out, uint32_t count) {
    fprintf(out, "\n  To repeat it: ");
    if (!S->of_main) {
        fprintf(out, "run only this test, with %sTHRUM_TEST_REPLAY=",
                kit_atomics ? "THRUM_TEST_GRANULARITY=atomics " : "");
        print_schedule(out, count);
        fprintf(out, " in the environment\n");
        return;
    }
    print_arguments(out);
    if (kit_atomics) {
        fprintf(out, "--granularity atomics ");
    }
    if (S->world.steps_max != (thrum_test_options)THRUM_TEST_OPTIONS_INIT.steps) {
        fprintf(out, "--steps %u ", S->world.steps_max);
    }
    if (S->options.ignore_leaks) {
        fprintf(out, "--leaks no ");
    }
    if (S->options.ignore_mistakes) {
        fprintf(out, "--mistakes no ");
    }
    fprintf(out, "--replay ");
    print_schedule(out, count);
    fprintf(out, "\n");
}

/* Follows the decisions once more, and prints what happens. */
static int show(uint32_t count, const char *when) {
    const bool failed = trace(count);
    if (!failed) {
        printf("%s: the schedule passed%s\n", program_invocation_short_name,
               S->options.replay ? " (it is valid only for the program that printed it)" : "");
    } else {
        printf("%s: FAILED%s, with %u worker%s, policy %s\n", program_invocation_short_name, when,
               S->test.workers, S->test.workers == 1 ? "" : "s", policy_names[S->test.policy]);
    }
    if (failed || S->options.trace) {
        kit_print_run(stdout, S->options.trace);
    }
    if (failed) {
        print_again(stdout, count);
    }
    return failed;
}

/* Takes the decisions of the last run from its log. */
static uint32_t take_log(void) {
    const uint32_t count = E->log_count;
    memset(E->given, 0, LOG_MAX);
    memcpy(E->given, E->log, count);
    return count;
}

static int report(uint64_t run) {
    char fault[sizeof E->fault];
    char when[96];
    uint32_t count = E->log_count;
    uint8_t *log = malloc(LOG_MAX);
    memcpy(log, E->log, count);
    memcpy(fault, E->fault, sizeof fault);
    /* A hang is not minimised: each of its runs takes ten seconds. */
    if (strcmp(fault, "hang") != 0 && replay(&S->world, kit_mode, log, count) &&
        !strcmp(E->fault, fault)) {
        count = minimise(&S->world, kit_mode, log, count);
    }
    memset(E->given, 0, LOG_MAX);
    memcpy(E->given, log, count);
    free(log);
    snprintf(when, sizeof when, " in schedule %llu of seed %llu", (unsigned long long)run + 1,
             (unsigned long long)S->options.seed);
    return show(count, when);
}

/* ---- exploring ---- */

/* All schedules with one worker, then with two, and so on. */
static int search(void) {
    const unsigned most = S->options.workers ? S->options.workers : SEARCHED;
    uint64_t runs = 0;
    unsigned complete = 0;  /* the search is complete up to this number of workers */
    unsigned old = OLD_ALL; /* and with so many old values, at least */
    distinct_begin(S->options.runs);
    for (unsigned workers = 1; workers <= most && complete == workers - 1; workers++) {
        tally t = {0};
        const plan p = {.world = &S->world,
                        .strategy = S_EXHAUSTIVE,
                        .mode = kit_mode,
                        .runs = S->options.runs - runs,
                        .seed = S->options.seed};
        S->test.workers = workers;
        if (explore(&p, &t)) {
            return report(runs + t.runs - 1);
        }
        runs += t.runs;
        complete += t.complete;
        old = t.complete && t.old < old ? t.old : old;
    }
    const uint32_t last = take_log();
    kit_mute(false);
    printf("%s: %llu schedules passed; ", program_invocation_short_name, (unsigned long long)runs);
    if (complete < most) {
        printf("NOT complete with %u worker%s (--runs); ", complete + 1, complete ? "s" : "");
    }
    if (complete) {
        char values[40] = "";
        if (kit_mode != M_SEQ && old != OLD_ALL) {
            snprintf(values, sizeof values, ", %u old value%s", old, old == 1 ? "" : "s");
        }
        printf("complete at %s, up to %u preemption%s%s, for %s%u worker%s, policy %s\n",
               kit_atomics ? "atomics" : "calls", S->world.preemptions,
               S->world.preemptions == 1 ? "" : "s", values, complete > 1 ? "1 to " : "", complete,
               complete > 1 ? "s" : "", policy_names[S->test.policy]);
    } else {
        printf("nothing is complete\n");
    }
    return S->options.trace ? show(last, "") : 0;
}

static int explore_all(void) {
    const double began = seconds_now();
    uint64_t digest = 0, steps = 0;
    distinct_begin(S->options.runs);
    E->steps_typical = 0;
    for (uint64_t run = 0; run < S->options.runs; run++) {
        const strategy s = configure(run);
        if (run_once(&S->world, s, kit_mode, S->options.seed, run)) {
            return report(run);
        }
        if (run < LEARNING) {
            steps += E->steps;
            E->steps_typical = steps / (run + 1);
        }
        distinct_add(E->hash);
        digest = (digest ^ E->hash ^ E->steps) * 0x9fb21c651e98df25ull;
    }
    const double took = seconds_now() - began;
    const uint32_t last = take_log();
    kit_mute(false);
    printf("%s: %llu schedules passed, %llu of them distinct, %.0f a second (seed %llu, digest "
           "%08x)\n",
           program_invocation_short_name, (unsigned long long)S->options.runs,
           (unsigned long long)distinct_count(), (double)S->options.runs / (took > 0 ? took : 1),
           (unsigned long long)S->options.seed, (unsigned)(digest >> 32));
    return S->options.trace ? show(last, "") : 0;
}

static int run_session(void) {
    if (S->options.replay) {
        uint32_t count;
        if (!read_schedule(S->options.replay, &count)) {
            fprintf(stderr, "%s: not a schedule: %s\n", program_invocation_short_name,
                    S->options.replay);
            return S->of_main ? 2 : -EINVAL;
        }
        return show(count, "");
    }
    kit_mute(!S->options.output);
    return configure(0) == S_EXHAUSTIVE ? search() : explore_all();
}

static void run_begins(void) {
    kit_locals_put_back();
    hosts_begin();
}

int kit_run(const thrum_test_options *options, thrum_fn test, void *arg, bool of_main) {
    kit_check_jump();
    if (E && E->current) { /* also of another thread */
        return -EDEADLK;
    }
    thrum_test_options all = THRUM_TEST_OPTIONS_INIT;
    if (!test || (options && options->size < sizeof all)) {
        return -EINVAL;
    }
    all = options ? *options : all;
    if (!kit_options_check(&all) || (!of_main && !kit_options_environment(&all))) {
        return -EINVAL;
    }
    if (kit_build_is_wrong()) {
        return of_main ? 2 : -EINVAL;
    }
    if (!E) {
        setvbuf(stdout, malloc(BUFSIZ), _IOLBF, BUFSIZ); /* its own would be a run's memory */
        kit_watch_exit();
        engine_start();
        kit_heap_begin();
        E->still = true;
        E->first_timer = kit_first_timer;
        E->tasks_begun = kit_tasks_begun;
        E->is_foreign_signal = kit_is_foreign_signal;
        E->run_begins = run_begins;
        E->run_ended = kit_run_ended;
        S = malloc(sizeof *S);
    } else {
        engine_signals_take();
    }
    kit_heap_thread();
    E->stack_begin = __builtin_frame_address(0);
    fflush(NULL);
    *S = (session){.test = {.fn = test, .arg = arg}, .options = all, .of_main = of_main};
    S->world = (sim_world){.name = "test",
                           .body = kit_body,
                           .steps_max = S->options.steps,
                           .preemptions = S->options.preemptions};
    kit_atomics = S->options.atomics;
    E->mistake = S->options.ignore_mistakes ? NULL : kit_mistake;
    kit_locals_copy();
    hosts_session();
    engine_data_copy();
    kit_terminate_begin();
    const int result = run_session();
    kit_terminate_end();
    kit_mute(false);
    kit_print_unwatched();
    engine_data_put_back();
    engine_signals_give_back();
    return result;
}

int thrum_test_run(const thrum_test_options *options, thrum_fn test, void *arg) {
    return kit_run(options, test, arg, false);
}
