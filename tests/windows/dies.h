/*
 * dies.h: a part of check.h: what the C library lacks, and a proof that a function ends the process
 * where no process forks. The program is started anew for the same test, with the number of the
 * check_dies or check_child that is meant in CHECK_DIES; there that one runs its function. "2.1" is
 * the first one in the function of the second. Each check_dies before it is passed by; a
 * check_child, whose outcome the test goes on with, starts its own process once more.
 */
#ifndef CHECK_DIES_H
#define CHECK_DIES_H

#include <direct.h>
#include <fcntl.h>
#include <io.h>
#include <process.h>

#include "windows/unix_signals.h"

/* As windows.h has them, which brings too many names for a test. */
#ifdef __cplusplus
extern "C" {
#endif
__declspec(dllimport) unsigned long __stdcall WaitForSingleObject(void *object, unsigned long ms);
__declspec(dllimport) int __stdcall TerminateProcess(void *process, unsigned status);
__declspec(dllimport) int __stdcall GetExitCodeProcess(void *process, unsigned long *status);
__declspec(dllimport) int __stdcall CloseHandle(void *object);
#ifdef __cplusplus
}
#endif

/* ---- what the C library lacks ---- */

CHECK_UNUSED static int setenv(const char *name, const char *value, int over) {
    return over || !getenv(name) ? _putenv_s(name, value) : 0;
}

CHECK_UNUSED static int unsetenv(const char *name) {
    return _putenv_s(name, "");
}

/* A test that comes here is about what this system does not have. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow" /* compilers know of the function that is not here */
CHECK_UNUSED __attribute__((noreturn)) static int fork(void) {
    check_skip(__FILE__, __LINE__, "no process forks here");
}
#pragma GCC diagnostic pop

