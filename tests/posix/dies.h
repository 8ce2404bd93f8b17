/*
 * dies.h: a part of check.h: shows that a function ends the process, by a fork of it.
 */
#ifndef CHECK_DIES_H
#define CHECK_DIES_H

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* In a handler: it is called the next time, too. */
CHECK_UNUSED static void signal_again(int number, void (*handler)(int)) {
    (void)number; /* it stays */
    (void)handler;
}

/* By which signal a program ends that this one, which nobody catches, ends. */
#define SIGNAL_ENDS(number_) (number_)

/* A stream that takes nothing. */
CHECK_UNUSED static FILE *check_full_stream(void) {
    return fopen("/dev/full", "w");
}

/*
 * Runs a test and returns its status: of several each in a process of its own, since the next one
 * does not expect what one leaves in the file's variables, and in the process.
 */
static int check_run(const char *program, const check_test *test, bool only) {
    int status = 0;
    if (only) {
        test->run();
        return 0;
    }
    fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        test->run();
        exit(0);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (child < 0 || !WIFEXITED(status)) {
        fprintf(stderr, "%s: %s: wait status 0x%x\n", program, test->name, (unsigned)status);
        return 1;
    }
    if (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != 77) {
        fprintf(stderr, "%s: %s: failed\n", program, test->name);
    }
    return WEXITSTATUS(status);
}

/* The child's half of check_dies. */
CHECK_UNUSED __attribute__((noreturn)) static void check_dies_child(void (*fn)(void *), void *arg,
                                                                    int out) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    dup2(out, STDERR_FILENO);
    close(out);
    alarm(30);
    check_keep_counts();
    fn(arg);
    _exit(0);
}

/*
 * Runs fn(arg) in a process of its own, and keeps the beginning of what it prints on stderr. How it
 * has ended, as waitpid tells it.
 */
CHECK_UNUSED static int check_child(void (*fn)(void *), void *arg, char *text, size_t size) {
    int ends[2];
    char rest[512];
    size_t length = 0;
    int status = 0;
    ssize_t n;
    fflush(NULL);
    CHECK_EQ(pipe(ends), 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        close(ends[0]);
        check_dies_child(fn, arg, ends[1]);
    }
    close(ends[1]);
    do {
        bool full = length == size - 1;
        n = full ? read(ends[0], rest, sizeof(rest))
                 : read(ends[0], text + length, size - 1 - length);
        if (n > 0 && !full) {
            length += (size_t)n;
        }
    } while (n > 0 || (n < 0 && errno == EINTR));
    close(ends[0]);
    text[length] = '\0';
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return status;
}

/* Demands that fn(arg), in a process of its own, aborts and prints `expected` on stderr. */
#define check_dies(fn, arg, expected) check_dies_at(__FILE__, __LINE__, fn, arg, expected)

CHECK_UNUSED static void check_dies_at(const char *file, int line, void (*fn)(void *), void *arg,
                                       const char *expected) {
    char text[8192];
    const int status = check_child(fn, arg, text, sizeof(text));
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGABRT) {
        check_failed(file, line, "no abort: wait status 0x%x, it printed: %.800s", (unsigned)status,
                     text);
    }
    if (strstr(text, expected) == NULL) {
        check_failed(file, line, "\"%s\" is not in: %.800s", expected, text);
    }
}

#endif
