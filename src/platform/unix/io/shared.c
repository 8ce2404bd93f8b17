/*
 * shared.c: descriptors whose description other processes share, as those of a shell's commands:
 * they are asked before each call whether it would wait.
 */
#include "platform/unix/system.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

#include "platform/faults.h"
#include "platform/unix/interrupted.h"

bool th_os_io_is_tty(int fd) {
    TH_KEEPS_ERRNO;
    return isatty(fd) == 1;
}

int th_os_io_duplicate(int fd) {
    TH_OS_MAY_FAIL(TH_OS_FAULT_DUPLICATE, -EMFILE);
    return (int)RETRY(fcntl(fd, F_DUPFD_CLOEXEC, 3));
}

/* Whether a call of this direction would not wait. */
static bool is_ready(int fd, th_os_kind kind, unsigned bits) {
    return kind == TH_OS_FILE || th_os_io_poll(fd, bits, -1, 0) != 0;
}

int64_t th_os_io_readv_shared(int fd, th_os_kind kind, const th_os_part parts[], unsigned n) {
    if (!is_ready(fd, kind, TH_OS_IN)) {
        return -EAGAIN;
    }
    if (kind == TH_OS_PIPE) {
        int64_t got = th_os_io_readv_cached(fd, parts, n);
        if (got != -EOPNOTSUPP) { /* newer kernels do not wait, even if others read */
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
    /* A ready descriptor has room for this much. */
    const th_os_part first = {parts->base, parts->size < PIPE_BUF ? parts->size : PIPE_BUF};
    return th_os_io_writev(fd, kind, &first, 1);
}
