/*
 * check_apart.c: what the test runner makes of tests that end in unusual ways.
 */
/* POSIX: fork */
#include "check.h"

static int ends[2];

static int status_of(void (*run)(void)) {
    const check_test test = {"runs_apart", NULL, run, NULL};
    return check_run_apart(&test, 0);
}

static void returns(void) {
}

static void exits(void) {
    exit(0);
}

static void crashes(void) {
    raise(SIGKILL);
}

static void leaves_a_child(void) {
    const pid_t child = fork();
    CHECK(child >= 0);
    while (child == 0) {
        pause();
    }
}

TEST(a_test_passes_only_if_it_comes_to_its_end) {
    /* An exit with 0 in the middle has skipped the checks behind it. */
    CHECK_EQ(status_of(returns), 0);
    CHECK_EQ(status_of(exits), 1);
    CHECK_EQ(status_of(crashes), 1);
}

TEST(a_child_that_a_test_leaves_is_killed) {
    /* It would keep the output open, for which CTest waits. */
    char byte;
    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(status_of(leaves_a_child), 0);
    close(ends[1]);
    CHECK_EQ(read(ends[0], &byte, 1), 0);
}
