/*
 * exec.c: the calls of exec. They replace the process, so a test that made one would end all
 * schedules with the exit status of another program. A child of fork may make them.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "kit.h"

/* Weak: a program that is linked statically may have those of the C library as well. */
#pragma GCC visibility push(default)
int execve(const char *path, char *const argv[], char *const envp[]) __attribute__((weak));
int execv(const char *path, char *const argv[]) __attribute__((weak));
int execvp(const char *file, char *const argv[]) __attribute__((weak));
int execvpe(const char *file, char *const argv[], char *const envp[]) __attribute__((weak));
int execl(const char *path, const char *argument, ...) __attribute__((weak));
int execlp(const char *file, const char *argument, ...) __attribute__((weak));
int execle(const char *path, const char *argument, ...) __attribute__((weak));
#pragma GCC visibility pop

static void check(const char *call, uintptr_t after) {
    if (!kit_is_outside() && getpid() == E->process) {
        spot(after, "called");
        fail("exit", "the test called %s", call);
    }
}

static int replace(const char *path, char *const argv[], char *const envp[]) {
    return (int)syscall(SYS_execve, path, argv, envp);
}

/* The C library's function, or a search without it in a static program. */
static int replace_found(const char *file, char *const argv[], char *const envp[]) {
    typedef int by_name(const char *file, char *const argv[], char *const envp[]);
    by_name *real = (by_name *)dlsym(RTLD_NEXT, "execvpe");
    char path[4096];
    if (real || strchr(file, '/')) {
        return real ? real(file, argv, envp) : replace(file, argv, envp);
    }
    const char *folders = getenv("PATH");
    folders = folders ? folders : "/bin:/usr/bin";
    errno = ENOENT;
    for (const char *at = folders; at; at = strchr(at, ':') ? strchr(at, ':') + 1 : NULL) {
        const int length = (int)strcspn(at, ":");
        if (snprintf(path, sizeof path, "%.*s%s%s", length, at, length ? "/" : "", file) <
            (int)sizeof path) {
            (void)replace(path, argv, envp);
        }
    }
    return -1;
}

#define CALLER ((uintptr_t)__builtin_return_address(0))

int execve(const char *path, char *const argv[], char *const envp[]) {
    check("execve", CALLER);
    return replace(path, argv, envp);
}

int execv(const char *path, char *const argv[]) {
    check("execv", CALLER);
    return replace(path, argv, environ);
}

int execvp(const char *file, char *const argv[]) {
    check("execvp", CALLER);
    return replace_found(file, argv, environ);
}

int execvpe(const char *file, char *const argv[], char *const envp[]) {
    check("execvpe", CALLER);
    return replace_found(file, argv, envp);
}

/* The arguments as an array; those of execle end with the environment. */
typedef int with_array(const char *path, char *const argv[], char *const envp[]);
static int with_list(with_array *call, const char *path, const char *first, va_list *rest,
                     bool has_environment) {
    va_list counted;
    size_t n = 1;
    va_copy(counted, *rest);
    while (va_arg(counted, char *)) {
        n++;
    }
    va_end(counted);
    char *argv[n + 1];
    argv[0] = (char *)(uintptr_t)first;
    for (size_t i = 1; i <= n; i++) {
        argv[i] = va_arg(*rest, char *); /* the last one is NULL */
    }
    return call(path, argv, has_environment ? va_arg(*rest, char *const *) : environ);
}

#define LIST(name, call, has_environment)                                                          \
    int name(const char *path, const char *argument, ...) {                                        \
        va_list rest;                                                                              \
        check(#name, CALLER);                                                                      \
        va_start(rest, argument);                                                                  \
        const int code = with_list(call, path, argument, &rest, has_environment);                  \
        va_end(rest);                                                                              \
        return code;                                                                               \
    }
LIST(execl, replace, false)
LIST(execlp, replace_found, false)
LIST(execle, replace, true)
