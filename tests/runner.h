/*
 * runner.h: a part of check.h: main. Runs the tests of a program and reports each of them.
 *
 * The environment says which tests these are, as CTest and tools/run-tests set it:
 *   CHECK_FILE=unit/mutex CHECK_CELL=sharded,w2   the first and the last part of each full name
 *   CHECK_LIMIT=60       seconds that one test may take; then it and its children are killed
 *   CHECK_ONLY=PATH      a file with full names, one a line: all other tests are passed over
 *   CHECK_PRESET=NAME    the build, for the command that repeats a test
 *   CHECK_SIGNALS=kept   signals that are ignored or blocked stay so
 *
 * A line of the report is `passed`, `FAILED` or `skipped`, the seconds, and the full name;
 * tools/measure/matrix and others read it.
 */
#ifndef CHECK_RUNNER_H
#define CHECK_RUNNER_H

#include <time.h>

static const char *check_text_of(const char *variable) {
    const char *text = getenv(variable);
    return !text ? "" : text;
}

static void check_full_name(const check_test *test, char *to, size_t size) {
    const char *file = test->file ? test->file : check_text_of("CHECK_FILE");
    const char *cell = check_text_of("CHECK_CELL");
    snprintf(to, size, "%s%s%s%s%s%s", file, file[0] ? "." : "", test->name, cell[0] ? "[" : "",
             cell, cell[0] ? "]" : "");
}

/* Whether this build excludes the test (CHECK_LEFT_OUT): then --all skips it. */
static bool check_left_out(const check_test *test) {
#ifdef CHECK_LEFT_OUT
    char name[256] = ",";
    check_own_name(test, name + 1, sizeof name - 2);
    strcat(name, ",");
    return strstr(CHECK_LEFT_OUT, name) != NULL;
#else
    return test == NULL;
#endif
}

/* Whether the file CHECK_ONLY, if there is one, lists this test. */
static bool check_listed(const char *full) {
    const char *path = check_text_of("CHECK_ONLY");
    char line[512];
    bool found = path[0] == '\0';
    FILE *list = found ? NULL : fopen(path, "r");
    while (list && !found && fgets(line, sizeof line, list)) {
        line[strcspn(line, "\r\n")] = '\0';
        found = strcmp(line, full) == 0;
    }
    if (list) {
        fclose(list);
    }
    return found;
}

static void check_say_how_to_repeat(const char *full, const check_test *test) {
    const char *preset = check_text_of("CHECK_PRESET");
    if (preset[0]) {
        printf("repeat it: tools/run-tests %s --only '%s'\n", preset, full);
    } else {
        printf("repeat it: %s %s\n", check_program, test->name);
    }
}

/* Runs a test in a process of its own and reports it. Returns its status, 77 if skipped. */
static int check_run_reported(const check_test *test) {
    char full[512];
    struct timespec begin, end;
    const char *verdict = "passed ";
    check_full_name(test, full, sizeof full);
    if (check_left_out(test) || !check_listed(full)) {
        return 77;
    }
    clock_gettime(CLOCK_MONOTONIC, &begin);
    const int limit = atoi(check_text_of("CHECK_LIMIT"));
    const int status = check_run_apart(test, limit);
    clock_gettime(CLOCK_MONOTONIC, &end);
    if (status == CHECK_ENDED_LATE) {
        printf("%s: killed at its limit of %d s\n", full, limit);
    }
    if (status != 0) {
        verdict = status == 77 ? "skipped" : "FAILED ";
    }
    printf("%s %8.2f s  %s\n", verdict,
           (double)(end.tv_sec - begin.tv_sec) + (double)(end.tv_nsec - begin.tv_nsec) / 1e9, full);
    if (status != 0 && status != 77) {
        check_say_how_to_repeat(full, test);
    }
    fflush(stdout);
    return status;
}

static bool check_is_named(const check_test *test, const char *name) {
    char own[256];
    char full[512];
    check_own_name(test, own, sizeof own);
    check_full_name(test, full, sizeof full);
    return strcmp(name, "--all") == 0 || strcmp(name, own) == 0 || strcmp(name, full) == 0;
}

static int check_usage(void) {
    fprintf(stderr, "usage: %s --list | --all | TEST...\n", check_program);
    return 2;
}

static int check_list(void) {
    char own[256];
    for (check_test *test = check_first; test; test = test->next) {
        check_own_name(test, own, sizeof own);
        printf("%s\n", own);
    }
    return 0;
}

/* Runs the tests of this name, in place or apart. Returns how many have it. */
static int check_run_named(const char *name, bool in_place, int *worst, int *passed) {
    int found = 0;
    for (check_test *test = check_first; test; test = test->next) {
        if (check_is_named(test, name)) {
            const int status = in_place ? check_run_here(test) : check_run_reported(test);
            *worst = status != 0 && status != 77 ? 1 : *worst;
            *passed += status == 0;
            found++;
        }
    }
    return found;
}

int main(int argc, char **argv) {
    int worst = 0;
    int passed = 0;
    check_program = argv[0];
    setenv("THRUM_CHECK", "0", 0); /* tests make mistakes on purpose, in debug builds as well */
    check_refresh_signals(argv);
    if (argc < 2) {
        return check_usage();
    }
    if (strcmp(argv[1], "--list") == 0) {
        return check_list();
    }
#if defined(CHECK_IN_PLACE)
    const bool in_place = true;
#else
    const bool in_place = argc == 2 && strcmp(argv[1], "--all") != 0;
#endif
    for (int i = 1; i < argc; i++) {
        if (check_run_named(argv[i], in_place, &worst, &passed) == 0) {
            fprintf(stderr, "%s: no test named %s\n", argv[0], argv[i]);
            return check_usage();
        }
    }
    return worst != 0 || passed > 0 ? worst : 77;
}

#endif
