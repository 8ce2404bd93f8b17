/*
 * shared.c: descriptors whose description other processes share, as those of a shell's commands:
 * they are opened once more, or asked before each call whether it would wait.
 */
#define _GNU_SOURCE
#include "platform/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <termios.h>
#include <unistd.h>

#include "platform/faults.h"

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 0x00000008
#endif

#define MAJOR_MEMORY 1u
#define MAJOR_TTY_OTHER 5u
#define MINOR_PTMX 2u /* each open makes another terminal */

bool th_os_io_is_tty(int fd) {
    int saved = th_os_errno_get();
    bool is = isatty(fd) == 1;
    th_os_errno_set(saved);
    return is;
}

/* Whether what is opened again by its name is the same. */
static bool is_same_again(int fd) {
    struct stat status;
    if (fstat(fd, &status) < 0) {
        return false;
    }
    if (S_ISFIFO(status.st_mode)) {
        return true;
    }
    const unsigned high = major(status.st_rdev);
    const unsigned low = minor(status.st_rdev);
    if (!S_ISCHR(status.st_mode)) {
        return false;
    }
    if (high == MAJOR_MEMORY) {
        return low == 3 || low == 5 || low == 7; /* null, zero, full */
    }
    return !(high == MAJOR_TTY_OTHER && low == MINOR_PTMX) && isatty(fd);
}

int th_os_io_reopen(int fd) {
    if (th_os_fails(TH_OS_FAULT_REOPEN)) {
        return -EACCES;
    }
    char path[32];
    int saved = th_os_errno_get();
    int code = -EOPNOTSUPP;
    int flags = is_same_again(fd) ? fcntl(fd, F_GETFL) : -1;
    if (flags >= 0) {
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        code = open(path, (flags & O_ACCMODE) | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
        code = code < 0 ? -th_os_errno_get() : code;
    }
    th_os_errno_set(saved);
    return code;
}

int th_os_io_duplicate(int fd) {
    if (th_os_fails(TH_OS_FAULT_DUPLICATE)) {
        return -EMFILE;
    }
    int saved = th_os_errno_get();
    int code = fcntl(fd, F_DUPFD_CLOEXEC, 3);
    code = code < 0 ? -th_os_errno_get() : code;
    th_os_errno_set(saved);
    return code;
}

/* Whether a call of this direction would not wait. */
static bool is_ready(int fd, th_os_kind kind, unsigned bits) {
    return kind == TH_OS_FILE || th_os_io_poll(fd, bits, -1, 0) != 0;
}

static int64_t readv_flags(int fd, const th_os_part parts[], unsigned n, int flags) {
    int saved = th_os_errno_get();
    long got;
    do {
        got = syscall(SYS_preadv2, fd, parts, (long)n, -1L, -1L, flags);
    } while (got < 0 && th_os_errno_get() == EINTR);
    int64_t result = got < 0 ? -(int64_t)th_os_errno_get() : got;
    th_os_errno_set(saved);
    return result;
}

int64_t th_os_io_readv_cached(int fd, const th_os_part parts[], unsigned n) {
    return readv_flags(fd, parts, n, RWF_NOWAIT);
}

int64_t th_os_io_readv_shared(int fd, th_os_kind kind, const th_os_part parts[], unsigned n) {
    if (!is_ready(fd, kind, TH_OS_IN)) {
        return -EAGAIN;
    }
    if (kind == TH_OS_PIPE) {
        int64_t got = readv_flags(fd, parts, n, RWF_NOWAIT);
        if (got != -EOPNOTSUPP) { /* newer kernels do not wait, whoever else reads */
            return got;
        }
    }
    return th_os_io_readv(fd, kind, parts, n);
}

int64_t th_os_io_writev_shared(int fd, th_os_kind kind, const th_os_part parts[], unsigned n) {
    if (!is_ready(fd, kind, TH_OS_OUT)) {
        return -EAGAIN;
    }
    if (kind == TH_OS_FILE) {
        return th_os_io_writev(fd, kind, parts, n);
    }
    /* What is ready has room for this much. */
    const th_os_part first = {parts->base, parts->size < PIPE_BUF ? parts->size : PIPE_BUF};
    return th_os_io_writev(fd, kind, &first, 1);
}
