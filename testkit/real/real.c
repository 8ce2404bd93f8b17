/*
 * real.c: thrum/test.h over the real library: a few runs in real time, on real threads, which show
 * that a test does not depend on the simulation. Calls that only the kit can implement have the
 * nearest possible effect.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "thrum.h"
#include "thrum/test.h"

#define RUNS 5u
#define MOMENT THRUM_MS(20) /* by then, others have usually blocked */

static uint64_t random_state;

void thrum_test_fail(const char *file, int line, const char *condition) {
    if (file) {
        fprintf(stderr, "%s:%d: THRUM_TEST(%s)\n", file, line, condition);
    } else {
        fprintf(stderr, "exception: %s\n", condition);
    }
    _Exit(1);
}

void thrum_test_settle(void) {
    thrum_test_advance(MOMENT);
}

void thrum_test_advance(thrum_time ns) {
    thrum_shield_begin();
    (void)!thrum_sleep(ns > 0 ? ns : 0);
    thrum_shield_end();
}

void thrum_test_point(const char *name) {
    (void)name;
}

uint32_t thrum_test_random(void) {
    const uint64_t x = __atomic_add_fetch(&random_state, 0x9e3779b97f4a7c15ull, __ATOMIC_RELAXED);
    return (uint32_t)((x ^ (x >> 31)) * 0xbf58476d1ce4e5b9ull >> 32);
}

/* ---- threads ---- */

typedef struct started {
    pthread_t thread;
    void (*fn)(void *arg);
    void *arg;
} started;

static void *thread_main(void *arg) {
    const started *s = arg;
    s->fn(s->arg);
    return NULL;
}

int thrum_test_thread_start(thrum_test_thread *thread, void (*fn)(void *arg), void *arg) {
    started *s = malloc(sizeof *s);
    if (!s) {
        return -ENOMEM;
    }
    *s = (started){.fn = fn, .arg = arg};
    const int code = pthread_create(&s->thread, NULL, thread_main, s);
    if (code != 0) {
        free(s);
        return -code;
    }
    thread->reserved_[0] = (uintptr_t)s;
    return 0;
}

void thrum_test_thread_join(thrum_test_thread *thread) {
    started *s = (started *)thread->reserved_[0];
    pthread_join(s->thread, NULL);
    free(s);
}

/* ---- hosts, which the kit alone has ---- */

int thrum_test_host(const char *name, thrum_fn fn, void *arg) {
    (void)name, (void)fn, (void)arg;
    return -ENOSYS;
}

static int no_host(const char *name) {
    (void)name;
    return -ENOSYS;
}

int thrum_test_host_wait(const char *name) {
    return no_host(name);
}

int thrum_test_host_crash(const char *name) {
    return no_host(name);
}

int thrum_test_host_restart(const char *name) {
    return no_host(name);
}

int thrum_test_host_pause(const char *name, bool pause) {
    (void)pause;
    return no_host(name);
}

int thrum_test_host_clock(const char *name, thrum_time ahead, int64_t faster) {
    (void)ahead, (void)faster;
    return no_host(name);
}

int thrum_test_link_set(const char *from, const char *to, const thrum_test_link *link) {
    (void)to, (void)link;
    return no_host(from);
}

int thrum_test_link_hold(const char *from, const char *to, bool held) {
    (void)to, (void)held;
    return no_host(from);
}

int thrum_test_link_reset(const char *a, const char *b) {
    (void)b;
    return no_host(a);
}

int thrum_test_partition(const char *a, const char *b) {
    return thrum_test_link_reset(a, b);
}

int thrum_test_link_cut(const char *from, const char *to) {
    return thrum_test_link_reset(from, to);
}

int thrum_test_heal(const char *a, const char *b) {
    return thrum_test_link_reset(a, b);
}

/* ---- disks, faults ---- */

int thrum_test_disk_crash(void) {
    return -ENOSYS;
}

int thrum_test_fault(const char *host, thrum_test_call call, unsigned nth, int code) {
    (void)host, (void)call, (void)nth, (void)code;
    return -ENOSYS;
}

int thrum_test_fault_chance(const char *host, thrum_test_call call, unsigned one_in, int code) {
    (void)host, (void)call, (void)one_in, (void)code;
    return -ENOSYS;
}

int thrum_test_fault_end(const char *host) {
    (void)host;
    return -ENOSYS;
}

/* ---- runs ---- */

/* Each run is a separate process, so that it finds the program's static data unchanged. */
static bool passes(thrum_fn test, void *arg) {
    int status;
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        const int result = thrum_run(NULL, test, arg);
        if (result != 0) {
            printf("the test returned %d: %s\n", result, thrum_strerror(result));
        }
        fflush(NULL);
        _Exit(result != 0);
    }
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("fork");
        return false;
    }
    if (WIFSIGNALED(status)) {
        printf("ended by signal %d\n", WTERMSIG(status));
    }
    return status == 0;
}

int thrum_test_run(const thrum_test_options *options, thrum_fn test, void *arg) {
    if (!test || (options && (options->size < sizeof *options || !options->runs))) {
        return -EINVAL;
    }
    if (thrum_sched_current()) {
        return -EDEADLK;
    }
    const uint64_t runs = options && options->runs < RUNS ? options->runs : RUNS;
    random_state = options ? options->seed : 1;
    for (uint64_t i = 0; i < runs; i++) {
        if (!passes(test, arg)) {
            printf("FAILED in run %llu in real time\n", (unsigned long long)i + 1);
            return 1;
        }
    }
    printf("%llu runs passed in real time\n", (unsigned long long)runs);
    return 0;
}

int thrum_test_main(int argc, char **argv, thrum_fn test, void *arg) {
    (void)argc, (void)argv; /* the options are for the kit; here, none has an effect */
    return thrum_test_run(NULL, test, arg);
}
