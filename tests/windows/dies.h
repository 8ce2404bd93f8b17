/*
 * dies.h: a part of check.h: what the C library lacks, and a proof that a function ends the process
 * where no process forks. The program is started anew for the same test, with the number of the
 * check_dies that is meant in CHECK_DIES; there the ones before it are passed by, and that one runs
 * its function.
 */
#ifndef CHECK_DIES_H
#define CHECK_DIES_H

#include <direct.h>
#include <fcntl.h>
#include <io.h>
#include <process.h>

#include "windows/unix_signals.h"

/* ---- what the C library lacks ---- */

CHECK_UNUSED static int setenv(const char *name, const char *value, int over) {
    return over || getenv(name) == NULL ? _putenv_s(name, value) : 0;
}

CHECK_UNUSED static int unsetenv(const char *name) {
    return _putenv_s(name, "");
}

/* A test that comes here is about what this system does not have. */
CHECK_UNUSED __attribute__((noreturn)) static int fork(void) {
    check_skip(__FILE__, __LINE__, "no process forks here");
}

CHECK_UNUSED __attribute__((noreturn)) static int waitpid(int child, int *status, int flags) {
    (void)flags;
    *status = child;
    check_skip(__FILE__, __LINE__, "no process forks here");
}

CHECK_UNUSED __attribute__((noreturn)) static ssize_t readlink(const char *path, char *to,
                                                               size_t size) {
    (void)to;
    (void)size;
    check_skip(__FILE__, __LINE__, "no %s here", path);
}

CHECK_UNUSED static unsigned alarm(unsigned seconds) {
    (void)seconds; /* the runner ends what hangs */
    return 0;
}

CHECK_UNUSED static char *mkdtemp(char *path) {
    return _mktemp(path) && _mkdir(path) == 0 ? path : NULL;
}

CHECK_UNUSED static int pipe(int ends[2]) {
    return _pipe(ends, 4096, _O_BINARY);
}

#define WNOHANG 1
#define WIFSIGNALED(status_) ((status_) == 3)
#define WIFEXITED(status_) ((status_) != 3)
#define WEXITSTATUS(status_) (status_)
#define WTERMSIG(status_) (status_)

/* Its own puts the file into the root of the drive. */
#define tmpfile check_tmpfile
CHECK_UNUSED static FILE *check_tmpfile(void) {
    static volatile long count;
    char path[512];
    const char *folder = getenv("TEMP");
    snprintf(path, sizeof path, "%s/check-%d-file-%ld", folder ? folder : ".", _getpid(),
             __atomic_add_fetch(&count, 1, __ATOMIC_RELAXED));
    return fopen(path, "w+bD"); /* D: it is removed when it is closed */
}

/* ---- tests that end the process ---- */

static const char *check_program;
static const char *check_test_name;
static int check_dies_count; /* how many the test has come to */

/* Runs a test, also of several, in the process that was started. */
static int check_run(const char *program, const check_test *test, bool only) {
    (void)only;
    check_program = program;
    check_test_name = test->name;
    check_dies_count = 0;
    test->run();
    return 0;
}

/* Demands that fn(arg), in a process of its own, aborts and prints `expected` on stderr. */
#define check_dies(fn, arg, expected) check_dies_at(__FILE__, __LINE__, fn, arg, expected)

/* Runs the child, which prints to `path`. Returns its status. */
CHECK_UNUSED static intptr_t check_dies_spawn(const char *file, int line, const char *path,
                                              int number) {
    char text[32];
    snprintf(text, sizeof text, "%d", number);
    _putenv_s("CHECK_DIES", text);
    fflush(NULL);
    int before = _dup(2);
    int out = _open(path, _O_WRONLY | _O_CREAT | _O_TRUNC | _O_BINARY, 0600);
    if (before < 0 || out < 0 || _dup2(out, 2) != 0) {
        check_failed(file, line, "%s: %s", path, strerror(errno));
    }
    _close(out);
    intptr_t status = _spawnl(_P_WAIT, check_program, check_program, check_test_name, NULL);
    _dup2(before, 2);
    _close(before);
    _putenv_s("CHECK_DIES", "");
    return status;
}

CHECK_UNUSED static void check_dies_at(const char *file, int line, void (*fn)(void *), void *arg,
                                       const char *expected) {
    const char *wanted = getenv("CHECK_DIES");
    const char *folder = getenv("TEMP");
    char path[512];
    char text[8192];
    int number = ++check_dies_count;
    if (wanted && wanted[0]) {
        if (atoi(wanted) == number) {
            fn(arg);
            _exit(0);
        }
        return;
    }
    snprintf(path, sizeof path, "%s/check-%d-%d", folder ? folder : ".", _getpid(), number);
    intptr_t status = check_dies_spawn(file, line, path, number);
    FILE *in = fopen(path, "rb");
    size_t length = in ? fread(text, 1, sizeof text - 1, in) : 0;
    text[length] = '\0';
    if (in) {
        fclose(in);
    }
    remove(path);
    if (status != 3) { /* what the C library's abort ends with */
        check_failed(file, line, "no abort: status 0x%llx, it printed: %.800s",
                     (unsigned long long)status, text);
    }
    if (strstr(text, expected) == NULL) {
        check_failed(file, line, "\"%s\" is not in: %.800s", expected, text);
    }
}

#endif
