/*
 * shared.c: descriptors whose description other processes share: they are opened again, or read
 * from the page cache only.
 */
#define _GNU_SOURCE
#include "platform/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "platform/faults.h"
#include "platform/linux/optional.h"
#include "platform/unix/interrupted.h"

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 0x00000008
#endif

#define MAJOR_MEMORY 1u
#define MAJOR_TTY_OTHER 5u
#define MINOR_PTMX 2u /* each open makes another terminal */

/* Whether opening it again by its name gives the same object. */
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
    TH_OS_MAY_FAIL(TH_OS_FAULT_REOPEN, -EACCES);
    char path[32];
    TH_KEEPS_ERRNO;
    int code = -EOPNOTSUPP;
    int flags = is_same_again(fd) ? fcntl(fd, F_GETFL) : -1;
    if (flags >= 0) {
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        code = open(path, (flags & O_ACCMODE) | O_NONBLOCK | O_CLOEXEC | O_NOCTTY);
        code = code < 0 ? -th_os_errno_get() : code;
    }
    return code;
}

int64_t th_os_io_readv_cached(int fd, const th_os_part parts[], unsigned n) {
    static uint32_t xanswer;
    return th_call_is_taken(&xanswer, SYS_preadv2)
               ? RETRY(syscall(SYS_preadv2, fd, parts, (long)n, -1L, -1L, RWF_NOWAIT))
               : -EOPNOTSUPP;
}
