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
#include "platform/linux/optional.h"
#include "platform/unix/interrupted.h"
#include "platform/unix/plain.h"

#ifndef RWF_NOSIGNAL
#define RWF_NOSIGNAL 0x00000100
#endif

/* Whether the kernel does not know RWF_NOSIGNAL. */
static bool xold;
static uint32_t xtaken; /* of pwritev2 as such */

int64_t th_system_pipe_writev(int fd, const th_os_part parts[], unsigned n) {
    /* relaxed: a hint */
    if (!th_load_relaxed(&xold) && th_call_is_taken(&xtaken, SYS_pwritev2)) {
        int64_t result = RETRY(syscall(SYS_pwritev2, fd, parts, (long)n, -1L, -1L, RWF_NOSIGNAL));
        if (result >= 0 || result == -EAGAIN || result == -EPIPE) {
            return result;
        }
        if (result == -EOPNOTSUPP || result == -EINVAL || result == -ENOSYS) {
            th_store_relaxed(&xold, true); /* relaxed: each thread may find out for itself */
        } /* otherwise a sandbox, or the file: the plain call decides */
    }
    return th_pipe_writev_masked(fd, parts, n);
}

int th_system_pipe(int ends[2]) {
    int code = pipe2(ends, O_CLOEXEC);
#ifdef SYS_pipe /* the C library's pipe may call the same */
    code = code == 0 ? 0 : th_plain_pipe((int)syscall(SYS_pipe, ends), ends);
#endif
    return code;
}

int th_system_accept(int fd) {
    static uint32_t xanswer;
    return th_call_is_taken(&xanswer, SYS_accept4)
               ? accept4(fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)
               : th_plain_accept(fd);
}
