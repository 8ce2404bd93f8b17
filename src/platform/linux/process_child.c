/*
 * process_child.c: see process_child.h.
 *
 * The child uses the memory of the parent, whose thread sleeps meanwhile while its other threads
 * run: it takes no lock, allocates nothing, and makes calls of the system only, past the C library
 * and past the sanitizers, which would note them as the parent's. Until its signals are those of a
 * fresh program, all of them are blocked: no handler of the parent's may run here.
 */
#define _GNU_SOURCE
#include "platform/linux/process_child.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "platform/faults.h"

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

#define IN_CHILD TH_NO_TSAN TH_NO_ASAN

#define MASK_BYTES 8 /* of the system's set of signals */

/* Room for the system's struct sigaction, which is not the C library's; zeroes: the default. */
typedef struct action {
    uint64_t words[8];
} action;

typedef struct entry { /* the system's struct linux_dirent64 */
    uint64_t number;
    int64_t offset;
    unsigned short length;
    unsigned char type;
    char name[];
} entry;

/* The errno is the parent's thread's, which puts it back. */
#define CALL(...) (syscall(__VA_ARGS__) < 0 ? -errno : 0)

static IN_CHILD void set_signals(const th_child *child) {
    const action none = {{0}};
    for (long i = 1; i < TH_OS_SIGNALS; i++) {
        if (!child->stays_ignored[i]) {
            (void)syscall(SYS_rt_sigaction, i, &none, NULL, (long)MASK_BYTES);
        }
    }
}

static IN_CHILD int set_group(const th_os_program *program) {
    return program->group == TH_OS_GROUP_SESSION ? CALL(SYS_setsid)
           : program->group == TH_OS_GROUP_OWN   ? CALL(SYS_setpgid, 0L, 0L)
                                                 : 0;
}

static IN_CHILD int set_limits(const th_os_program *program) {
    int code = 0;
    for (unsigned i = 0; i < program->limits_count && !code; i++) {
        const th_os_limit *limit = &program->limits[i];
        const uint64_t pair[2] = {limit->soft, limit->hard};
        code = CALL(SYS_prlimit64, 0L, (long)limit->resource, pair, NULL);
    }
    return code;
}

/* ---- descriptors ---- */

/* Moves the descriptor out of the numbers that the program's will have; *fd is the new one. */
static IN_CHILD int move_up(int *fd, unsigned n) {
    long moved = syscall(SYS_fcntl, (long)*fd, (long)F_DUPFD_CLOEXEC, (long)n);
    if (moved < 0) {
        return errno == EINVAL ? -EMFILE : -errno; /* n is beyond RLIMIT_NOFILE */
    }
    *fd = (int)moved;
    return 0;
}

/*
 * Puts it to a number, which may be beyond RLIMIT_NOFILE: the system returns the same code for
 * both.
 */
static IN_CHILD int put_at(int from, unsigned number) {
    int code = CALL(SYS_dup3, (long)from, (long)number, 0L);
#ifdef SYS_dup2
    code = code < 0 ? CALL(SYS_dup2, (long)from, (long)number) : code; /* the older one */
#endif
    const bool is_open = code == -EBADF && CALL(SYS_fcntl, (long)from, (long)F_GETFD, 0L) >= 0;
    return is_open ? -EMFILE : code;
}

/* Puts all of them to their numbers; descriptors in the way have been moved before. */
static IN_CHILD int set_fds(th_child *child) {
    const th_os_program *program = child->program;
    const unsigned n = program->fds_count;
    int *from = program->scratch;
    int code = 0;
    if (child->tell >= 0 && (unsigned)child->tell < n) {
        code = move_up(&child->tell, n);
    }
    for (unsigned i = 0; i < n && !code; i++) {
        from[i] = program->fds[i];
        if ((unsigned)from[i] < n && from[i] != (int)i) {
            code = move_up(&from[i], n);
        }
    }
    for (unsigned i = 0; i < n && !code; i++) {
        if (from[i] == (int)i) {
            code = CALL(SYS_fcntl, (long)i, (long)F_SETFD, 0L);
        } else if (from[i] != TH_OS_FD_SAME) {
            code = put_at(from[i], i);
        }
    }
    return code;
}

static IN_CHILD void close_each(unsigned first, unsigned end, int tell) {
    for (unsigned fd = first; fd < end; fd++) {
        if ((int)fd != tell) {
            (void)syscall(SYS_close, (long)fd);
        }
    }
}

