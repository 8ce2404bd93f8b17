/*
 * unix.h: Unix's calls on descriptors, as tests of sockets write them, by Winsock. The headers of
 * tests/windows/include that have Unix's names (sys/socket.h, poll.h) include it.
 *
 * A test's descriptors are handles, as the library has them, and not the C library's numbers: so
 * close, read, write and open are others than the C library's here; of 0, 1 and 2 they are its own.
 *
 *   O_NONBLOCK   the library tells each socket that it gets to know not to wait, for good. So a
 *                plain call waits here by itself, unless the test has set the flag, of which a
 *                table is kept, or the library has the descriptor
 *   pairs        socketpair and pipe are TCP connections, datagrams go by UDP. A pipe has fixed
 *                room, and its writer is told at once that nobody reads
 */
#ifndef WINDOWS_UNIX_H
#define WINDOWS_UNIX_H

#include "check.h"

#include <fcntl.h>
#include <io.h>
#include <signal.h>
#include <sys/time.h>

#ifndef WIN32_LEAN_AND_MEAN
#define WIN32_LEAN_AND_MEAN
#endif
/* Names that tests have, too. */
#define SIZE WINDOWS_SIZE
#ifndef _WINDOWS_ /* else there is a type of this name already */
#define LONG WINDOWS_LONG
#endif
#include <winsock2.h>
/* Behind what it may not come before. */
#include <afunix.h>
#include <ws2tcpip.h>
#undef SIZE
#undef LONG
#undef near
#undef far
#undef IN
#undef OUT

#ifndef __cplusplus
#include "io/record.h"
#endif

#define O_NONBLOCK 0x10000
#define O_CLOEXEC 0x20000
#define F_GETFD 1
#define F_SETFD 2
#define F_GETFL 3
#define F_SETFL 4
#define FD_CLOEXEC 1

#define SOCK_NONBLOCK 0x1000
#define SOCK_CLOEXEC 0x2000
#define MSG_NOSIGNAL 0
#define MSG_DONTWAIT 0x100000
#define SHUT_RD SD_RECEIVE
#define SHUT_WR SD_SEND
#define SHUT_RDWR SD_BOTH

typedef unsigned long nfds_t;
typedef unsigned short sa_family_t;

#ifndef TCP_KEEPIDLE /* Windows 10; as its headers have them */
#define TCP_KEEPIDLE 3
#define TCP_KEEPCNT 16
#define TCP_KEEPINTVL 17
#endif

/* ---- codes ---- */

/* Sets errno as Unix has it for Winsock's last error; returns -1. */
CHECK_UNUSED static int unix_failed(bool writing) {
    static const int codes[][2] = {{WSAEWOULDBLOCK, EAGAIN},
                                   {WSAENOTSOCK, ENOTSOCK},
                                   {WSAEINVAL, EINVAL},
                                   {WSAECONNRESET, ECONNRESET},
                                   {WSAENOTCONN, ENOTCONN},
                                   {WSAECONNREFUSED, ECONNREFUSED},
                                   {WSAEADDRINUSE, EADDRINUSE},
                                   {WSAEMSGSIZE, EMSGSIZE},
                                   {WSAESHUTDOWN, EPIPE},
                                   {WSAEAFNOSUPPORT, EAFNOSUPPORT},
                                   {WSAEPROTOTYPE, EPROTOTYPE},
                                   {WSAENOBUFS, ENOBUFS},
                                   {WSAEMFILE, EMFILE},
                                   {WSAEISCONN, EISCONN},
                                   {WSAENOPROTOOPT, ENOPROTOOPT},
                                   {WSAEOPNOTSUPP, EOPNOTSUPP},
                                   {WSAEADDRNOTAVAIL, EADDRNOTAVAIL}};
    const int error = WSAGetLastError();
    errno = error == WSAECONNABORTED ? (writing ? EPIPE : ECONNRESET) : EIO;
    for (size_t i = 0; i < sizeof codes / sizeof codes[0]; i++) {
        errno = codes[i][0] == error ? codes[i][1] : errno;
    }
    return -1;
}

/* ---- descriptors ---- */

CHECK_UNUSED static void unix_begin(void) {
    WSADATA data;
    if (WSAStartup(MAKEWORD(2, 2), &data) != 0) {
        check_failed(__FILE__, __LINE__, "no Winsock");
    }
}

