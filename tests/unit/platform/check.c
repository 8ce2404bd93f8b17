/*
 * The test runner's own tests: what tests/check.h promises.
 */
#include "support/support.h"

static void *fail_in_thread(void *arg) {
    CHECK_EQ(1, 2);
    return arg;
}

static void fails(void *arg) {
    fail_in_thread(arg);
}

static void aborts(void *arg) {
    fprintf(stderr, "the line that is %s for\n", (const char *)arg);
    abort();
}

static void dies_without_abort(void *arg) {
    check_dies(fails, arg, "");
}

/* Returns the exit status of a child that runs fn, its stderr dropped. */
static int status_of(void (*fn)(void *), void *arg) {
    char text[1024];
    const int status = check_child(fn, arg, text, sizeof(text));
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST(failed_check_ends_the_process_with_status_1) {
    /* The program that started the test sees a failed check. */
    CHECK_EQ(status_of(fails, NULL), 1);
}

TEST(check_dies_accepts_an_abort_with_its_line) {
    /* A death test finds a piece of what was printed. */
    check_dies(aborts, "looked", "is looked for");
}

static void dies_with_another_line(void *arg) {
    check_dies(aborts, arg, "never printed");
}

TEST(check_dies_fails_without_abort_or_line) {
    /* A death test fails when nothing aborts, and when the line is another one. */
    CHECK_EQ(status_of(dies_without_abort, NULL), 1);
    CHECK_EQ(status_of(dies_with_another_line, "looked"), 1);
}

TEST(counts_are_scaled) {
    /* CHECK_SCALE shrinks counts, never to nothing. */
    CHECK_EQ(setenv("CHECK_SCALE", "10", 1), 0);
    CHECK_EQ(check_scaled(1000), 100);
    CHECK_EQ(check_scaled(1), 1);
    CHECK_EQ(unsetenv("CHECK_SCALE"), 0);
    CHECK_EQ(check_scaled(1000), 1000);
}

TEST(no_workers_are_for_cells_with_a_bound_thread) {
    /* Elsewhere nobody would run a test's tasks: a rig has as many as the library takes then. */
    rig r;
    CHECK_EQ(setenv("THRUM_WORKERS", "0", 1), 0);
    CHECK_EQ(setenv("CHECK_BOUND", "1", 1), 0);
    rig_init(&r);
    CHECK_EQ(r.config.workers, 0);
    CHECK_EQ(unsetenv("CHECK_BOUND"), 0);
    rig_init(&r);
    CHECK(r.config.workers != 0);
    rig_start(&r);
    CHECK(thrum_sched_parallelism(r.sched) >= 1);
    rig_stop(&r);
}

static int touched;

TEST(a_variable_is_as_the_program_has_it) {
    /* Also where the test runs a second time. */
    CHECK_EQ(touched++, 0);
}

static void runs_it_twice(void *arg) {
    char *argv[] = {(char *)(uintptr_t)check_program, arg, arg, NULL};
    unsetenv("CHECK_ONLY"); /* which names this test alone, where it is repeated */
    _exit(main(3, argv));
}

TEST(several_tests_run_each_in_a_process_of_its_own) {
    /* None sees what another one has left. Of one that fails all are told. */
    char name[] = "a_variable_is_as_the_program_has_it";
    CHECK_EQ(status_of(runs_it_twice, name), 0);
}
