/*
 * options.c: the options of a test's command line and environment.
 */
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "kit.h"

static const char usage[] =
    "usage: %s [OPTION...]\n"
    "Runs the test again and again, each time in another order, until it fails.\n"
    "  --runs N         the number of schedules (1000)\n"
    "  --seed N         the seed, which determines the schedules (1)\n"
    "  --strategy S     random, pct, bounded or exhaustive (the first three in turn)\n"
    "  --workers N      workers of the scheduler, 1 to 8 (2, 3 and 4 in turn);\n"
    "                   exhaustive: first 1, then 2 and so on up to N (2)\n"
    "  --policy P       any (any ready task may run next), sharded or fifo (in turn)\n"
    "  --preemptions N  exhaustive: at most N preemptions in a schedule (2)\n"
    "  --granularity G  calls: tasks switch at calls of the library; atomics: also inside\n"
    "                   the library, at each atomic operation (calls)\n"
    "  --steps N        at most N steps in a schedule; with more, the run fails (100000)\n"
    "  --replay TEXT    runs only the schedule TEXT, which the report of a failure has\n"
    "  --trace          prints each call of the failing, the replayed or the last schedule\n"
    "  --output         shows the test's output in every schedule, not only in the one that\n"
    "                   is reported or replayed\n"
    "The defaults are in parentheses. Each option may also be set in the environment:\n"
    "THRUM_TEST_RUNS=10000, THRUM_TEST_TRACE=1 and so on.\n";

static bool is_one_of(const char *value, const char *const names[], unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        if (!strcmp(value, names[i])) {
            return true;
        }
    }
    return false;
}

bool kit_options_check(const thrum_test_options *o) {
    static const char *const policies[] = {"any", "sharded", "fifo"};
    return o->runs && o->steps && o->workers <= THRUM_TEST_WORKERS_MAX &&
           (!o->strategy || is_one_of(o->strategy, strategy_names, S_REPLAY)) &&
           (!o->policy || is_one_of(o->policy, policies, 3));
}

static bool number(const char *text, uint64_t max, uint64_t *out) {
    char *end;
    errno = 0;
    *out = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && !*end && !errno && *out <= max;
}

static bool number_of(const char *text, unsigned *out) {
    uint64_t value;
    const bool right = number(text, UINT_MAX, &value);
    *out = right ? (unsigned)value : 0;
    return right;
}

static bool set(thrum_test_options *o, int option, const char *value) {
    switch (option) {
    case 'n':
        return number(value, UINT64_MAX, &o->runs);
    case 'x':
        return number(value, UINT64_MAX, &o->seed);
    case 'w':
        return number_of(value, &o->workers);
    case 'e':
        return number_of(value, &o->preemptions);
    case 't':
        return number_of(value, &o->steps);
    case 's':
        o->strategy = value;
        return true;
    case 'p':
        o->policy = value;
        return true;
    case 'r':
        o->replay = value;
        return true;
    case 'T':
        o->trace = !value || strcmp(value, "0") != 0;
        return true;
    case 'o':
        o->output = !value || strcmp(value, "0") != 0;
        return true;
    case 'g':
        o->atomics = !strcmp(value, "atomics");
        return o->atomics || !strcmp(value, "calls");
    default:
        return false;
    }
}

static const struct option longs[] = {{"runs", required_argument, NULL, 'n'},
                                      {"seed", required_argument, NULL, 'x'},
                                      {"strategy", required_argument, NULL, 's'},
                                      {"workers", required_argument, NULL, 'w'},
                                      {"policy", required_argument, NULL, 'p'},
                                      {"preemptions", required_argument, NULL, 'e'},
                                      {"granularity", required_argument, NULL, 'g'},
                                      {"steps", required_argument, NULL, 't'},
                                      {"replay", required_argument, NULL, 'r'},
                                      {"trace", no_argument, NULL, 'T'},
                                      {"output", no_argument, NULL, 'o'},
                                      {"help", no_argument, NULL, 'h'},
                                      {NULL, 0, NULL, 0}};

bool kit_is_option(const char *argument, bool *with_next) {
    const size_t n = strcspn(argument, "=");
    *with_next = false;
    for (const struct option *l = longs; l->name && strncmp(argument, "--", 2) == 0; l++) {
        if (n > 2 && strncmp(argument + 2, l->name, n - 2) == 0) { /* getopt accepts a prefix */
            *with_next = l->has_arg && !argument[n];
            return true;
        }
    }
    return false;
}

/* Returns 0 to go on, 1 after --help, and 2 if an option is wrong. */
static int read_options(thrum_test_options *o, int argc, char **argv) {
    int c;
    for (const struct option *l = longs; l->val != 'h'; l++) {
        char name[64] = "THRUM_TEST_";
        char *at = name + strlen(name);
        for (const char *from = l->name; *from; from++) {
            *at++ = (char)(*from - 'a' + 'A');
        }
        const char *value = getenv(name);
        if (value && !(set(o, l->val, value) && kit_options_check(o))) {
            fprintf(stderr, "%s: %s=%s: invalid value\n", argv[0], name, value);
            return 2;
        }
    }
    while ((c = getopt_long(argc, argv, "", longs, NULL)) != -1) {
        if (c == 'h') {
            printf(usage, argv[0]);
            return 1;
        }
        if (c == '?' || !(set(o, c, optarg) && kit_options_check(o))) {
            fprintf(stderr, usage, argv[0]);
            return 2;
        }
    }
    if (optind < argc) {
        fprintf(stderr, usage, argv[0]);
        return 2;
    }
    return 0;
}

int thrum_test_main(int argc, char **argv, thrum_fn test, void *arg) {
    thrum_test_options options = THRUM_TEST_OPTIONS_INIT;
    const int wrong = read_options(&options, argc, argv);
    if (wrong) {
        return wrong == 1 ? 0 : wrong;
    }
    return kit_run(&options, test, arg, true);
}
