/*
 * dies.h: a part of check.h: shows that a function ends the process, by a fork of it.
 */
#ifndef CHECK_DIES_H
#define CHECK_DIES_H

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

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
 * The tests have the signals of a fresh program: none is blocked or ignored, even if our parent has
 * it so (nohup, a shell's background). The library looks at ignored ones before main, so the
 * program starts itself anew.
 */
CHECK_UNUSED static void check_refresh_signals(char **argv) {
    sigset_t none;
    bool ignored = false;
    if (getenv("CHECK_SIGNALS")) {
        return;
    }
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    for (int i = 1; i < 32; i++) { /* of others, valgrind has one of its own */
        struct sigaction action;
        if (sigaction(i, NULL, &action) == 0 && action.sa_handler == SIG_IGN) {
            signal(i, SIG_DFL);
            ignored = true;
        }
    }
    if (ignored) {
        setenv("CHECK_SIGNALS", "fresh", 1);
        execv("/proc/self/exe", argv); /* without /proc only the library knows of them */
    }
}

CHECK_UNUSED static int check_run_here(const check_test *test) {
    test->run();
    return 0;
}

/* The status of a test's process whose test has returned: with 0 something else has ended it. */
#define CHECK_RETURNED 76

/* The child's half of check_run_apart: it and its children are one process group. */
CHECK_UNUSED __attribute__((noreturn)) static void check_run_child(const check_test *test,
                                                                   const sigset_t *signals) {
    setpgid(0, 0);
#ifdef __linux__
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* an interrupted runner leaves nothing behind */
#endif
    sigprocmask(SIG_SETMASK, signals, NULL);
    test->run();
    exit(CHECK_RETURNED);
}

/* The signals that the runner waits for: a child's end, and those that end the runner. */
CHECK_UNUSED static void check_signals(sigset_t *ends) {
    static const int interrupts[] = {SIGHUP, SIGINT, SIGTERM};
    struct sigaction action;
    signal(SIGCHLD, SIG_DFL); /* where it is ignored no status is kept */
    sigemptyset(ends);
    sigaddset(ends, SIGCHLD);
    for (size_t i = 0; i < sizeof interrupts / sizeof interrupts[0]; i++) {
        if (sigaction(interrupts[i], NULL, &action) == 0 && action.sa_handler == SIG_DFL) {
            sigaddset(ends, interrupts[i]);
        }
    }
}

/*
 * Waits for the child, `seconds` at most unless that is 0; whether it has ended. Its number stays
 * its own. The signals `ends` are blocked.
 */
CHECK_UNUSED static bool check_await_child(pid_t child, int seconds, const sigset_t *ends) {
    struct timespec now, end, left;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_sec += seconds > 0 ? seconds : 1000000;
    for (;;) {
        siginfo_t info;
        info.si_pid = 0;
        if (waitid(P_PID, (id_t)child, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
            info.si_pid == child) {
            return true;
        }
        clock_gettime(CLOCK_MONOTONIC, &now);
        left.tv_sec = end.tv_sec - now.tv_sec - 1;
        left.tv_nsec = end.tv_nsec - now.tv_nsec + 999999999;
        if (left.tv_nsec > 999999999) {
            left.tv_nsec -= 1000000000;
            left.tv_sec++;
        }
        if (left.tv_sec < 0) {
            return false;
        }
        const int number = sigtimedwait(ends, NULL, &left);
        if (number > 0 && number != SIGCHLD) {
            kill(-child, SIGKILL);
            _exit(128 + number); /* as a shell reports it */
        }
    }
}

/*
 * Runs a test in a process of its own, since the next one does not expect what one leaves in the
 * file's variables and in the process. Returns its status, or CHECK_ENDED_LATE after `seconds`.
 */
CHECK_UNUSED static int check_run_apart(const check_test *test, int seconds) {
    sigset_t ends, before;
    int status = 0;
    check_signals(&ends);
    fflush(NULL);
    sigprocmask(SIG_BLOCK, &ends, &before);
    const pid_t child = fork();
    if (child == 0) {
        check_run_child(test, &before);
    }
    if (child < 0) {
        perror("fork");
        return 1;
    }
    const bool ended = check_await_child(child, seconds, &ends);
    kill(child, SIGKILL);
    kill(-child, SIGKILL); /* whatever it has left, which may have our stdout */
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (!ended) {
        return CHECK_ENDED_LATE;
    }
    if (!WIFEXITED(status)) {
        printf("%s: ended by signal %d, %s\n", test->name, WTERMSIG(status),
               strsignal(WTERMSIG(status)));
        return 1;
    }
    if (WEXITSTATUS(status) == 0) {
        printf("%s: something ended its process before the test returned\n", test->name);
        return 1;
    }
    return WEXITSTATUS(status) == CHECK_RETURNED ? 0 : WEXITSTATUS(status);
}

/* By a child that is to die: no core is dumped, neither into a file nor to a program. */
CHECK_UNUSED static void check_dump_no_core(void) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
#ifdef __linux__
    prctl(PR_SET_DUMPABLE, 0);
#endif
}

/* The child's half of check_dies. */
CHECK_UNUSED __attribute__((noreturn)) static void check_dies_child(void (*fn)(void *), void *arg,
                                                                    int out) {
    struct rlimit none = {0, 0};
    setrlimit(RLIMIT_CORE, &none);
    dup2(out, STDERR_FILENO);
    close(out);
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
    if (!strstr(text, expected)) {
        check_failed(file, line, "\"%s\" is not in: %.800s", expected, text);
    }
}

#endif