/* The number that an entry of /proc/self/fd names, or -1. */
static IN_CHILD int number_of(const char *name) {
    int number = 0;
    for (; *name; name++) {
        if (*name < '0' || *name > '9') {
            return -1;
        }
        number = number * 10 + (*name - '0');
    }
    return number;
}

/* Closes those of a piece of a directory. */
static IN_CHILD void close_named(const char *at, long length, unsigned first, int folder,
                                 int tell) {
    const char *end = at + length;
    while (at < end) {
        const entry *e = (const entry *)(const void *)at;
        const int fd = number_of(e->name);
        if (fd >= (int)first && fd != folder && fd != tell) {
            (void)syscall(SYS_close, (long)fd);
        }
        at += e->length;
    }
}

/* Before Linux 5.9: the numbers in /proc; without that, all possible numbers. */
static IN_CHILD void close_listed(unsigned first, int tell) {
    _Alignas(entry) char piece[1024];
    long folder =
        syscall(SYS_openat, (long)AT_FDCWD, "/proc/self/fd", (long)(O_RDONLY | O_DIRECTORY), 0L);
    if (folder < 0) {
        uint64_t pair[2] = {1024, 1024};
        (void)syscall(SYS_prlimit64, 0L, (long)RLIMIT_NOFILE, NULL, pair);
        close_each(first, pair[1] < INT_MAX ? (unsigned)pair[1] : INT_MAX, tell);
        return;
    }
    long got;
    while ((got = syscall(SYS_getdents64, folder, piece, (long)sizeof piece)) > 0) {
        close_named(piece, got, first, (int)folder, tell);
    }
    (void)syscall(SYS_close, folder);
}

static IN_CHILD int close_range_of(unsigned first, unsigned last) {
    return first > last ? 0 : CALL(SYS_close_range, (long)first, (long)last, 0L);
}

static IN_CHILD void close_others(const th_child *child) {
    const unsigned first = child->program->fds_count;
    const int tell = child->tell;
    if (!child->program->close_others) {
        return;
    }
    int code = th_os_fails(TH_OS_FAULT_CLOSE_RANGE) ? -ENOSYS : 0;
    if (!code && tell < 0) {
        code = close_range_of(first, UINT_MAX);
    } else if (!code) {
        code = close_range_of((unsigned)tell + 1, UINT_MAX);
        code = code ? code : close_range_of(first, (unsigned)tell - 1);
    }
    if (code) {
        close_listed(first, tell);
    }
}

/* ---- the program ---- */

/* Whether the next place may have it. */
static IN_CHILD bool goes_on(int code) {
    return code == -ENOENT || code == -ENOTDIR || code == -EACCES;
}

/* Tries the files in turn; returns why none of them runs. */
static IN_CHILD int execute(const th_os_program *program) {
    int refused = 0;
    int code = -ENOENT;
    for (const char *const *path = program->paths; *path; path++) {
        code = CALL(SYS_execve, *path, program->argv, program->env);
        if (!goes_on(code)) {
            return code;
        }
        refused = code == -EACCES ? code : refused;
    }
    return refused ? refused : program->paths[1] ? -ENOENT : code;
}

static IN_CHILD th_child_told prepare(th_child *child) {
    const th_os_program *program = child->program;
    const uint64_t none = 0;
    int code;
    set_signals(child);
    if (child->cpus_size > 0) { /* if the system refuses that, it goes on with the caller's */
        (void)syscall(SYS_sched_setaffinity, 0L, child->cpus_size, &child->cpus);
    }
    if ((code = set_group(program))) {
        return (th_child_told){code, TH_CHILD_PROCESS};
    }
    if (program->folder && (code = CALL(SYS_chdir, program->folder))) {
        return (th_child_told){code, TH_CHILD_FOLDER};
    }
    if ((code = set_fds(child))) {
        return (th_child_told){code, TH_CHILD_DESCRIPTOR};
    }
    close_others(child);
    if ((code = set_limits(program))) { /* late, since there may be fewer descriptors then */
        return (th_child_told){code, TH_CHILD_LIMIT};
    }
    (void)syscall(SYS_rt_sigprocmask, (long)SIG_SETMASK, &none, NULL, (long)MASK_BYTES);
    return (th_child_told){execute(program), TH_CHILD_PROGRAM};
}

IN_CHILD int th_child_main(void *arg) {
    th_child *child = arg;
    child->began = true;
    const th_child_told told = prepare(child);
    child->told.code = told.code;
    child->told.step = told.step;
    if (child->tell >= 0) {
        (void)syscall(SYS_write, (long)child->tell, &told, (long)sizeof told);
    }
    for (;;) {
        (void)syscall(SYS_exit_group, 127L);
    }
}
