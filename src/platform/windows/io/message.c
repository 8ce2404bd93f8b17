/*
 * message.c: messages of sockets, one at a call. Descriptors are not passed along with bytes.
 */
#include "platform/windows/winsock/winsock.h"

#include <errno.h>

#include "platform/faults.h"
#include "platform/windows/pollset/calls.h"

/* Winsock has other words for it that nobody is named to send to. */
static int send_code(int fd, uint32_t size) {
    const int code = th_winsock_code();
    th_os_address peer;
    const bool unnamed = !size && (code == -EINVAL || code == -ENOTCONN);
    return unnamed && th_os_socket_peer(fd, &peer) == -ENOTCONN ? -EDESTADDRREQ : code;
}

int th_os_socket_send(int fd, const th_os_message messages[], unsigned n) {
    const uint32_t size = messages->address.size;
    const struct sockaddr *to = (const void *)messages->address.words;
    WSABUF piece = {(ULONG)messages->size, messages->data};
    DWORD sent;
    (void)n;
    TH_OS_MAY_FAIL(TH_OS_FAULT_MESSAGE, -ENOBUFS);
    TH_KEEPS_ERRNO;
    const int code =
        WSASendTo(th_socket_of(fd), &piece, 1, &sent, 0, size ? to : NULL, (int)size, NULL, NULL)
            ? send_code(fd, size)
            : 1;
    return code > 0 ? code : (int)th_tried(fd, TH_OS_OUT, code);
}

/*
 * The system does not report the length of a message that does not fit: it counts as one more than
 * the room. Windows reports at the next receive that an earlier message found no receiver: not
 * here.
 */
int th_os_socket_receive(int fd, th_os_message messages[], unsigned n) {
    th_os_message *m = messages;
    WSABUF piece = {(ULONG)m->size, m->data};
    (void)n;
    TH_OS_MAY_FAIL(TH_OS_FAULT_MESSAGE, -ENOMEM);
    TH_KEEPS_ERRNO;
    int error;
    DWORD got;
    do {
        DWORD flags = 0;
        int size = sizeof m->address.words;
        got = 0;
        m->address = (th_os_address){0};
        error = WSARecvFrom(th_socket_of(fd), &piece, 1, &got, &flags,
                            (struct sockaddr *)(void *)m->address.words, &size, NULL, NULL)
                    ? WSAGetLastError()
                    : 0;
        m->address.size = size > 0 ? (uint32_t)size : 0;
    } while (error == WSAECONNRESET || error == WSAENETRESET);
    m->length = error == WSAEMSGSIZE ? m->size + 1 : got;
    if (!error || error == WSAEMSGSIZE) {
        th_pollset_look_later(fd, TH_OS_IN);
        return 1;
    }
    return (int)th_tried(fd, TH_OS_IN, -th_winsock_errno(error));
}

int64_t th_os_socket_send_fds(int fd, const void *from, size_t size, const int fds[], unsigned n) {
    (void)fds;
    return n ? -EOPNOTSUPP : th_os_io_write(fd, TH_OS_STREAM, from, size);
}

int64_t th_os_socket_receive_fds(int fd, void *to, size_t size, int fds[], unsigned *n) {
    (void)fds;
    *n = 0;
    return th_os_io_read(fd, TH_OS_STREAM, to, size);
}
