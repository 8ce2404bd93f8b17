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

/* The library's calls belong to the simulation, and so does THRUM_TEST. */
static void *calls_library(void *arg) {
    thrum_mutex_lock(arg);
    thrum_mutex_unlock(arg);
    return NULL;
}

int call_beside(void *arg) {
    static thrum_mutex mutex = THRUM_MUTEX_INIT;
    pthread_t thread;
    (void)arg;
    MUST(pthread_create(&thread, NULL, calls_library, &mutex));
    MUST(pthread_join(thread, NULL));
    return 0;
}

static char zero;

static void *checks(void *arg) {
    THRUM_TEST(arg == &zero);
    return NULL;
}

int check_beside(void *arg) {
    pthread_t thread;
    MUST(pthread_create(&thread, NULL, checks, arg));
    MUST(pthread_join(thread, NULL));
    return 0;
}

/* The child runs no other schedules. */
static int forks(bool fails) {
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        THRUM_TEST(!fails);
        return 0;
    }
    THRUM_TEST(waitpid(child, &status, 0) == child);
    THRUM_TEST(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    return 0;
}

int child_goes_on(void *arg) {
    (void)arg;
    return forks(false);
}

int child_fails(void *arg) {
    (void)arg;
    return forks(true);
}

int exec_beside(void *arg) {
    (void)arg;
    (void)execlp("true", "true", (char *)NULL);
    return 1;
}

/* Each of them finds the shell, and passes the arguments and the environment on. */
static void run_shell(int way) {
    char *const name[] = {"NAME=5", NULL};
    char *const code[] = {"sh", "-c", "exit ${NAME:-5}", NULL};
    switch (way) {
    case 0:
        execl("/bin/sh", code[0], code[1], code[2], (char *)NULL);
        break;
    case 1:
        execlp("sh", code[0], code[1], code[2], (char *)NULL);
        break;
    case 2:
        execle("/bin/sh", code[0], code[1], "exit $NAME", (char *)NULL, name);
        break;
    case 3:
        execv("/bin/sh", code);
        break;
    case 4:
        execvp("sh", code);
        break;
    default:
        execve("/bin/sh", code, name);
        break;
    }
    _exit(1);
}

int child_execs(void *arg) {
    (void)arg;
    for (int way = 0; way < 6; way++) {
        int status = 0;
        const pid_t child = fork();
        if (child == 0) {
            run_shell(way);
        }
        THRUM_TEST(waitpid(child, &status, 0) == child);
        THRUM_TEST(WIFEXITED(status) && WEXITSTATUS(status) == 5);
    }
    return 0;
}

/* As a failing check of a framework does. */
jmp_buf jump_beside;

int jumps_beside(void *arg) {
    (void)arg;
    longjmp(jump_beside, 1);
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
