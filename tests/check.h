/*
 * check.h: what a test file needs, in C or C++. Each file is a program; each TEST runs in a process
 * of its own.
 *
 *     TEST(a_free_mutex_is_locked_at_once) {
 *         / * What the test shows, in one line. * /
 *         thrum_mutex_lock(&mutex);
 *     }
 *
 * A check that fails, in any fiber or thread, prints one line and ends the process with status 1.
 * check_dies(fn, arg, "text") demands that fn(arg) aborts with that text on stderr, in a child.
 * CHECK_SKIP("no %s here", what) ends a test that cannot run here. support/support.h has the
 * schedulers: rig_do(0, fn, arg) runs a fiber on one as the cell asks for it.
 *
 * `PROGRAM --all` runs each test in a child and reports each by its full name,
 * FOLDER/FILE.TEST[CELL]. A test fails too if it crashes, exceeds its limit, or exits with 0 before
 * its end; whatever it leaves running is killed. `PROGRAM TEST` runs one in place, for a debugger,
 * in the cell that the environment names: THRUM_POLICY=fifo THRUM_WORKERS=2 is fifo,w2. CTest has
 * one entry for each file and cell.
 *
 * CMake finds the tests by the text `TEST(name) {` at a line's start. It knows these lines too, as
 * comments of their own:
 *
 *     matrix: policy workers      the file can run in any cell, by environment; tests/cells says in
 *                                 which of them it runs in `make test`, the others are in test-full
 *     matrix: bound               the same with 0 to 64 workers and the main thread bound to the
 *                                 scheduler, once unbound, and with small stacks (bound.h)
 *     variants:                   test-full runs it also with each variant of the sharded policy
 *     limit: 200                  seconds that each test may take (60, stress 120)
 *     full:                       not in `make test`, only in test-full
 *     alone:                      no other test runs beside it
 *     compile: -O2 -g             options for release builds (-O1 -g1; sanitizers: -O0 -g1)
 *     link: -Wl,-z,lazy           link options
 *     wrap: mmap open             calls of them go to the file's __wrap_mmap, __wrap_open
 *     POSIX: fork, /proc          a test of what only such systems have, not built on Windows; each
 *                                 of these words stands in the file (tools/check/windows-skipped)
 *
 * Include it once in a program; it brings main. In a program of several files (tests/portable) each
 * is compiled with CHECK_PART, the name of its file, and main is in one more.
 */
#ifndef CHECK_H
#define CHECK_H

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct check_test {
    const char *name;
    const char *file; /* FOLDER/FILE in a program of several files; otherwise NULL */
    void (*run)(void);
    struct check_test *next;
} check_test;

#ifdef CHECK_PART
#define CHECK_FILE_NAME CHECK_PART
extern check_test *check_first;
extern check_test **check_last;
extern const char *check_program;
#else
#define CHECK_FILE_NAME NULL
#ifdef CHECK_PARTS
#define CHECK_SHARED
#else
#define CHECK_SHARED static
#endif
CHECK_SHARED check_test *check_first;
CHECK_SHARED check_test **check_last = &check_first;
CHECK_SHARED const char *check_program; /* as it was started */
#endif

#define TEST CHECK_TEST
#define CHECK_TEST(test)                                                                           \
    static void test_##test(void);                                                                 \
    __attribute__((constructor)) static void check_register_##test(void) {                         \
        static check_test entry = {#test, CHECK_FILE_NAME, test_##test, NULL};                     \
        *check_last = &entry;                                                                      \
        check_last = &entry.next;                                                                  \
    }                                                                                              \
    static void test_##test(void)

#define CHECK(cond) ((cond) ? (void)0 : check_failed(__FILE__, __LINE__, "%s", #cond))

/* Two integers; both are shown as int64_t. */
#define CHECK_EQ(a, b) check_eq(__FILE__, __LINE__, #a " == " #b, (int64_t)(a), (int64_t)(b))

/* Two strings. */
#define CHECK_STR(a, b) check_str(__FILE__, __LINE__, #a " is " #b, (a), (b))

/* Ends the test: it cannot be run here, and is reported as skipped. */
#define CHECK_SKIP(...) check_skip(__FILE__, __LINE__, __VA_ARGS__)

/* Skips a test of a feature that the platform of POSIX alone lacks. */
#ifdef TH_PLATFORM_POSIX
#define NOT_BY_POSIX(what) CHECK_SKIP("POSIX has no %s", what)
#else
#define NOT_BY_POSIX(what) ((void)0)
#endif

#define CHECK_UNUSED __attribute__((unused))

/* The standard's formats: on Windows gcc's plain `printf` means those of an older library. */
#if defined(__clang__)
#define CHECK_FORMAT printf
#else
#define CHECK_FORMAT gnu_printf
#endif

