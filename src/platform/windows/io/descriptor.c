/*
 * descriptor.c: calls on a descriptor. Calls on a socket do not wait: the library sets that when it
 * makes the socket or takes it over (th_os_io_kind), for good, and for all its owners. Nor do those
 * on the library's end of a pipe (pipe.c), or on a watcher of files (watch.c). Calls on anything
 * else wait for the device or the peer, as on a file, even on another pipe or a console; so upper
 * layers leave them to threads.
 */
#include "platform/windows/io/pipe.h"

#include <errno.h>
#include <limits.h>

#include "platform/faults.h"
#include "platform/windows/pollset/calls.h"
#include "platform/windows/winsock/own.h"
#include "platform/windows/file/watch.h"
#include "platform/windows/io/handle.h"

#define PARTS_MAX 64u /* of a call: it may be short */

/*
 * It returns that this was set already, so nobody takes it back: another of the library's
 * descriptors may name the same socket. Only sockets can be set.
 */
int th_os_io_nonblocking(int fd, bool on) {
    u_long nonblocking = 1;
    const bool tells = on && th_is_socket(fd);
    return tells && ioctlsocket(th_socket_of(fd), (long)FIONBIO, &nonblocking) ? th_winsock_code()
                                                                               : 1;
}

/* A watcher would give back its signal: a socket that is of no use to others. */
int th_os_io_releases(int fd) {
    return th_own_is_watcher(fd) ? -EOPNOTSUPP : 0;
}

int th_os_io_close_on_exec(int fd) {
    return SetHandleInformation(th_nt_handle(fd), HANDLE_FLAG_INHERIT, 0) ? 0 : -EBADF;
}

bool th_os_io_is_tty(int fd) {
    DWORD mode;
    return GetConsoleMode(th_nt_handle(fd), &mode);
}

/* ---- transfers ---- */

/*
 * Notes in the sets that a call may have found nothing left (unix/io/edge.h). A call that was not
 * short may have found just the bytes that were there; but a caller that waits has made another one
 * since. After a write there is room still.
 */
static int64_t tried(int fd, uint32_t bits, const th_os_part parts[], unsigned n, int64_t result) {
    int64_t left = result;
    for (unsigned i = 0; i < n && left >= 0; i++) {
        left -= (int64_t)parts[i].size;
    }
    if (result <= 0 || left < 0) {
        th_pollset_look_again(fd, bits);
    } else if (bits & TH_OS_IN) {
        th_pollset_look_later(fd, bits);
    }
    return result;
}

/* A code of a read that was refused: at the end of the peer's data it is none. */
static int64_t read_code(void) {
    const int error = WSAGetLastError();
    return error == WSAESHUTDOWN      ? 0
           : error == WSAECONNABORTED ? -ECONNRESET
                                      : -th_winsock_errno(error);
}

static int64_t write_code(void) {
    const int error = WSAGetLastError();
    return error == WSAECONNABORTED ? -EPIPE : -th_winsock_errno(error);
}

static int int_of(size_t size) {
    return size < INT_MAX ? (int)size : INT_MAX;
}

/* Whether a count could not hold all of it, which Unix refuses. */
static bool is_too_much(const th_os_part parts[], unsigned n) {
    size_t left = INT64_MAX;
    for (unsigned i = 0; i < n; i++) {
        if (parts[i].size > left) {
            return true;
        }
        left -= parts[i].size;
    }
    return false;
}

/* The system's pieces: how many. The lengths of theirs have 32 bits. */
static DWORD pieces_of(const th_os_part parts[], unsigned n, WSABUF out[PARTS_MAX]) {
    n = n < PARTS_MAX ? n : PARTS_MAX;
    for (unsigned i = 0; i < n; i++) {
        out[i] = (WSABUF){(ULONG)int_of(parts[i].size), parts[i].base};
    }
    return n;
}

int64_t th_os_io_readv(int fd, th_os_kind kind, const th_os_part parts[], unsigned n) {
    WSABUF pieces[PARTS_MAX];
    DWORD got = 0;
    DWORD flags = 0;
    TH_OS_MAY_FAIL(TH_OS_FAULT_READ, -ENOBUFS);
    if (is_too_much(parts, n)) {
        return -EINVAL;
    }
    if (kind == TH_OS_PIPE) {
        return tried(fd, TH_OS_IN, parts, n, th_pipe_readv(fd, parts, n));
    }
    if (kind == TH_OS_OTHER && th_own_is_watcher(fd)) {
        return tried(fd, TH_OS_IN, parts, n, th_file_watch_readv(fd, parts, n));
    }
    if (!th_os_is_socket(kind)) {
        return th_handle_readv(fd, parts, n);
    }
    TH_KEEPS_ERRNO;
    const int code =
        WSARecv(th_socket_of(fd), pieces, pieces_of(parts, n, pieces), &got, &flags, NULL, NULL);
    const int64_t result = code && WSAGetLastError() != WSAEMSGSIZE ? read_code() : (int64_t)got;
    return tried(fd, TH_OS_IN, parts, n, result);
}

int64_t th_os_io_read(int fd, th_os_kind kind, void *to, size_t size) {
    const th_os_part part = {to, size};
    return th_os_io_readv(fd, kind, &part, 1);
}

