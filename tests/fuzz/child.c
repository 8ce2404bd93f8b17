/*
 * child.c: see child.h.
 */
#define _GNU_SOURCE
#include "child.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

const bool child_can_fail = true;

void *child_memory(size_t size) {
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

bool child_random(void *to, size_t size) {
    return getrandom(to, size, 0) == (ssize_t)size;
}

static const char *how(int status) {
    static char text[64];
    if (WIFSIGNALED(status)) {
        return WTERMSIG(status) == SIGALRM ? CHILD_HANGS : strsignal(WTERMSIG(status));
    }
    if (WEXITSTATUS(status) == 0) {
        return NULL;
    }
    snprintf(text, sizeof(text), "it exits with %d", WEXITSTATUS(status));
    return text;
}

const char *child_run(child_fn run, void *arg, int seconds, bool quiet) {
    int status;
    fflush(NULL);
    pid_t child = fork();
    if (child == 0) {
        if (quiet && !freopen("/dev/null", "w", stderr)) {
            _exit(2);
        }
        alarm((unsigned)seconds);
        if (run(arg)) {
            exit(0); /* so that leaks are reported */
        }
        _exit(0);
    }
    if (child < 0 || waitpid(child, &status, 0) < 0) {
        perror("fork");
        exit(2);
    }
    return how(status);
}
