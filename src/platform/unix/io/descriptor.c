/*
 * descriptor.c: calls on a descriptor that do not wait.
 *
 * Sockets are set not to wait call by call, since O_NONBLOCK belongs to the description that all
 * duplicates share. A write to a socket raises no SIGPIPE (MSG_NOSIGNAL). A write to a pipe would:
 * newer kernels can be told not to; elsewhere the thread blocks the signal for the length of the
 * call, and takes it back if the call raised it.
 */
#include "platform/unix/system.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "platform/faults.h"
#include "platform/unix/io/edge.h"
#include "platform/unix/interrupted.h"
#include "platform/unix/io/socket.h"

_Static_assert(sizeof(th_os_part) == sizeof(struct iovec) &&
                   offsetof(th_os_part, base) == offsetof(struct iovec, iov_base) &&
                   offsetof(th_os_part, size) == offsetof(struct iovec, iov_len),
               "a part is an iovec");

/* The C libraries differ in the type of this count. */
#define PARTS_OF(n_) ((__typeof__(((struct msghdr *)0)->msg_iovlen))(n_))

#define PARTS_MAX 1024u /* the system refuses more */

int th_os_io_nonblocking(int fd, bool on) {
    TH_KEEPS_ERRNO;
    int flags = fcntl(fd, F_GETFL);
    int code = flags < 0 ? -th_os_errno_get() : (flags & O_NONBLOCK) != 0;
    if (code >= 0 && code != on &&
        fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK) < 0) {
        code = -th_os_errno_get();
    }
    return code;
}

int th_os_io_releases(int fd) {
    (void)fd;
    return 0;
}

int th_os_io_close_on_exec(int fd) {
    TH_KEEPS_ERRNO;
    int flags = fcntl(fd, F_GETFD);
    return flags < 0 || fcntl(fd, F_SETFD, flags | FD_CLOEXEC) < 0 ? -th_os_errno_get() : 0;
}

/* ---- transfers ---- */

int64_t th_os_io_read(int fd, th_os_kind kind, void *to, size_t size) {
    TH_OS_MAY_FAIL(TH_OS_FAULT_READ, -ENOBUFS);
    return th_tried(fd, TH_OS_IN,
                    th_os_is_socket(kind) ? RETRY(recv(fd, to, size, MSG_DONTWAIT))
                                          : RETRY(read(fd, to, size)));
}

int64_t th_os_io_readv(int fd, th_os_kind kind, const th_os_part parts[], unsigned n) {
    TH_OS_MAY_FAIL(TH_OS_FAULT_READ, -ENOBUFS);
    n = n < PARTS_MAX ? n : PARTS_MAX;
    if (!th_os_is_socket(kind)) {
        return th_tried(fd, TH_OS_IN,
                        RETRY(readv(fd, (const struct iovec *)(const void *)parts, (int)n)));
    }
    struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)parts,
                             .msg_iovlen = PARTS_OF(n)};
    return th_tried(fd, TH_OS_IN, RETRY(recvmsg(fd, &message, MSG_DONTWAIT)));
}

int64_t th_os_io_writev(int fd, th_os_kind kind, const th_os_part parts[], unsigned n) {
    TH_OS_MAY_FAIL(TH_OS_FAULT_WRITE, -ENOBUFS);
    n = n < PARTS_MAX ? n : PARTS_MAX;
    if (th_os_is_socket(kind)) {
        struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)parts,
                                 .msg_iovlen = PARTS_OF(n)};
        return th_tried(fd, TH_OS_OUT, RETRY(sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL)));
    }
    if (kind == TH_OS_OTHER) {
        return th_tried(fd, TH_OS_OUT,
                        RETRY(writev(fd, (const struct iovec *)(const void *)parts, (int)n)));
    }
    return th_tried(fd, TH_OS_OUT, th_system_pipe_writev(fd, parts, n));
}

int64_t th_os_io_write(int fd, th_os_kind kind, const void *from, size_t size) {
    if (th_os_is_socket(kind)) {
        TH_OS_MAY_FAIL(TH_OS_FAULT_WRITE, -ENOBUFS);
        return th_tried(fd, TH_OS_OUT, RETRY(send(fd, from, size, MSG_DONTWAIT | MSG_NOSIGNAL)));
    }
    const th_os_part part = {(void *)(uintptr_t)from, size};
    return th_os_io_writev(fd, kind, &part, 1);
}

int th_os_io_accept(int fd) {
    TH_OS_MAY_FAIL(TH_OS_FAULT_ACCEPT, -EMFILE);
    TH_OS_MAY_FAIL(TH_OS_FAULT_ABORTED, -ECONNABORTED);
    return (int)th_tried(fd, TH_OS_IN, RETRY(th_system_accept(fd)));
}

int th_os_io_shutdown(int fd, unsigned bits) {
    int how = bits == TH_OS_IN ? SHUT_RD : bits == TH_OS_OUT ? SHUT_WR : SHUT_RDWR;
    return (int)RETRY(shutdown(fd, how));
}

int th_os_io_close(int fd) {
    TH_KEEPS_ERRNO;
    th_closing(fd);
    int code = close(fd) < 0 ? -th_os_errno_get() : 0;
    return code == -EINTR ? 0 : code; /* the number is free then, too */
}
