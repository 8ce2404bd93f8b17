/*
 * options.c: the options of a test's command line and environment.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kit.h"

static const char usage[] =
    "usage: %s [OPTION...]\n"
    "Runs the test many times, in orders that it chooses, until a run fails.\n"
    "  --runs N         the number of schedules (1000)\n"
    "  --seed N         the seed, which determines the schedules (1)\n"
    "  --strategy S     random, pct, bounded or exhaustive (the first three in turn)\n"
    "  --workers N      workers of the scheduler, 1 to 8 (2, 3 and 4 in turn);\n"
    "                   exhaustive: first 1, then 2 and so on up to N (2)\n"
    "  --policy P       any (any ready task may run next), sharded or fifo (in turn)\n"
    "  --preemptions N  exhaustive: at most N preemptions in a schedule (2)\n"
    "  --granularity G  calls: tasks switch at calls of the library; atomics: also inside\n"
    "                   the library, at each atomic operation (calls)\n"
    "  --steps N        at most N steps in a schedule; a longer one fails (100000)\n"
    "  --replay TEXT    runs only the schedule TEXT, which a failure's report contains\n"
    "  --leaks no       accepts memory that the test has not freed (yes)\n"
    "  --mistakes no    accepts calls that are legal but hardly ever meant (yes)\n"
    "  --trace          prints each call of the failing, the replayed or the last schedule\n"
    "  --output         shows the test's output in every schedule, not only in the one that\n"
    "                   is reported or replayed\n"
    "  --help           prints this text\n"
    "The defaults are in parentheses. Each option may also be set in the environment:\n"
    "THRUM_TEST_RUNS=10000, THRUM_TEST_TRACE=1 and so on. The command line wins.\n";

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

static bool set(thrum_test_options *o, char letter, const char *value) {
    switch (letter) {
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
    case 'l':
        o->ignore_leaks = !strcmp(value, "no");
        return o->ignore_leaks || !strcmp(value, "yes");
    case 'm':
        o->ignore_mistakes = !strcmp(value, "no");
        return o->ignore_mistakes || !strcmp(value, "yes");
    default:
        return false;
    }
}

typedef struct option {
    const char *name;
    bool has_value;
    char letter;
} option;

static const option options[] = {
    {"runs", true, 'n'},        {"seed", true, 'x'},     {"strategy", true, 's'},
    {"workers", true, 'w'},     {"policy", true, 'p'},   {"preemptions", true, 'e'},
    {"granularity", true, 'g'}, {"steps", true, 't'},    {"replay", true, 'r'},
    {"leaks", true, 'l'},       {"mistakes", true, 'm'}, {"trace", false, 'T'},
    {"output", false, 'o'}};
#define OPTIONS (sizeof options / sizeof *options)

/* The option whose whole name this is. */
static const option *find(const char *name, size_t length) {
    for (size_t i = 0; i < OPTIONS; i++) {
        if (strlen(options[i].name) == length && !memcmp(options[i].name, name, length)) {
            return &options[i];
        }
    }
    return NULL;
}

bool kit_is_option(const char *argument, bool *with_next) {
    const size_t n = strcspn(argument, "=");
    const option *o = strncmp(argument, "--", 2) == 0 ? find(argument + 2, n - 2) : NULL;
    *with_next = o && o->has_value && !argument[n];
    return o;
}

/* ---- names that are no options ---- */

#define NAME_MAX_BYTES 32u

/* How many letters must be inserted, removed or changed. */
static unsigned distance(const char *a, size_t length, const char *b) {
    unsigned row[NAME_MAX_BYTES + 1];
    for (unsigned j = 0; j <= NAME_MAX_BYTES; j++) {
        row[j] = j;
    }
    for (size_t i = 0; i < length; i++) {
        unsigned corner = row[0];
        row[0] = (unsigned)i + 1;
        for (size_t j = 0; b[j]; j++) {
            const unsigned changed = corner + (a[i] != b[j]);
            corner = row[j + 1];
            row[j + 1] = row[j] < corner ? row[j] + 1 : corner + 1;
            row[j + 1] = changed < row[j + 1] ? changed : row[j + 1];
        }
    }
    return row[strlen(b)];
}

/* The option with the most similar name; NULL: none is similar. */
static const option *nearest(const char *name, size_t length) {
    const option *best = NULL;
    unsigned least = 4;
    for (size_t i = 0; i < OPTIONS && length < NAME_MAX_BYTES; i++) {
        const unsigned d = distance(name, length, options[i].name);
        if (d < least && d < length) {
            least = d;
            best = &options[i];
        }
    }
    return best;
}

