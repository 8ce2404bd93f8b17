/*
 * promises.c: small tests by which promises.py holds the kit to what it promises:
 * promises NAME [OPTION...]. Those whose names begin with bad_ must fail.
 *
 * Static data is put back before each schedule, so what is kept across schedules is in a mapping.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <thrum.h>
#include <thrum/test.h>

static struct {
    unsigned schedules;
    unsigned orders[2]; /* how often either of two tasks was the first */
    thrum_time began;
} * kept;

#define MUST(call) THRUM_TEST((call) == 0)

static thrum_mutex lock = THRUM_MUTEX_INIT;
static thrum_mutex lock2 = THRUM_MUTEX_INIT;
static int first = -1;

/* ---- time ---- */

static int sleeps_a_day(void *arg) {
    (void)arg;
    for (int hour = 0; hour < 24; hour++) {
        const thrum_time before = thrum_now();
        MUST(thrum_sleep(THRUM_S(3600)));
        THRUM_TEST(thrum_now() - before == THRUM_S(3600));
    }
    return 0;
}

static int begins_at_one_instant(void *arg) {
    (void)arg;
    if (kept->schedules++ == 0) {
        kept->began = thrum_now();
    }
    THRUM_TEST(thrum_now() == kept->began);
    MUST(thrum_sleep(THRUM_S(1)));
    return 0;
}

static int yields(void *arg) {
    (void)arg;
    for (int i = 0; i < 20; i++) {
        thrum_mutex_lock(&lock);
        thrum_mutex_unlock(&lock);
        thrum_yield();
    }
    return 0;
}

/* While a task can go on, no time passes. */
static int time_stands_still(void *arg) {
    thrum_handle *handle;
    const thrum_time before = thrum_now();
    MUST(thrum_spawn(&handle, yields, arg));
    yields(arg);
    MUST(thrum_join(handle, NULL));
    thrum_test_settle();
    THRUM_TEST(thrum_now() == before);
    thrum_test_advance(THRUM_MS(5));
    THRUM_TEST(thrum_now() == before + THRUM_MS(5));
    return 0;
}

/* ---- schedules ---- */

static int is_first(void *arg) {
    const int number = (int)(intptr_t)arg;
    thrum_mutex_lock(&lock);
    if (first < 0) {
        first = number;
    }
    thrum_mutex_unlock(&lock);
    return 0;
}

static int race(void) {
    thrum_handle *handles[2];
    MUST(thrum_spawn(&handles[0], is_first, NULL));
    MUST(thrum_spawn(&handles[1], is_first, (void *)1));
    MUST(thrum_join(handles[0], NULL));
    MUST(thrum_join(handles[1], NULL));
    kept->orders[first]++;
    return 0;
}

static int two_tasks(void *arg) {
    (void)arg;
    return race();
}

static void thread_is_first(void *arg) {
    is_first(arg);
}

static int join_thread(void *arg) {
    thrum_test_thread_join(arg);
    return 0;
}

static int two_threads(void *arg) {
    thrum_test_thread threads[2];
    (void)arg;
    MUST(thrum_test_thread_start(&threads[0], thread_is_first, NULL));
    MUST(thrum_test_thread_start(&threads[1], thread_is_first, (void *)1));
    MUST(thrum_blocking(join_thread, &threads[0], NULL));
    MUST(thrum_blocking(join_thread, &threads[1], NULL));
    kept->orders[first]++;
    return 0;
}

static int bad_order(void *arg) {
    (void)arg;
    race();
    THRUM_TEST(first == 0);
    return 0;
}

static int random_numbers(void *arg) {
    (void)arg;
    const uint32_t number = thrum_test_random();
    thrum_mutex *locks[2] = {&lock, &lock2};
    for (unsigned i = 0; i < 8; i++) {
        thrum_mutex_lock(locks[number >> i & 1]);
        thrum_mutex_unlock(locks[number >> i & 1]);
    }
    return race();
}

/* Both take two locks; the other one is the other way around. */
static int locks_both(void *arg) {
    thrum_mutex *mine = arg ? &lock : &lock2;
    thrum_mutex *other = arg ? &lock2 : &lock;
    thrum_mutex_lock(mine);
    thrum_mutex_lock(other);
    thrum_mutex_unlock(other);
    thrum_mutex_unlock(mine);
    return 0;
}

static int bad_locks(void *arg) {
    thrum_handle *handle;
    (void)arg;
    MUST(thrum_spawn(&handle, locks_both, NULL));
    locks_both(&lock);
    return thrum_join(handle, NULL);
}

/* ---- data ---- */

static int counter = 7;
static int zero;
static char *text;

static int static_data(void *arg) {
    static int calls;
    (void)arg;
    THRUM_TEST(counter == 7);
    THRUM_TEST(zero == 0 && calls == 0);
    THRUM_TEST(!text);
    counter++, zero++, calls++;
    text = malloc(100);
    THRUM_TEST(text);
    memset(text, 1, 100);
    return race();
}