/* Whether the test has set O_NONBLOCK: of each handle, which is a multiple of 4. */
enum { UNIX_HANDLES = 1 << 16 };
static unsigned char unix_flags[UNIX_HANDLES / 4];
/* The end that is written of a pipe, by the one that is read; 0: it is none. */
static int unix_writers[UNIX_HANDLES / 4];

CHECK_UNUSED static unsigned char *unix_flag(int fd) {
    CHECK(fd >= 0 && fd < UNIX_HANDLES);
    return &unix_flags[fd / 4];
}

CHECK_UNUSED static int unix_fresh(SOCKET s, bool nonblocking) {
    if (s == INVALID_SOCKET) {
        return unix_failed(false);
    }
    u_long on = 1;
    *unix_flag((int)s) = nonblocking;
    unix_writers[s / 4] = 0;
    if (nonblocking) {
        CHECK_EQ(ioctlsocket(s, (long)FIONBIO, &on), 0);
    }
    return (int)s;
}

CHECK_UNUSED static HANDLE unix_handle(int fd) {
    return (HANDLE)(uintptr_t)(unsigned)fd;
}

CHECK_UNUSED static bool unix_is_socket(int fd) {
    int type;
    int size = sizeof type;
    unix_begin();
    return fd > 2 && getsockopt((SOCKET)fd, SOL_SOCKET, SO_TYPE, (char *)&type, &size) == 0;
}

/*
 * Nobody reads this pipe any more. TCP would take what is written next, and then tell of a reset:
 * so the other end is shut down, if it is open.
 */
CHECK_UNUSED static void unix_end_pipe(int fd) {
    const int writer = unix_writers[fd / 4];
    struct sockaddr_in own, other;
    int own_size = sizeof own;
    int other_size = sizeof other;
    if (writer && getsockname((SOCKET)fd, (struct sockaddr *)&own, &own_size) == 0 &&
        getpeername((SOCKET)writer, (struct sockaddr *)&other, &other_size) == 0 &&
        own.sin_port == other.sin_port) {
        (void)shutdown((SOCKET)writer, SD_SEND);
    }
}

CHECK_UNUSED static int unix_close(int fd) {
    if (fd <= 2) {
        return _close(fd);
    }
    if (unix_is_socket(fd)) {
        unix_end_pipe(fd);
        return closesocket((SOCKET)fd) == 0 ? 0 : unix_failed(false);
    }
    DWORD flags;
    const bool closes =
        GetHandleInformation(unix_handle(fd), &flags) && CloseHandle(unix_handle(fd));
    errno = closes ? errno : EBADF;
    return closes ? 0 : -1;
}

CHECK_UNUSED static int unix_fcntl(int fd, int command, int value) {
    DWORD flags;
    u_long on = 1;
    /* Of handles that are no descriptors, of threads and the like, the system tells no type. */
    if (fd < 0 || fd & 3 || GetFileType(unix_handle(fd)) == FILE_TYPE_UNKNOWN ||
        !GetHandleInformation(unix_handle(fd), &flags)) {
        errno = EBADF;
        return -1;
    }
    switch (command) {
    case F_GETFD:
        return flags & HANDLE_FLAG_INHERIT ? 0 : FD_CLOEXEC;
    case F_SETFD:
        return SetHandleInformation(unix_handle(fd), HANDLE_FLAG_INHERIT,
                                    value & FD_CLOEXEC ? 0 : HANDLE_FLAG_INHERIT)
                   ? 0
                   : -1;
    case F_GETFL:
        return O_RDWR | (*unix_flag(fd) ? O_NONBLOCK : 0); /* as the test has set it */
    default:
        *unix_flag(fd) = (value & O_NONBLOCK) != 0;
        return value & O_NONBLOCK && ioctlsocket((SOCKET)fd, (long)FIONBIO, &on) != 0
                   ? unix_failed(false)
                   : 0;
    }
}

