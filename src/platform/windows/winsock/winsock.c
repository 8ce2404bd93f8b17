/*
 * winsock.c: see winsock.h.
 */
#include "platform/windows/winsock/winsock.h"

#include <errno.h>

_Static_assert(sizeof(SOCKET) == sizeof(HANDLE), "a socket is a handle");

/* ---- beginning ---- */

static BOOL CALLBACK begin(INIT_ONCE *once, void *arg, void **context) {
    WSADATA data;
    (void)once, (void)arg, (void)context;
    return WSAStartup(MAKEWORD(2, 2), &data) == 0;
}

int th_winsock_begin(void) {
    static INIT_ONCE once = INIT_ONCE_STATIC_INIT;
    return InitOnceExecuteOnce(&once, begin, NULL, NULL) ? 0 : -ENOSYS;
}

int th_winsock_errno(int error) {
    static const th_nt_pair known[] = {
        {WSAEWOULDBLOCK, EAGAIN},
        {WSAEINTR, EINTR},
        {WSAEBADF, EBADF},
        {WSAEACCES, EACCES},
        {WSAEFAULT, EFAULT},
        {WSAEINVAL, EINVAL},
        {WSAEMFILE, EMFILE},
        {WSAEINPROGRESS, EINPROGRESS},
        {WSAEALREADY, EALREADY},
        {WSAENOTSOCK, ENOTSOCK},
        {WSAEDESTADDRREQ, EDESTADDRREQ},
        {WSAEMSGSIZE, EMSGSIZE},
        {WSAEPROTOTYPE, EPROTOTYPE},
        {WSAENOPROTOOPT, ENOPROTOOPT},
        {WSAEPROTONOSUPPORT, EPROTONOSUPPORT},
        {WSAESOCKTNOSUPPORT, EPROTONOSUPPORT},
        {WSAEOPNOTSUPP, EOPNOTSUPP},
        {WSAEAFNOSUPPORT, EAFNOSUPPORT},
        {WSAEPFNOSUPPORT, EAFNOSUPPORT},
        {WSAEADDRINUSE, EADDRINUSE},
        {WSAEADDRNOTAVAIL, EADDRNOTAVAIL},
        {WSAENETDOWN, ENETDOWN},
        {WSAENETUNREACH, ENETUNREACH},
        {WSAENETRESET, ECONNRESET},
        {WSAECONNABORTED, ECONNABORTED},
        {WSAECONNRESET, ECONNRESET},
        {WSAENOBUFS, ENOBUFS},
        {WSAEISCONN, EISCONN},
        {WSAENOTCONN, ENOTCONN},
        {WSAESHUTDOWN, EPIPE},
        {WSAETIMEDOUT, ETIMEDOUT},
        {WSAECONNREFUSED, ECONNREFUSED},
        {WSAEHOSTUNREACH, EHOSTUNREACH},
        {WSAEHOSTDOWN, EHOSTUNREACH},
        {WSAENAMETOOLONG, ENAMETOOLONG},
        {WSANOTINITIALISED, ENOSYS},
        {WSA_NOT_ENOUGH_MEMORY, ENOMEM},
        {WSA_INVALID_HANDLE, EBADF},
    };
    return th_nt_find(known, sizeof known / sizeof known[0], (DWORD)error);
}

bool th_is_socket(int fd) {
    int type;
    int size = sizeof type;
    return fd > 2 && !(fd & 3) && !th_winsock_begin() &&
           getsockopt(th_socket_of(fd), SOL_SOCKET, SO_TYPE, (char *)&type, &size) == 0;
}

/* ---- handles ---- */

/* The system passes over the two lowest bits: a number that has one of them is nobody's here. */
HANDLE th_nt_handle(int fd) {
    static const DWORD standard[] = {STD_INPUT_HANDLE, STD_OUTPUT_HANDLE, STD_ERROR_HANDLE};
    return fd >= 0 && fd <= 2 ? GetStdHandle(standard[fd])
           : fd & 3           ? NULL
                              : (HANDLE)(uintptr_t)(unsigned)fd;
}

int th_fd_of_handle(HANDLE handle) {
    return (int)(unsigned)(uintptr_t)handle;
}
