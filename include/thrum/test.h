/*
 * thrum/test.h: deterministic tests of concurrent code. A test is a function that runs as a task.
 * Link the program with thrum::test (-lthrum-test) in place of thrum::thrum. It runs the test many
 * times on one thread, under virtual time, each time in another order. It reports the first order
 * in which the test fails. A run depends on its seed alone. docs/guide/testing.md explains the kit,
 * and docs/testing-limits.md lists the calls that a test does not have.
 *
 * Each run finds the static data and the thread-locals of the executable as they were before the
 * first one. Simulated threads share these thread-locals. The data of shared libraries, and memory
 * that was allocated before the first run, keep what a run has changed.
 *
 * thrum::test defines THRUM_NO_INLINE, so that each call goes through the library and may be
 * interrupted there. The headers for C have no inline calls, so objects that are compiled without
 * it are tested as well.
 *
 * Linked with thrum::test_real (-lthrum-test-real) and the library itself, the same test runs a few
 * times in real time, on real threads.
 */
#ifndef THRUM_TEST_H
#define THRUM_TEST_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/*
 * Checks a condition: if it is false, the run fails with the file, the line and the condition.
 *
 * Parameters:
 *   condition  an expression
 * Context: any thread; never suspends. It does not return if the condition is false, and no stack
 *   is unwound then.
 * Ordering: none.
 * Example: examples/testing/first.c
 * See also: thrum_test_fail, thrum_test_main
 */