/* ---- the environment ---- */

#define PREFIX "THRUM_TEST_"

static void to_upper(const char *name, char text[NAME_MAX_BYTES]) {
    size_t i = 0;
    for (; name[i]; i++) {
        text[i] = (char)(name[i] - 'a' + 'A');
    }
    text[i] = '\0';
}

/* A variable that has no effect, because its name is wrong. */
static void warn(const char *variable) {
    const size_t length = strcspn(variable, "=");
    const char *name = variable + strlen(PREFIX);
    const size_t rest = length - strlen(PREFIX);
    char lower[NAME_MAX_BYTES] = "";
    char upper[NAME_MAX_BYTES];
    for (size_t i = 0; i < rest && rest < NAME_MAX_BYTES; i++) {
        lower[i] = (char)(name[i] >= 'A' && name[i] <= 'Z' ? name[i] - 'A' + 'a' : name[i]);
    }
    if (rest < NAME_MAX_BYTES && find(lower, rest)) {
        return;
    }
    fprintf(stderr, "%s: %.*s in the environment is not an option of the test kit",
            program_invocation_short_name, (int)length, variable);
    const option *meant = nearest(lower, rest);
    if (meant) {
        to_upper(meant->name, upper);
        fprintf(stderr, ": did you mean " PREFIX "%s?", upper);
    }
    fprintf(stderr, "\n");
}

bool kit_options_environment(thrum_test_options *o) {
    static bool warned;
    for (char **at = environ; !warned && *at; at++) {
        if (strncmp(*at, PREFIX, strlen(PREFIX)) == 0) {
            warn(*at);
        }
    }
    warned = true;
    for (size_t i = 0; i < OPTIONS; i++) {
        char name[sizeof PREFIX + NAME_MAX_BYTES] = PREFIX;
        to_upper(options[i].name, name + strlen(PREFIX));
        const char *value = getenv(name);
        if (value && !(set(o, options[i].letter, value) && kit_options_check(o))) {
            fprintf(stderr, "%s: %s=%s: invalid value\n", program_invocation_short_name, name,
                    value);
            return false;
        }
    }
    return true;
}

/* ---- the command line ---- */

static void refuse(const char *argument) {
    const size_t length = strcspn(argument, "=");
    const option *meant =
        strncmp(argument, "--", 2) == 0 ? nearest(argument + 2, length - 2) : NULL;
    fprintf(stderr, "%s: unknown option %.*s", program_invocation_short_name, (int)length,
            argument);
    if (meant) {
        fprintf(stderr, ": did you mean --%s?", meant->name);
    }
    fprintf(stderr, "\n--help lists the options.\n");
}

/* Returns 0 to go on, 1 after --help, and 2 if an option is wrong. */
static int read_options(thrum_test_options *o, int argc, char **argv) {
    if (!kit_options_environment(o)) {
        return 2;
    }
    for (int i = 1; i < argc; i++) {
        bool with_next;
        const char *value = strchr(argv[i], '=');
        if (!strcmp(argv[i], "--help")) {
            printf(usage, argv[0]);
            return 1;
        }
        if (!kit_is_option(argv[i], &with_next)) {
            refuse(argv[i]);
            return 2;
        }
        const option *its = find(argv[i] + 2, strcspn(argv[i], "=") - 2);
        value = value ? value + 1 : with_next ? argv[i + 1] : NULL; /* NULL behind the last one */
        if ((its->has_value && !value) || (!its->has_value && value)) {
            fprintf(stderr, "%s: the option --%s takes %s\n", program_invocation_short_name,
                    its->name, its->has_value ? "a value" : "no value");
            return 2;
        }
        if (!(set(o, its->letter, value) && kit_options_check(o))) {
            fprintf(stderr, "%s: --%s %s: invalid value\n--help lists the options.\n",
                    program_invocation_short_name, its->name, value);
            return 2;
        }
        i += with_next;
    }
    return 0;
}

int thrum_test_main(int argc, char **argv, thrum_fn test, void *arg) {
    thrum_test_options o = THRUM_TEST_OPTIONS_INIT;
    const int wrong = read_options(&o, argc, argv);
    if (wrong) {
        return wrong == 1 ? 0 : wrong;
    }
    return kit_run(&o, test, arg, true);
}
