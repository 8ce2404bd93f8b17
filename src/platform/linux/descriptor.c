/*
 * descriptor.c: writes to pipes and accepted connections as only Linux has them.
 */
#include "platform/unix/system.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/atomic.h"
#include "platform/unix/interrupted.h"

#ifndef RWF_NOSIGNAL
#define RWF_NOSIGNAL 0x00000100
#endif

/* Whether the kernel does not know RWF_NOSIGNAL. */
static bool xold;

int64_t th_system_pipe_writev(int fd, const th_os_part parts[], unsigned n) {
    if (!th_load_relaxed(&xold)) { /* relaxed: a hint */
        int64_t result = RETRY(syscall(SYS_pwritev2, fd, parts, (long)n, -1L, -1L, RWF_NOSIGNAL));
        if (result == -EPERM) { /* a sandbox, or the file: the plain call tells */
            return th_pipe_writev_masked(fd, parts, n);
        }
        if (result != -EOPNOTSUPP && result != -EINVAL && result != -ENOSYS) {
            return result;
        }
        th_store_relaxed(&xold, true); /* relaxed: each thread may find out for itself */
    }
    return th_pipe_writev_masked(fd, parts, n);
}

int th_system_pipe(int ends[2]) {
    return pipe2(ends, O_CLOEXEC);
}

int th_system_accept(int fd) {
    return accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
}