/* Of files and folders: a handle. */
CHECK_UNUSED static int unix_open(const char *path, int flags) {
    char program[512];
    if (strcmp(path, "/proc/self/exe") == 0) {
        CHECK(GetModuleFileNameA(NULL, program, sizeof program) > 0);
        path = program;
    }
    path = strcmp(path, "/dev/null") == 0 ? "NUL" : path;
    HANDLE file = CreateFileA(
        path, flags & (O_WRONLY | O_RDWR) ? GENERIC_READ | GENERIC_WRITE : GENERIC_READ,
        FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE, NULL,
        flags & O_CREAT ? OPEN_ALWAYS : OPEN_EXISTING, FILE_FLAG_BACKUP_SEMANTICS, NULL);
    errno = file == INVALID_HANDLE_VALUE ? ENOENT : errno;
    return file == INVALID_HANDLE_VALUE ? -1 : (int)(uintptr_t)file;
}

CHECK_UNUSED static int unix_dup2(int fd, int to) {
    CHECK_SKIP("no descriptor gets a number that is wished for here: %d, %d", fd, to);
}

/* ---- making sockets ---- */

CHECK_UNUSED static int unix_socket(int family, int type, int protocol) {
    const int flags = SOCK_NONBLOCK | SOCK_CLOEXEC;
    unix_begin();
    const SOCKET s =
        WSASocketW(family, type & ~flags, protocol, NULL, 0,
                   WSA_FLAG_OVERLAPPED | (type & SOCK_CLOEXEC ? WSA_FLAG_NO_HANDLE_INHERIT : 0));
    return unix_fresh(s, (type & SOCK_NONBLOCK) != 0);
}

CHECK_UNUSED static int unix_bind(int fd, const struct sockaddr *address, socklen_t size) {
    return bind((SOCKET)fd, address, size) == 0 ? 0 : unix_failed(false);
}

CHECK_UNUSED static int unix_listen(int fd, int backlog) {
    return listen((SOCKET)fd, backlog) == 0 ? 0 : unix_failed(false);
}

CHECK_UNUSED static int unix_connect(int fd, const struct sockaddr *address, socklen_t size) {
    return connect((SOCKET)fd, address, size) == 0 ? 0 : unix_failed(false);
}

CHECK_UNUSED static int unix_getsockname(int fd, struct sockaddr *address, socklen_t *size) {
    return getsockname((SOCKET)fd, address, size) == 0 ? 0 : unix_failed(false);
}

CHECK_UNUSED static int unix_getpeername(int fd, struct sockaddr *address, socklen_t *size) {
    return getpeername((SOCKET)fd, address, size) == 0 ? 0 : unix_failed(false);
}

CHECK_UNUSED static int unix_setsockopt(int fd, int level, int option, const void *value,
                                        socklen_t size) {
    return setsockopt((SOCKET)fd, level, option, (const char *)value, size) == 0
               ? 0
               : unix_failed(false);
}

CHECK_UNUSED static int unix_getsockopt(int fd, int level, int option, void *value,
                                        socklen_t *size) {
    return getsockopt((SOCKET)fd, level, option, (char *)value, size) == 0 ? 0 : unix_failed(false);
}

CHECK_UNUSED static int unix_shutdown(int fd, int how) {
    return shutdown((SOCKET)fd, how) == 0 ? 0 : unix_failed(false);
}

/* ---- transfers ---- */

/* Whether a plain call waits for nothing. */
CHECK_UNUSED static bool unix_nonblocking(int fd) {
#ifdef __cplusplus
    return *unix_flag(fd);
#else
    const th_record *record = th_record_at(fd);
    return *unix_flag(fd) ||
           (record && th_load_relaxed(&record->xturn) & 1); /* relaxed: the test's own */
#endif
}

/* Whether a call that found nothing is to be made again: it waits until there is something. */
CHECK_UNUSED static bool unix_waits(int fd, short events, int flags) {
    if (WSAGetLastError() != WSAEWOULDBLOCK || unix_nonblocking(fd) || flags & MSG_DONTWAIT) {
        return false;
    }
    WSAPOLLFD p = {(SOCKET)fd, events, 0};
    return WSAPoll(&p, 1, -1) >= 0;
}

CHECK_UNUSED static int unix_accept(int fd, struct sockaddr *address, socklen_t *size) {
    SOCKET s;
    do {
        s = accept((SOCKET)fd, address, size);
    } while (s == INVALID_SOCKET && unix_waits(fd, POLLRDNORM, 0));
    return unix_fresh(s, false);
}