#define THRUM_TEST(condition)                                                                      \
    ((condition) ? (void)0 : thrum_test_fail(__FILE__, __LINE__, #condition))

/*
 * Fails the run, as THRUM_TEST does.
 *
 * Parameters:
 *   file, line  the place; file may be NULL for a failure without one, such as an exception of C++
 *   condition   the text that is printed
 * Context: any thread; never suspends. It does not return.
 * Ordering: none.
 * Example:
 *   if (count > limit) {
 *       thrum_test_fail(__FILE__, __LINE__, "too many");
 *   }
 * See also: THRUM_TEST
 */
THRUM_API void thrum_test_fail(const char *file, int line, const char *condition)
    __attribute__((noreturn));

/* The most workers of a test. */
#define THRUM_TEST_WORKERS_MAX 8

/* The options of a test, for thrum_test_run. The caller owns it. THRUM_TEST_OPTIONS_INIT has the
   defaults. */
typedef struct thrum_test_options {
    size_t size; /* sizeof(thrum_test_options) as the program knows it */

    uint64_t runs; /* the number of schedules, 1 or more; 1000 by default */
    uint64_t seed; /* the schedules follow from it; 1 by default */

    /* "random", "pct", "bounded" or "exhaustive". NULL: the first three in turns. */
    const char *strategy;
    /*
     * "any": any task that is ready may run next; "sharded" or "fifo": as those policies choose.
     * NULL: in turns; "any" for an exhaustive search.
     */
    const char *policy;
    /* One schedule as a failure has printed it. NULL: none. */
    const char *replay;

    /*
     * Workers of the scheduler, up to THRUM_TEST_WORKERS_MAX. 0: 2, 3 and 4 in turns. An exhaustive
     * search takes 1, 2 and so on up to this number; 0: up to 2.
     */
    unsigned workers;
    unsigned preemptions; /* the most in a schedule of an exhaustive search; 2 by default */
    unsigned steps;       /* the most steps of a schedule; with more it is a livelock */
    bool atomics;         /* points also within the library, at each atomic operation */
    bool trace;           /* prints each call of the failing, the replayed or the last schedule */
    bool output; /* the test prints in each schedule, not only in the reported or replayed one */
} thrum_test_options;

/* The options by default. */
#define THRUM_TEST_OPTIONS_INIT                                                                    \
    { sizeof(thrum_test_options), 1000, 1, NULL, NULL, NULL, 0, 2, 100000, false, false, false }

/*
 * Runs a test, for programs that have other tests as well. It prints how it went to stdout. The
 * program's static data are put back at the end.
 *
 * Parameters:
 *   options  the options; NULL: the defaults
 *   test     the test's function, as in thrum_test_main
 *   arg      for the function
 * Returns: 0 if all runs passed, 1 if one failed, or a negative error code.
 * Errors:
 *   -EINVAL   an option is wrong, or test is NULL
 *   -EDEADLK  the caller is in a test
 * Context: a plain thread, outside of a test; never suspends.
 * Ordering: none.
 * Example:
 *   thrum_test_options options = THRUM_TEST_OPTIONS_INIT;
 *   options.runs = 10000;
 *   int failed = thrum_test_run(&options, test, NULL);
 * See also: thrum_test_main
 */
THRUM_API int thrum_test_run(const thrum_test_options *options, thrum_fn test, void *arg);

/*
 * Runs a test by the options of the command line, and prints how it went. See
 * docs/guide/testing.md for the options; --help lists them.
 *
 * Parameters:
 *   argc, argv  those of main
 *   test        the test's function, which runs as a task; it fails the run if it returns another
 *               value than 0
 *   arg         for the function
 * Returns: the exit status: 0 if all runs passed, 1 if one failed, 2 if an option is wrong, or a
 *   negative error code.
 * Errors:
 *   -EINVAL   test is NULL
 *   -EDEADLK  the caller is in a test
 * Context: a plain thread, outside of a test; never suspends.
 * Ordering: none.
 * Example: examples/testing/first.c
 * See also: thrum_test_run
 */
THRUM_API int thrum_test_main(int argc, char **argv, thrum_fn test, void *arg);

/*
 * Waits until every other task and thread of the test is blocked. No time passes meanwhile. Linked
 * with the real library, it sleeps for a moment.
 *
 * Context: a task or thread of the test; may suspend; not cancellable.
 * Ordering: the writes of the others before they blocked are visible after it.
 * Example: examples/testing/cache.c
 * See also: thrum_test_advance
 */
THRUM_API void thrum_test_settle(void);

/*
 * Moves the clock on. Deadlines up to then have passed after it. Linked with the real library, it
 * sleeps for that time.
 *
 * Parameters:
 *   ns  a duration; 0 or less has no effect
 * Context: a task or thread of the test; may suspend; not cancellable.
 * Ordering: none.
 * Example:
 *   thrum_test_advance(THRUM_S(1)); // deadlines pass before their tasks run
 * See also: thrum_test_settle, thrum_sleep
 */
THRUM_API void thrum_test_advance(thrum_time ns);

/*
 * A point at which other tasks and threads may come in between, for code between two calls of the
 * library. Linked with the real library, it has no effect.
 *
 * Parameters:
 *   name  a name for the report; must live as long as the program
 * Context: a task or thread of the test; may suspend; not cancellable.
 * Ordering: none.
 * Example:
 *   int before = hits;
 *   thrum_test_point("between load and store");
 *   hits = before + 1;
 * See also: thrum_yield
 */
THRUM_API void thrum_test_point(const char *name);

/*
 * Returns a random number of 32 bits, which depends on the run's seed.
 *
 * Returns: the number.
 * Context: a task or thread of the test; never suspends.
 * Ordering: none.
 * Example: examples/testing/retry.c
 */
THRUM_API uint32_t thrum_test_random(void);

/* A plain thread of a test. The caller owns it. */
typedef struct thrum_test_thread {
    uintptr_t reserved_[2];
} thrum_test_thread;

/*
 * Starts a plain thread, which takes part in the test's schedules. Threads of pthread_create do
 * not. thrum_test_thread_join waits for its end, once; a thread that is never joined fails the run.
 * The join blocks the calling thread. So a task calls it through thrum_blocking, or when the thread
 * is about to end.
 *
 * Parameters:
 *   thread  the thread; must live until it is joined
 *   fn      the function that it runs
 *   arg     for the function
 * Returns: 0, or a negative error code; then there is nothing to join.
 * Errors:
 *   -EAGAIN  too many threads: a test has up to 16
 *   -ENOMEM  no memory; only with the real library
 * Context: a task or thread of the test; never suspends.
 * Ordering: the caller's earlier writes are visible to the thread, and those of the thread after
 *   thrum_test_thread_join.
 * Example:
 *   thrum_test_thread thread;
 *   int err = thrum_test_thread_start(&thread, producer, queue);
 *   if (err == 0) {
 *       thrum_test_thread_join(&thread);
 *   }
 * See also: thrum_spawn, thrum_blocking
 */
THRUM_API THRUM_NODISCARD int thrum_test_thread_start(thrum_test_thread *thread,
                                                      void (*fn)(void *arg), void *arg);
THRUM_API void thrum_test_thread_join(thrum_test_thread *thread);

THRUM_END_DECLS

#endif