CHECK_UNUSED __attribute__((noreturn)) static pid_t waitpid(pid_t child, int *status, int flags) {
    (void)flags;
    *status = (int)child;
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

CHECK_UNUSED static void check_dump_no_core(void) {
}

CHECK_UNUSED static char *mkdtemp(char *path) {
    return _mktemp(path) && _mkdir(path) == 0 ? path : NULL;
}

#define PIPE_BYTES 65536

CHECK_UNUSED static int pipe(int ends[2]) {
    return _pipe(ends, PIPE_BYTES, _O_BINARY);
}

/* In a handler: it is called the next time, too; the C library has taken it away. */
CHECK_UNUSED static void signal_again(int number, void (*handler)(int)) {
    (void)signal(number, handler);
}

/* Its own tells no number. */
#define dup2 check_dup2
CHECK_UNUSED static int check_dup2(int fd, int to) {
    return _dup2(fd, to) == 0 ? to : -1;
}

/* A stream that takes nothing: it is there to be read. */
CHECK_UNUSED static FILE *check_full_stream(void) {
    return fopen(check_program, "rb");
}

/* By which signal a program ends that this one, which nobody catches, ends: the C library's way. */
#define SIGNAL_ENDS(number_) ((void)(number_), SIGABRT)

#define WNOHANG 1
/* Of a status: the signal that it would be elsewhere; 0: the program has ended itself. */
CHECK_UNUSED static int check_signal_of(int status) {
    switch ((unsigned)status) {
    case 3: /* what the C library's abort ends with */
        return SIGABRT;
    case 0xc0000005u: /* an access violation */
    case 0xc00000fdu: /* an overflow of the stack */
        return SIGSEGV;
    case 0xc000001du:
        return SIGILL;
    case 0xc0000094u:
        return SIGFPE;
    default:
        return 0;
    }
}

#define WIFSIGNALED(status_) (check_signal_of(status_) != 0)
#define WIFEXITED(status_) (check_signal_of(status_) == 0)
#define WEXITSTATUS(status_) (status_)
#define WTERMSIG(status_) check_signal_of(status_)

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

/* Of the test that runs: in a program of several files main, which starts it, is in one of them. */
#ifdef CHECK_PART
extern char check_test_name[256];
extern int check_dies_count;
extern char check_dies_before[64];
extern char check_dies_wanted[64];
#else
CHECK_SHARED char check_test_name[256];
CHECK_SHARED int check_dies_count;       /* how many the function has come to */
CHECK_SHARED char check_dies_before[64]; /* the numbers of those whose functions it runs in */
CHECK_SHARED char check_dies_wanted[64]; /* of the one that is meant, from here on; "": none */
#endif

CHECK_UNUSED static void check_refresh_signals(char **argv) {
    (void)argv; /* a program inherits none */
}

CHECK_UNUSED static int check_run_here(const check_test *test) {
    const char *wanted = getenv("CHECK_DIES");
    check_own_name(test, check_test_name, sizeof check_test_name);
    check_dies_count = 0;
    snprintf(check_dies_wanted, sizeof check_dies_wanted, "%s", wanted ? wanted : "");
    test->run();
    return 0;
}

/*
 * Runs a test in a process of its own, since the next one does not expect what one leaves in the
 * file's variables and in the process. Returns its status, or CHECK_ENDED_LATE after `seconds`.
 */
CHECK_UNUSED static int check_run_apart(const check_test *test, int seconds) {
    char name[256];
    fflush(NULL);
    check_own_name(test, name, sizeof name);
    const intptr_t child = _spawnl(_P_NOWAIT, check_program, check_program, name, (char *)NULL);
    if (child == -1) {
        perror(check_program);
        return 1;
    }
    void *process = (void *)child;
    const unsigned long forever = 0xffffffff;
    unsigned long status = 1;
    const bool ended =
        WaitForSingleObject(process, seconds > 0 ? (unsigned long)seconds * 1000 : forever) == 0;
    if (!ended) {
        TerminateProcess(process, 1);
        WaitForSingleObject(process, forever);
    } else if (!GetExitCodeProcess(process, &status)) {
        status = 1;
    }
    CloseHandle(process);
    return ended ? (int)status : CHECK_ENDED_LATE;
}

/* If the number is the one that is meant, runs the function, and ends. */
CHECK_UNUSED static void check_child_here(void (*fn)(void *), void *arg, int number) {
    char *rest;
    if (strtol(check_dies_wanted, &rest, 10) != number) {
        return;
    }
    const size_t length = strlen(check_dies_before);
    snprintf(check_dies_before + length, sizeof check_dies_before - length, "%d.", number);
    memmove(check_dies_wanted, rest + (*rest == '.'), strlen(rest + (*rest == '.')) + 1);
    check_dies_count = 0;
    _putenv_s("CHECK_DIES", "");
    fn(arg);
    _exit(0);
}

/* Runs the child, which prints to `path`. Returns its status. */
CHECK_UNUSED static int check_child_spawn(const char *path, int number) {
    char text[96];
    snprintf(text, sizeof text, "%s%d", check_dies_before, number);
    _putenv_s("CHECK_DIES", text);
    fflush(NULL);
    int before = _dup(2);
    int out = _open(path, _O_WRONLY | _O_CREAT | _O_TRUNC | _O_BINARY, 0600);
    CHECK(before >= 0 && out >= 0 && _dup2(out, 2) == 0);
    _close(out);
    const int status =
        (int)_spawnl(_P_WAIT, check_program, check_program, check_test_name, (char *)NULL);
    _dup2(before, 2);
    _close(before);
    _putenv_s("CHECK_DIES", "");
    return status;
}

/*
 * Runs fn(arg) in a process of its own, and keeps the beginning of what it prints on stderr. How it
 * has ended: for WIFSIGNALED and the like.
 */
CHECK_UNUSED static int check_child(void (*fn)(void *), void *arg, char *text, size_t size) {
    const char *folder = getenv("TEMP");
    char path[512];
    const int number = ++check_dies_count;
    check_child_here(fn, arg, number);
    snprintf(path, sizeof path, "%s/check-%d-%d", folder ? folder : ".", _getpid(), number);
    const int status = check_child_spawn(path, number);
    FILE *in = fopen(path, "rb");
    const size_t length = in ? fread(text, 1, size - 1, in) : 0;
    text[length] = '\0';
    if (in) {
        fclose(in);
    }
    remove(path);
    return status;
}

/* Demands that fn(arg), in a process of its own, aborts and prints `expected` on stderr. */
#define check_dies(fn, arg, expected) check_dies_at(__FILE__, __LINE__, fn, arg, expected)

CHECK_UNUSED static void check_dies_at(const char *file, int line, void (*fn)(void *), void *arg,
                                       const char *expected) {
    char text[8192];
    if (check_dies_wanted[0]) {
        check_child_here(fn, arg, ++check_dies_count);
        return;
    }
    const int status = check_child(fn, arg, text, sizeof text);
    if (check_signal_of(status) != SIGABRT) {
        check_failed(file, line, "no abort: status 0x%x, it printed: %.800s", (unsigned)status,
                     text);
    }
    if (!strstr(text, expected)) {
        check_failed(file, line, "\"%s\" is not in: %.800s", expected, text);
    }
}

#endif