/* ---- ends ---- */

static thrum_event never = THRUM_EVENT_INIT(THRUM_EVENT_AUTO, false);

static int waits(void *arg) {
    (void)arg;
    return thrum_event_wait(&never);
}

static int bad_task_left(void *arg) {
    return thrum_go(waits, arg);
}

static int bad_object_left(void *arg) {
    thrum_chan *chan;
    (void)arg;
    return thrum_chan_create(&chan, 1, 1);
}

static int bad_result(void *arg) {
    (void)arg;
    return -ENOENT;
}

static int runs_within(void *arg) {
    THRUM_TEST(thrum_test_run(NULL, two_tasks, arg) == -EDEADLK);
    return 0;
}

/* ---- the program ---- */

/* What the C library keeps for longer than a run, although it allocates it in one. */
static void at_exit(void) {
    abort();
}

static int library_keeps(void *arg) {
    const time_t now = 0;
    (void)arg;
    MUST(setenv("PROMISES", "kept", 1));
    THRUM_TEST(!strcmp(getenv("PROMISES"), "kept"));
    THRUM_TEST(localtime(&now) != NULL);
    THRUM_TEST(!setlocale(LC_ALL, "C.UTF-8") || setlocale(LC_ALL, "C"));
    THRUM_TEST(strerror(99999));
    THRUM_TEST(fopen("/dev/null", "w")); /* left open */
    for (int i = 0; i < 40; i++) {
        MUST(atexit(at_exit));
    }
    return 0;
}

static void *allocates(void *arg) {
    for (size_t i = 0; i < 2000; i++) {
        char *block = malloc(i % 100 + 1);
        memset(block, 1, i % 100 + 1);
        free(block);
    }
    return arg;
}

/* A real thread uses malloc beside the simulation. */
static int beside_a_thread(void *arg) {
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, allocates, NULL));
    allocates(arg);
    thrum_yield();
    MUST(pthread_join(thread, NULL));
    return 0;
}

static int aligned(void *arg) {
    void *block = NULL;
    (void)arg;
    THRUM_TEST(posix_memalign(&block, 3, 10) == EINVAL);
    free(valloc(10));
    for (size_t align = 8; align <= 65536; align *= 2) {
        MUST(posix_memalign(&block, align, 10));
        THRUM_TEST((uintptr_t)block % align == 0);
        free(block);
    }
    return 0;
}

static const struct {
    const char *name;
    thrum_fn fn;
} tests[] = {{"sleeps_a_day", sleeps_a_day},
             {"begins_at_one_instant", begins_at_one_instant},
             {"time_stands_still", time_stands_still},
             {"two_tasks", two_tasks},
             {"two_threads", two_threads},
             {"bad_order", bad_order},
             {"random_numbers", random_numbers},
             {"bad_locks", bad_locks},
             {"static_data", static_data},
             {"bad_task_left", bad_task_left},
             {"bad_object_left", bad_object_left},
             {"bad_result", bad_result},
             {"library_keeps", library_keeps},
             {"beside_a_thread", beside_a_thread},
             {"aligned", aligned},
             {"runs_within", runs_within}};

/* Several runs in one program: each finds the data as it was, and the options count. */
static int several(void) {
    thrum_test_options options = THRUM_TEST_OPTIONS_INIT;
    options.runs = 10;
    counter = 8; /* a program's own change, which the runs must keep */
    const bool bad = thrum_test_run(&options, two_tasks, NULL) != 0 || first != -1 ||
                     thrum_test_run(&options, bad_result, NULL) != 1 ||
                     thrum_test_run(&options, two_tasks, NULL) != 0 || counter != 8 ||
                     thrum_test_run(&options, NULL, NULL) != -EINVAL;
    struct sigaction crash;
    if (sigaction(SIGSEGV, NULL, &crash) != 0 || crash.sa_handler != SIG_DFL) {
        return 1; /* crashes of the rest of the program are its own */
    }
    options.workers = THRUM_TEST_WORKERS_MAX + 1;
    return bad || thrum_test_run(&options, two_tasks, NULL) != -EINVAL;
}

int main(int argc, char **argv) {
    int status = 3;
    kept = mmap(NULL, sizeof *kept, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (kept == MAP_FAILED || argc < 2) {
        return status;
    }
    for (unsigned i = 0; i < sizeof tests / sizeof *tests; i++) {
        if (!strcmp(tests[i].name, argv[1])) {
            char *name = argv[0];
            argv[1] = name;
            status = thrum_test_main(argc - 1, argv + 1, tests[i].fn, NULL);
            printf("orders %u %u\n", kept->orders[0], kept->orders[1]);
            return status;
        }
    }
    return strcmp(argv[1], "several") ? status : several();
}