CHECK_UNUSED static ssize_t unix_send(int fd, const void *from, size_t size, int flags) {
    const int most = size > 1 << 30 ? 1 << 30 : (int)size;
    int n;
    do {
        n = send((SOCKET)fd, (const char *)from, most, flags & ~MSG_DONTWAIT);
    } while (n < 0 && unix_waits(fd, POLLOUT, flags));
    return n < 0 ? unix_failed(true) : n;
}

CHECK_UNUSED static ssize_t unix_recv(int fd, void *to, size_t size, int flags) {
    const int most = size > 1 << 30 ? 1 << 30 : (int)size;
    int n;
    do {
        n = recv((SOCKET)fd, (char *)to, most, flags & ~MSG_DONTWAIT);
    } while (n < 0 && unix_waits(fd, POLLRDNORM, flags));
    return n < 0 ? unix_failed(false) : n;
}

CHECK_UNUSED static ssize_t unix_write(int fd, const void *from, size_t size) {
    DWORD n;
    if (fd <= 2) {
        return _write(fd, from, (unsigned)size);
    }
    if (unix_is_socket(fd)) {
        return unix_send(fd, from, size, 0);
    }
    errno = EBADF;
    return WriteFile(unix_handle(fd), from, (DWORD)size, &n, NULL) ? (ssize_t)n : -1;
}

CHECK_UNUSED static ssize_t unix_read(int fd, void *to, size_t size) {
    DWORD n;
    if (fd <= 2) {
        return _read(fd, to, (unsigned)size);
    }
    if (unix_is_socket(fd)) {
        return unix_recv(fd, to, size, 0);
    }
    errno = EBADF;
    return ReadFile(unix_handle(fd), to, (DWORD)size, &n, NULL) ? (ssize_t)n : -1;
}

/* ---- pairs ---- */

CHECK_UNUSED static struct sockaddr_in unix_bound(int fd) {
    struct sockaddr_in address;
    socklen_t size = sizeof address;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    CHECK_EQ(unix_bind(fd, (struct sockaddr *)&address, size), 0);
    CHECK_EQ(unix_getsockname(fd, (struct sockaddr *)&address, &size), 0);
    return address;
}

/* Buffers of a size that stays, about a Unix socket's: the system's own grow to megabytes. */
CHECK_UNUSED static void unix_bounded(int fd) {
    const int size = 131072;
    CHECK_EQ(unix_setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size), 0);
    CHECK_EQ(unix_setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size), 0);
}

