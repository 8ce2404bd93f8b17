/*
 * descriptor.c: pipes, connections and messages, each by calls that POSIX has.
 */
#include "platform/unix/system.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "platform/unix/interrupted.h"
#include "platform/unix/plain.h"

int th_system_pipe(int ends[2]) {
    return th_plain_pipe(pipe(ends), ends);
}

int th_system_accept(int fd) {
    return th_plain_accept(fd);
}

int64_t th_system_pipe_writev(int fd, const th_os_part parts[], unsigned n) {
    return th_pipe_writev_masked(fd, parts, n);
}

/* ---- messages, one at a call ---- */

static struct msghdr header_of(const th_os_message *m, struct iovec *part, uint32_t size) {
    *part = (struct iovec){m->data, m->size};
    return (struct msghdr){.msg_name = size ? (void *)(uintptr_t)m->address.words : NULL,
                           .msg_namelen = size,
                           .msg_iov = part,
                           .msg_iovlen = 1};
}

int th_system_send_some(int fd, const th_os_message messages[], unsigned n) {
    struct iovec part;
    const struct msghdr header = header_of(messages, &part, messages->address.size);
    (void)n;
    int64_t sent = RETRY(sendmsg(fd, &header, MSG_DONTWAIT | MSG_NOSIGNAL));
    return sent < 0 ? (int)sent : 1;
}

/* POSIX does not return the length of a message that did not fit, only that it was longer. */
int th_system_receive_some(int fd, th_os_message messages[], unsigned n) {
    struct iovec part;
    struct msghdr header = header_of(messages, &part, sizeof messages->address.words);
    (void)n;
    int64_t got = RETRY(recvmsg(fd, &header, MSG_DONTWAIT));
    if (got < 0) {
        return (int)got;
    }
    const uint32_t most = sizeof messages->address.words;
    messages->length = (size_t)got + (header.msg_flags & MSG_TRUNC ? 1 : 0);
    messages->address.zero = 0;
    messages->address.size = header.msg_namelen < most ? header.msg_namelen : most;
    return 1;
}

/* Folder and socket are closed to others (unix/io/private.c); POSIX has no name for them. */
bool th_system_is_own_peer(int fd) {
    (void)fd;
    return true;
}

/* ---- waiting ---- */

int th_system_poll(struct pollfd fds[], unsigned n, int64_t deadline) {
    int ms = -1;
    if (deadline != TH_FOREVER) { /* whole milliseconds, rounded up: not before the deadline */
        const int64_t left = deadline ? deadline - th_os_now() : 0;
        ms = left <= 0                          ? 0
             : left > INT64_C(1000000000000000) ? 1000000000
                                                : (int)((left + 999999) / 1000000);
    }
    return poll(fds, n, ms);
}
