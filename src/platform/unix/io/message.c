/*
 * message.c: messages of sockets, and descriptors that are passed.
 */
#include "platform/unix/system.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "platform/faults.h"
#include "platform/unix/io/edge.h"
#include "platform/unix/interrupted.h"

#ifdef MSG_CMSG_CLOEXEC
#define FDS_CLOEXEC MSG_CMSG_CLOEXEC
#else
#define FDS_CLOEXEC 0 /* a program that is started meanwhile may get one */
#endif

/* The C libraries differ in the type of these sizes, and one's macro in signs. */
typedef __typeof__(((struct msghdr *)0)->msg_controllen) control_size;
#pragma GCC diagnostic ignored "-Wsign-conversion"

/* ---- messages ---- */

int th_os_socket_send(int fd, const th_os_message messages[], unsigned n) {
    TH_OS_MAY_FAIL(TH_OS_FAULT_MESSAGE, -ENOBUFS);
    return (int)th_tried(fd, TH_OS_OUT, th_system_send_some(fd, messages, n));
}

int th_os_socket_receive(int fd, th_os_message messages[], unsigned n) {
    TH_OS_MAY_FAIL(TH_OS_FAULT_MESSAGE, -ENOMEM);
    return (int)th_tried(fd, TH_OS_IN, th_system_receive_some(fd, messages, n));
}

/* ---- descriptors ---- */

/*
 * Room for other data that the program has requested besides descriptors, such as the sender
 * (SO_PASSCRED).
 */
#define OTHERS_SIZE 512

typedef union control {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(TH_OS_FDS_MAX * sizeof(int)) + OTHERS_SIZE];
} control;

int64_t th_os_socket_send_fds(int fd, const void *from, size_t size, const int fds[], unsigned n) {
    control c;
    struct iovec part = {(void *)(uintptr_t)from, size};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    TH_OS_MAY_FAIL(TH_OS_FAULT_MESSAGE, -ENOBUFS);
    if (n) {
        memset(&c, 0, CMSG_SPACE(n * sizeof(int)));
        message.msg_control = &c;
        message.msg_controllen = (control_size)CMSG_SPACE(n * sizeof(int));
        c.header.cmsg_level = SOL_SOCKET;
        c.header.cmsg_type = SCM_RIGHTS;
        c.header.cmsg_len = (__typeof__(c.header.cmsg_len))CMSG_LEN(n * sizeof(int));
        memcpy(CMSG_DATA(&c.header), fds, n * sizeof(int));
    }
    return th_tried(fd, TH_OS_OUT, RETRY(sendmsg(fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL)));
}

/*
 * Takes the descriptors out of a message: their number. Descriptors without room are closed, and
 * *all is false.
 */
static unsigned take_fds(struct msghdr *message, int fds[], unsigned room, bool *all) {
    unsigned n = 0;
    *all = !(message->msg_flags & MSG_CTRUNC);
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
                *all = false;
            }
        }
    }
    return n;
}

int64_t th_os_socket_receive_fds(int fd, void *to, size_t size, int fds[], unsigned *n) {
    control c;
    struct iovec part = {to, size};
    const unsigned room = *n < TH_OS_FDS_MAX ? *n : TH_OS_FDS_MAX;
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = &c,
                             .msg_controllen = (control_size)sizeof c};
    bool all;
    *n = 0;
    TH_OS_MAY_FAIL(TH_OS_FAULT_MESSAGE, -ENOMEM);
    int64_t got = th_tried(fd, TH_OS_IN, RETRY(recvmsg(fd, &message, MSG_DONTWAIT | FDS_CLOEXEC)));
    if (got < 0) {
        return got;
    }
    TH_KEEPS_ERRNO;
    unsigned came = take_fds(&message, fds, room, &all);
    if (!all) {
        while (came) {
            (void)close(fds[--came]);
        }
        return -EMSGSIZE;
    }
    *n = came;
    return got;
}