CHECK_UNUSED static int unix_socketpair(int family, int type, int protocol, int fds[2]) {
    const int style = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
    const BOOL on = TRUE;
    (void)family;
    (void)protocol;
    if (style == SOCK_SEQPACKET) {
        CHECK_SKIP("no pairs of SOCK_SEQPACKET here");
    }
    int first = unix_socket(AF_INET, style, 0);
    fds[1] = unix_socket(AF_INET, style, 0);
    if (style == SOCK_STREAM) {
        unix_bounded(first); /* what is accepted has it of this one */
        unix_bounded(fds[1]);
    }
    struct sockaddr_in address = unix_bound(first);
    if (style == SOCK_DGRAM) {
        const struct sockaddr_in other = unix_bound(fds[1]);
        CHECK_EQ(unix_connect(first, (const struct sockaddr *)&other, sizeof other), 0);
        fds[0] = first;
    } else {
        CHECK_EQ(unix_listen(first, 1), 0);
    }
    CHECK_EQ(unix_connect(fds[1], (struct sockaddr *)&address, sizeof address), 0);
    if (style == SOCK_STREAM) {
        fds[0] = unix_accept(first, NULL, NULL);
        CHECK_EQ(unix_close(first), 0);
        for (int i = 0; i < 2; i++) {
            CHECK_EQ(unix_setsockopt(fds[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), 0);
        }
    }
    if (type & SOCK_NONBLOCK) {
        CHECK_EQ(unix_fcntl(fds[0], F_SETFL, O_NONBLOCK) | unix_fcntl(fds[1], F_SETFL, O_NONBLOCK),
                 0);
    }
    return 0;
}

enum { UNIX_PIPE_BYTES = 65536 };

CHECK_UNUSED static int unix_pipe(int fds[2], int flags) {
    static const int bytes = UNIX_PIPE_BYTES;
    const int type = SOCK_STREAM | (flags & O_NONBLOCK ? SOCK_NONBLOCK : 0);
    CHECK_EQ(unix_socketpair(AF_INET, type, 0, fds), 0);
    CHECK_EQ(unix_setsockopt(fds[0], SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes), 0);
    CHECK_EQ(unix_setsockopt(fds[1], SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes), 0);
    unix_writers[fds[0] / 4] = fds[1];
    return 0;
}

/* ---- counts ---- */

/* Whether it is a wake-up of the library's: a socket for datagrams that is connected to itself. */
CHECK_UNUSED static bool unix_is_wake_up(int fd) {
    struct sockaddr_in own, other;
    socklen_t own_size = sizeof own;
    socklen_t other_size = sizeof other;
    return unix_getsockname(fd, (struct sockaddr *)&own, &own_size) == 0 &&
           unix_getpeername(fd, (struct sockaddr *)&other, &other_size) == 0 &&
           own_size == other_size && own.sin_port == other.sin_port &&
           own.sin_addr.s_addr == other.sin_addr.s_addr;
}

/*
 * How many sockets the process has, wake-ups aside. Numbers that have become free are the first to
 * be given away, so that far behind the last handle there is no other.
 */
CHECK_UNUSED static int unix_sockets(void) {
    enum { GAP = 128 };
    int n = 0;
    DWORD flags;
    for (int fd = 4, last = 0; fd < UNIX_HANDLES && fd - last < 4 * GAP; fd += 4) {
        if (GetHandleInformation(unix_handle(fd), &flags)) {
            last = fd;
            n += unix_is_socket(fd) && !unix_is_wake_up(fd);
        }
    }
    return n;
}

/* ---- their names ---- */

#ifdef __cplusplus

/* The library's classes have functions of these names. */
static inline int socketpair(int family, int type, int protocol, int fds[2]) {
    return unix_socketpair(family, type, protocol, fds);
}

#define pipe(fds_) unix_pipe(fds_, 0)

#else

#undef O_ACCMODE
#define O_ACCMODE (O_RDONLY | O_WRONLY | O_RDWR)
#define socket(family_, type_, protocol_) unix_socket(family_, type_, protocol_)
#define bind(fd_, address_, size_) unix_bind(fd_, address_, size_)
#define listen(fd_, backlog_) unix_listen(fd_, backlog_)
#define connect(fd_, address_, size_) unix_connect(fd_, address_, size_)
#define accept(fd_, address_, size_) unix_accept(fd_, address_, size_)
#define getsockname(fd_, address_, size_) unix_getsockname(fd_, address_, size_)
#define getpeername(fd_, address_, size_) unix_getpeername(fd_, address_, size_)
#define setsockopt(fd_, ...) unix_setsockopt(fd_, __VA_ARGS__)
#define getsockopt(fd_, ...) unix_getsockopt(fd_, __VA_ARGS__)
#define shutdown(fd_, how_) unix_shutdown(fd_, how_)
#define send(fd_, from_, size_, flags_) unix_send(fd_, from_, size_, flags_)
#define recv(fd_, to_, size_, flags_) unix_recv(fd_, to_, size_, flags_)
#define write(fd_, from_, size_) unix_write(fd_, from_, size_)
#define read(fd_, to_, size_) unix_read(fd_, to_, size_)
#define close(fd_) unix_close(fd_)
#define open(path_, flags_, ...) unix_open(path_, flags_)
#undef dup2
#define dup2(fd_, to_) unix_dup2(fd_, to_)
#define socketpair(family_, type_, protocol_, fds_) unix_socketpair(family_, type_, protocol_, fds_)
#define pipe(fds_) unix_pipe(fds_, 0)
#define pipe2(fds_, flags_) unix_pipe(fds_, flags_)
#define poll(fds_, n_, milliseconds_) WSAPoll(fds_, n_, milliseconds_)

/* The third one is left out where a descriptor is only asked. */
#define fcntl(fd_, ...) UNIX_FCNTL(fd_, __VA_ARGS__, 0, 0)
#define UNIX_FCNTL(fd_, command_, value_, ...) unix_fcntl(fd_, command_, value_)

#include "windows/unix_more.h"
#endif

#endif
