/*
 * beside.c: real threads and processes beside the simulation.
 */
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"

static void *writes_to_null(void *arg) {
    int *volatile p = arg;
    *p = 5;
    return NULL;
}

int crash_beside(void *arg) {
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, writes_to_null, arg));
    MUST(pthread_join(thread, NULL));
    return 0;
}

static void *aborts(void *arg) {
    (void)arg;
    abort();
}

int abort_beside(void *arg) {
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, aborts, arg));
    MUST(pthread_join(thread, NULL));
    return 0;
}

int child_crashes(void *arg) {
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        writes_to_null(arg);
    }
    THRUM_TEST(waitpid(child, &status, 0) == child);
    THRUM_TEST(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    return 0;
}

static volatile int stop;

static void *is_ticked(void *arg) {
    while (!stop) {
        sched_yield();
    }
    return arg;
}

int ticks_beside(void *arg) {
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, is_ticked, arg));
    for (int i = 0; i < 5; i++) {
        MUST(pthread_kill(thread, SIGVTALRM));
        usleep(1000);
    }
    stop = 1;
    MUST(pthread_join(thread, NULL));
    return 0;
}