CHECK_UNUSED __attribute__((noreturn, noinline, cold, format(CHECK_FORMAT, 4, 5))) static void
check_end(int status, const char *file, int line, const char *format, ...) {
    char text[1024];
    __builtin_va_list args;
    int n = snprintf(text, sizeof(text), "%s:%d: %s", file, line,
                     status == 1 ? "check failed: " : "skipped: ");
    __builtin_va_start(args, format);
    n += vsnprintf(text + n, sizeof(text) - (size_t)n - 1, format, args);
    __builtin_va_end(args);
    if (n > (int)sizeof(text) - 2) {
        n = (int)sizeof(text) - 2;
    }
    text[n] = '\n';
    if (write(STDERR_FILENO, text, (unsigned)n + 1) < 0) {
        _exit(status); /* stderr takes nothing more */
    }
    _exit(status);
}

#define check_failed(file, line, ...) check_end(1, file, line, __VA_ARGS__)
#define check_skip(file, line, ...) check_end(77, file, line, __VA_ARGS__)

CHECK_UNUSED static void check_eq(const char *file, int line, const char *text, int64_t a,
                                  int64_t b) {
    if (a != b) {
        check_failed(file, line, "%s (%" PRId64 " and %" PRId64 ")", text, a, b);
    }
}

CHECK_UNUSED static void check_str(const char *file, int line, const char *text, const char *a,
                                   const char *b) {
    if (!a || !b || strcmp(a, b) != 0) {
        check_failed(file, line, "%s (\"%s\" and \"%s\")", text, !a ? "(null)" : a,
                     !b ? "(null)" : b);
    }
}

/* How much of its counts a test should do here, in percent: heavy builds set CHECK_SCALE. */
CHECK_UNUSED static int check_repeat(void) {
    const char *text = getenv("CHECK_SCALE");
    int percent = !text ? 100 : atoi(text);
    return percent < 1 ? 1 : percent;
}

/* A count, scaled, at least 1. */
CHECK_UNUSED static int check_scaled(int n) {
    int64_t scaled = (int64_t)n * check_repeat() / 100;
    return scaled < 1 ? 1 : (int)scaled;
}

/* The number in an environment variable, else `otherwise`: CTest sets THRUM_WORKERS in a matrix. */
CHECK_UNUSED static int check_env(const char *name, int otherwise) {
    const char *text = getenv(name);
    return !text || text[0] == '\0' ? otherwise : atoi(text);
}

/*
 * In the coverage build exit() writes the counters. They are also written at _exit, which the
 * linker redirects to us, and at an expected abort. Writing takes more stack than a fiber may have
 * left, so in a child that is to die another thread does it.
 */
#ifdef CHECK_COVERAGE
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

#ifdef __cplusplus
extern "C" {
#endif
void __gcov_dump(void);
__attribute__((noreturn)) void __real__exit(int status);
__attribute__((noreturn)) void __wrap__exit(int status);
#ifdef __cplusplus
}
#endif

void __wrap__exit(int status) {
    __gcov_dump();
    __real__exit(status);
}

static sem_t check_aborts;
static sem_t check_written;

static void *check_writer(void *arg) {
    while (sem_wait(&check_aborts) != 0) {
    }
    __gcov_dump();
    sem_post(&check_written);
    return arg;
}

static void check_on_abort(int signal) {
    (void)signal; /* when this returns abort() goes on */
    sem_post(&check_aborts);
    while (sem_wait(&check_written) != 0) {
    }
}

static void check_keep_counts(void) {
    pthread_t writer;
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = check_on_abort;
    action.sa_flags = SA_ONSTACK;
    sem_init(&check_aborts, 0, 0);
    sem_init(&check_written, 0, 0);
    if (pthread_create(&writer, NULL, check_writer, NULL) == 0) {
        pthread_detach(writer);
        sigaction(SIGABRT, &action, NULL);
    }
}
#else
CHECK_UNUSED static void check_keep_counts(void) {
}
#endif

/* The name that a program knows a test by: FOLDER/FILE.TEST if it has several files, else TEST. */
CHECK_UNUSED static void check_own_name(const check_test *test, char *to, size_t size) {
    snprintf(to, size, "%s%s%s", test->file ? test->file : "", test->file ? "." : "", test->name);
}

/* The status of a test's process that exceeded its time limit. */
#define CHECK_ENDED_LATE (-1)

/* check_run_apart, and check_dies: in a process of its own, by the means of the system. */
#if defined(_WIN32)
#include "windows/dies.h"
#else
#include "posix/dies.h"
#endif

/* By a process that might hang: it ends when its time is over (runner.h), not later. */
CHECK_UNUSED static void check_end_in_time(void) {
    alarm((unsigned)check_env("CHECK_LIMIT", 0)); /* without a limit there is no alarm */
}

#ifndef CHECK_PART
#include "runner.h"
#endif

#endif
