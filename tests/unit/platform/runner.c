/*
 * runner.c: the runner starts each test in a process of its own: what else may end that, and what
 * stays of it.
 */
/* POSIX: fork */
#include "support/support.h"

#include <signal.h>
#include <sys/wait.h>

static int ends[2]; /* a pipe: its end is read when all processes that may write to it have ended */

static int run_apart(void (*run)(void)) {
    const check_test test = {"inner", NULL, run, NULL};
    return check_run_apart(&test, 0);
}

static void returns(void) {
}

static void exits(void) {
    exit(0);
}

static void becomes_another_program(void) {
    execlp("true", "true", (char *)NULL);
}

static void leaves_a_process(void) {
    if (fork() == 0) {
        pause();
    }
}

static void leaves_a_process_and_waits(void) {
    leaves_a_process();
    CHECK_EQ(write(ends[1], "x", 1), 1);
    pause();
}

/* All other processes that had the pipe have ended. */
static void await_ends(void) {
    char byte;
    close(ends[1]);
    CHECK_EQ(read(ends[0], &byte, 1), 0);
}

TEST(a_process_that_ends_before_its_test_returns_has_failed) {
    /* Its status is 0 although not all of the test was run. */
    CHECK_EQ(run_apart(exits), 1);
    CHECK_EQ(run_apart(becomes_another_program), 1);
    CHECK_EQ(run_apart(returns), 0);
}

TEST(processes_that_a_test_leaves_are_ended) {
    /* Also if it passes: CTest would wait for the end of all that may print. */
    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(run_apart(leaves_a_process), 0);
    await_ends();
}

TEST(an_interrupted_runner_leaves_nothing) {
    /* The processes that the running test has started end, too. */
    char byte;
    int status = 0;
    CHECK_EQ(pipe(ends), 0);
    const pid_t runner = fork();
    if (runner == 0) {
        _exit(run_apart(leaves_a_process_and_waits));
    }
    CHECK_EQ(read(ends[0], &byte, 1), 1);
    CHECK_EQ(kill(runner, SIGTERM), 0);
    CHECK_EQ(waitpid(runner, &status, 0), runner);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 128 + SIGTERM);
    await_ends();
}

TEST(a_runner_may_be_started_with_sigchld_ignored) {
    /* Children's statuses would be lost. */
    CHECK(signal(SIGCHLD, SIG_IGN) != SIG_ERR);
    CHECK_EQ(run_apart(returns), 0);
}