int64_t th_os_io_writev(int fd, th_os_kind kind, const th_os_part parts[], unsigned n) {
    WSABUF pieces[PARTS_MAX];
    DWORD sent = 0;
    TH_OS_MAY_FAIL(TH_OS_FAULT_WRITE, -ENOBUFS);
    if (is_too_much(parts, n)) {
        return -EINVAL;
    }
    if (kind == TH_OS_PIPE) {
        return tried(fd, TH_OS_OUT, parts, n, th_pipe_writev(fd, parts, n));
    }
    if (kind == TH_OS_OTHER && th_own_is_watcher(fd)) {
        return -EBADF;
    }
    if (!th_os_is_socket(kind)) {
        return th_handle_writev(fd, parts, n);
    }
    TH_KEEPS_ERRNO;
    const int code =
        WSASend(th_socket_of(fd), pieces, pieces_of(parts, n, pieces), &sent, 0, NULL, NULL);
    const int64_t result = code ? write_code() : (int64_t)sent;
    return tried(fd, TH_OS_OUT, parts, n, result);
}

int64_t th_os_io_write(int fd, th_os_kind kind, const void *from, size_t size) {
    const th_os_part part = {(void *)(uintptr_t)from, size};
    return th_os_io_writev(fd, kind, &part, 1);
}

int64_t th_os_io_peek(int fd, void *to, size_t size) {
    TH_OS_MAY_FAIL(TH_OS_FAULT_READ, -ENOBUFS);
    TH_KEEPS_ERRNO;
    int64_t got = recv(th_socket_of(fd), to, int_of(size), MSG_PEEK);
    got = got < 0 ? read_code() : got;
    return tried(fd, TH_OS_IN, &(th_os_part){to, size}, 1, got);
}

int64_t th_os_io_skip(int fd, th_os_kind kind, void *memory, size_t n) {
    size_t done = 0;
    int64_t got = 1;
    while (done < n && got > 0) {
        got = th_os_io_read(fd, kind, memory, n - done);
        done += got > 0 ? (size_t)got : 0;
    }
    return got < 0 ? got : (int64_t)done;
}

/* ---- connections ---- */

int th_os_io_accept(int fd) {
    TH_OS_MAY_FAIL(TH_OS_FAULT_ACCEPT, -EMFILE);
    TH_OS_MAY_FAIL(TH_OS_FAULT_ABORTED, -ECONNABORTED);
    u_long on = 1;
    TH_KEEPS_ERRNO;
    SOCKET s = accept(th_socket_of(fd), NULL, NULL);
    int code = s == INVALID_SOCKET ? th_winsock_code() : th_fd_of_fresh(s);
    if (code > 0) {
        (void)th_os_io_close_on_exec(code);
        (void)ioctlsocket(s, (long)FIONBIO, &on);
        th_pollset_look_later(fd, TH_OS_IN);
        return code;
    }
    return (int)th_tried(fd, TH_OS_IN, code);
}

int th_os_io_shutdown(int fd, unsigned bits) {
    if (th_own_is_watcher(fd)) {
        return -ENOTSOCK; /* it has a socket, which would never report anything again */
    }
    const int how = bits == TH_OS_IN ? SD_RECEIVE : bits == TH_OS_OUT ? SD_SEND : SD_BOTH;
    TH_KEEPS_ERRNO;
    const int code = shutdown(th_socket_of(fd), how) ? th_winsock_code() : 0;
    return (int)th_tried(fd, TH_OS_IN | TH_OS_OUT, code);
}

int th_os_io_close(int fd) {
    TH_KEEPS_ERRNO;
    th_closing(fd);
    if (th_pipe_close(fd) || th_file_watch_close(fd)) {
        return 0;
    }
    if (th_is_socket(fd)) {
        return closesocket(th_socket_of(fd)) ? th_winsock_code() : 0;
    }
    return CloseHandle(th_nt_handle(fd)) ? 0 : -EBADF;
}

/* ---- shared descriptions ---- */

int64_t th_os_io_readv_shared(int fd, th_os_kind kind, const th_os_part parts[], unsigned n) {
    return th_os_io_readv(fd, kind, parts, n);
}

int64_t th_os_io_writev_shared(int fd, th_os_kind kind, const th_os_part parts[], unsigned n) {
    return th_os_io_writev(fd, kind, parts, n);
}

static int duplicate_socket(int fd) {
    WSAPROTOCOL_INFOW info;
    if (WSADuplicateSocketW(th_socket_of(fd), GetCurrentProcessId(), &info)) {
        return th_winsock_code();
    }
    SOCKET s = WSASocketW(FROM_PROTOCOL_INFO, FROM_PROTOCOL_INFO, FROM_PROTOCOL_INFO, &info, 0,
                          WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);
    return s == INVALID_SOCKET ? th_winsock_code() : th_fd_of_fresh(s);
}

int th_os_io_duplicate(int fd) {
    HANDLE own = GetCurrentProcess();
    HANDLE other = NULL;
    TH_OS_MAY_FAIL(TH_OS_FAULT_DUPLICATE, -EMFILE);
    bool reads;
    SOCKET signal;
    TH_KEEPS_ERRNO;
    if (th_pipe_signal(fd, &reads, &signal) || th_own_is_watcher(fd)) {
        return -EOPNOTSUPP; /* the bytes that were read already, or events, are this one's */
    }
    if (th_is_socket(fd)) {
        return duplicate_socket(fd);
    }
    return DuplicateHandle(own, th_nt_handle(fd), own, &other, 0, FALSE, DUPLICATE_SAME_ACCESS)
               ? th_fd_of_handle(other)
               : -th_nt_errno(GetLastError());
}

int th_os_io_unread(int fd, size_t n) {
    const LARGE_INTEGER back = {.QuadPart = -(int64_t)n};
    TH_OS_MAY_FAIL(TH_OS_FAULT_UNREAD, -ESPIPE);
    return SetFilePointerEx(th_nt_handle(fd), back, NULL, FILE_CURRENT) ? 0 : -ESPIPE;
}
