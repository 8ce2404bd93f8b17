/*
 * message.c: messages of sockets, alone and several at a call, and descriptors that are passed.
 */
#define _GNU_SOURCE
#include "platform/platform.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "platform/faults.h"
#include "platform/linux/interrupted.h"

/* The C libraries differ in the type of these sizes, and one's macro in signs. */
typedef __typeof__(((struct msghdr *)0)->msg_controllen) control_size;
#pragma GCC diagnostic ignored "-Wsign-conversion"

#define AT_ONCE 16u /* messages of one call of the system */

/* ---- messages ---- */

typedef struct batch {
    struct mmsghdr headers[AT_ONCE];
    struct iovec parts[AT_ONCE];
} batch;

/* The messages as the system takes them; `room`: whole addresses may be written to them. */
static void fill(batch *b, const th_os_message messages[], unsigned n, bool room) {
    for (unsigned i = 0; i < n; i++) {
        const th_os_message *m = &messages[i];
        const uint32_t size = room ? (uint32_t)sizeof m->address.words : m->address.size;
        b->parts[i] = (struct iovec){m->data, m->size};
        b->headers[i].msg_len = 0;
        b->headers[i].msg_hdr = (struct msghdr){
            .msg_name = size ? (void *)(uintptr_t)m->address.words : NULL,
            .msg_namelen = size,
            .msg_iov = &b->parts[i],
            .msg_iovlen = 1,
        };
    }
}

int th_os_socket_send(int fd, const th_os_message messages[], unsigned n) {
    batch b;
    if (th_os_fails(TH_OS_FAULT_MESSAGE)) {
        return -ENOBUFS;
    }
    n = n < AT_ONCE ? n : AT_ONCE;
    fill(&b, messages, n, false);
    if (n == 1) {
        int64_t sent = RETRY(sendmsg(fd, &b.headers[0].msg_hdr, MSG_DONTWAIT | MSG_NOSIGNAL));
        return sent < 0 ? (int)sent : 1;
    }
    return (int)RETRY(sendmmsg(fd, b.headers, n, MSG_DONTWAIT | MSG_NOSIGNAL));
}

/* With MSG_TRUNC the system tells how long a message was that did not fit. */
int th_os_socket_receive(int fd, th_os_message messages[], unsigned n) {
    batch b;
    int64_t got;
    if (th_os_fails(TH_OS_FAULT_MESSAGE)) {
        return -ENOMEM;
    }
    n = n < AT_ONCE ? n : AT_ONCE;
    fill(&b, messages, n, true);
    if (n == 1) {
        got = RETRY(recvmsg(fd, &b.headers[0].msg_hdr, MSG_DONTWAIT | MSG_TRUNC));
        b.headers[0].msg_len = got > 0 ? (unsigned)got : 0;
        got = got < 0 ? got : 1;
    } else {
        got = RETRY(recvmmsg(fd, b.headers, n, MSG_DONTWAIT | MSG_TRUNC, NULL));
    }
    for (int64_t i = 0; i < got; i++) {
        const uint32_t size = b.headers[i].msg_hdr.msg_namelen;
        const uint32_t most = sizeof messages[i].address.words;
        messages[i].length = b.headers[i].msg_len;
        messages[i].address.zero = 0;
        messages[i].address.size = size < most ? size : most;
    }
    return (int)got;
}

/* ---- descriptors ---- */

typedef union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(TH_OS_FDS_MAX * sizeof(int))];
} control;

int64_t th_os_socket_send_fds(int fd, const void *from, size_t size, const int fds[], unsigned n) {
    control c;
    struct iovec part = {(void *)(uintptr_t)from, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (th_os_fails(TH_OS_FAULT_MESSAGE)) {
        return -ENOBUFS;
    }
    if (n) {
        memset(&c, 0, CMSG_SPACE(n * sizeof(int)));
        message.msg_control = &c;
        message.msg_controllen = (control_size)CMSG_SPACE(n * sizeof(int));
        c.header.cmsg_level = SOL_SOCKET;
        c.header.cmsg_type = SCM_RIGHTS;
        c.header.cmsg_len = (__typeof__(c.header.cmsg_len))CMSG_LEN(n * sizeof(int));
        memcpy(CMSG_DATA(&c.header), fds, n * sizeof(int));
    }
    return RETRY(sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL));
}

/* Takes the descriptors out of what came: how many. Those for which there is no room are closed. */
static unsigned take_fds(struct msghdr *message, int fds[], unsigned room) {
    unsigned n = 0;
    for (struct cmsghdr *c = CMSG_FIRSTHDR(message); c; c = CMSG_NXTHDR(message, c)) {
        if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS) {
            continue;
        }
        const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            if (n < room) {
                fds[n++] = fd;
            } else {
                (void)close(fd);
            }
        }
    }
    return n;
}

int64_t th_os_socket_receive_fds(int fd, void *to, size_t size, int fds[], unsigned *n) {
    control c;
    struct iovec part = {to, size};
    const unsigned room = *n < TH_OS_FDS_MAX ? *n : TH_OS_FDS_MAX;
    /* Not CMSG_SPACE: its padding would be room for one more. */
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = room ? &c : NULL,
                             .msg_controllen =
                                 (control_size)(room ? CMSG_LEN(room * sizeof(int)) : 0)};
    *n = 0;
    if (th_os_fails(TH_OS_FAULT_MESSAGE)) {
        return -ENOMEM;
    }
    int64_t got = RETRY(recvmsg(fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC));
    if (got < 0) {
        return got;
    }
    unsigned came = take_fds(&message, fds, room);
    if (message.msg_flags & MSG_CTRUNC) {
        int saved = th_os_errno_get();
        while (came) {
            (void)close(fds[--came]);
        }
        th_os_errno_set(saved);
        return -EMSGSIZE;
    }
    *n = came;
    return got;
}
