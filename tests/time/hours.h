/*
 * hours.h: tests whose subject is time. Each TEST of such a file runs as a task.
 *
 * With a test kit, the library is the kit, and a test runs in 72 orders in virtual time: HOUR is an
 * hour, and CHECK_NOW(when) demands that it is exactly `when`. THRUM_TEST_RUNS, THRUM_TEST_SEED and
 * the other variables of the kit hold here, too. Builds without the kit, which are those of the
 * sanitizers, of coverage and of other systems, run the same tests once in real time: HOUR is a
 * millisecond, and CHECK_NOW demands that `when` has come.
 *
 * Nothing here may spin, as SPIN_UNTIL does, because the kit has one thread.
 */
#ifndef HOURS_H
#define HOURS_H

#ifdef __cplusplus
#include "check.h"
#else
#include "support/support.h"
#endif
#include "support/times.h"

#ifdef TIME_IS_VIRTUAL
#include <thrum/test.h>

#define HOUR THRUM_S(3600)
#define AMPLE(hours) ((hours)*HOUR) /* in real time, longer than a test may take */

/* They fail the run, and the kit shows its calls. */
#undef CHECK
#undef CHECK_EQ
#define CHECK THRUM_TEST
#define CHECK_EQ(a, b) THRUM_TEST((int64_t)(a) == (int64_t)(b))
#define CHECK_NOW(when) THRUM_TEST(thrum_now() == (when))

/*
 * For instants to which several tasks contribute: on the policy sharded, a worker may leave a ready
 * task to another one for up to 200 us (core/policy/steal_backoff.c), also in virtual time.
 */
#define CHECK_ABOUT(when)                                                                          \
    THRUM_TEST(thrum_now() > (when)-THRUM_MS(1) && thrum_now() < (when) + THRUM_MS(1))

/* All that can run has run. */
CHECK_UNUSED static void settle(void) {
    thrum_test_settle();
}

static void test_in_task(thrum_fn fn) {
    char *argv[] = {(char *)(uintptr_t)check_program, NULL};
    setenv("THRUM_TEST_RUNS", "72", 0); /* twice all strategies, workers and policies */
    unsetenv("CHECK_LIMIT");            /* the runner's; a rig's watchdog would be a real thread */
    setenv("THRUM_TEST_MISTAKES", "no", 0); /* deadlines in the past are meant */
    if (thrum_test_main(1, argv, fn, NULL) != 0) {
        printf("THRUM_TEST_REPLAY repeats it: THRUM_TEST_REPLAY=2a %s TEST\n", check_program);
        exit(1);
    }
}
#else
#define HOUR THRUM_MS(1)
#define AMPLE(hours) THRUM_S(1000)
#define CHECK_NOW(when) CHECK_PASSED(when)
#define CHECK_ABOUT(when) CHECK_PASSED((when)-THRUM_MS(1))

CHECK_UNUSED static void settle(void) {
}

static void test_in_task(thrum_fn fn) {
#ifdef __cplusplus
    CHECK_EQ(thrum_run(NULL, fn, NULL), 0);
#else
    rig_do(0, fn, NULL);
#endif
}
#endif

#undef TEST
#define TEST(test)                                                                                 \
    static void body_##test(void);                                                                 \
    static int task_##test(void *arg) {                                                            \
        (void)arg;                                                                                 \
        body_##test();                                                                             \
        return 0;                                                                                  \
    }                                                                                              \
    CHECK_TEST(test) {                                                                             \
        test_in_task(task_##test);                                                                 \
    }                                                                                              \
    static void body_##test(void)

#ifndef __cplusplus

/* ---- plain threads ---- */

typedef struct caller {
    void (*fn)(void *arg);
    void *arg;
} caller;

#ifdef TIME_IS_VIRTUAL
static int call_on_thread(void *arg) {
    const caller *c = arg;
    thrum_test_thread thread;
    CHECK_EQ(thrum_test_thread_start(&thread, c->fn, c->arg), 0);
    thrum_test_thread_join(&thread);
    return 0;
}
#else
static void *caller_main(void *arg) {
    const caller *c = arg;
    c->fn(c->arg);
    return NULL;
}

static int call_on_thread(void *arg) {
    pthread_t thread;
    CHECK_EQ(pthread_create(&thread, NULL, caller_main, arg), 0);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    return 0;
}
#endif

/* Calls fn(arg) on a plain thread that never heard of a scheduler, and waits for it. */
CHECK_UNUSED static void on_thread(void (*fn)(void *arg), void *arg) {
    caller c = {fn, arg};
    CHECK_EQ(thrum_blocking(call_on_thread, &c, NULL), 0);
}

#endif /* of C */
#endif
