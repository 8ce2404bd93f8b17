/*
 * socket.c: making sockets, and setting and reading their options.
 */
#include "platform/windows/winsock/winsock.h"

#include <errno.h>

#include "platform/faults.h"
#include "platform/windows/pollset/calls.h"
#include "platform/windows/winsock/own.h"

/* The result of a Winsock call: 0 or a code; errno is as before it. */
#define CODE(call_)                                                                                \
    ({                                                                                             \
        TH_KEEPS_ERRNO;                                                                            \
        (call_) == 0 ? 0 : th_winsock_code();                                                      \
    })

static const struct sockaddr *system_of(const th_os_address *address) {
    return (const struct sockaddr *)(const void *)address->words;
}

/* A descriptor that has a socket only as its signal keeps it unchanged: 0 or -ENOTSOCK. */
static int refuse(int fd) {
    return th_own_is_watcher(fd) ? -ENOTSOCK : 0;
}

static int get(int fd, int level, int option, void *to, int size) {
    return CODE(getsockopt(th_socket_of(fd), level, option, to, &size));
}

static int get_int(int fd, int level, int option, int *to) {
    *to = 0; /* some are a single byte */
    return get(fd, level, option, to, sizeof *to);
}

static int set_int(int fd, int level, int option, int value) {
    return CODE(setsockopt(th_socket_of(fd), level, option, (const char *)&value, sizeof value));
}

/* ---- making them ---- */

int th_os_socket_open(th_os_family family, th_os_style style) {
    static const int domains[] = {AF_UNSPEC, AF_INET, AF_INET6, AF_UNIX};
    static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
    u_long on = 1;
    TH_OS_MAY_FAIL(TH_OS_FAULT_SOCKET, -EMFILE);
    TH_KEEPS_ERRNO;
    int code = th_winsock_begin();
    if (!code) {
        SOCKET s = WSASocketW(domains[family], types[style], 0, NULL, 0,
                              WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);
        code = s == INVALID_SOCKET ? th_winsock_code() : th_fd_of_fresh(s);
        if (code > 0) {
            (void)ioctlsocket(s, (long)FIONBIO, &on);
        }
    }
    return code;
}

/* No other program gets the same address beside it; docs/windows.md has the remaining cases. */
int th_os_socket_bind(int fd, const th_os_address *address) {
    TH_OS_MAY_FAIL(TH_OS_FAULT_BIND, -ENOMEM);
    const th_os_family family = th_os_address_family(address);
    const int alone = family == TH_OS_LOCAL ? 0 : set_int(fd, SOL_SOCKET, SO_EXCLUSIVEADDRUSE, 1);
    return alone ? alone : CODE(bind(th_socket_of(fd), system_of(address), (int)address->size));
}

int th_os_socket_listen(int fd, int backlog) {
    return CODE(listen(th_socket_of(fd), backlog > 0 ? backlog : SOMAXCONN));
}

int th_os_socket_waits(int fd) {
    int value;
    th_os_address peer;
    if (!th_is_socket(fd) || refuse(fd)) {
        DWORD flags;
        return GetHandleInformation(th_nt_handle(fd), &flags) ? -ENOTSOCK : -EBADF;
    }
    int code = get_int(fd, SOL_SOCKET, SO_ACCEPTCONN, &value);
    if (code || value) {
        return code;
    }
    code = get_int(fd, SOL_SOCKET, SO_TYPE, &value);
    const bool alone = value == SOCK_DGRAM && th_os_socket_peer(fd, &peer) == -ENOTCONN;
    return code ? code : alone ? 0 : -EOPNOTSUPP;
}

/*
 * A connection under way becomes ready to be written when it has ended, and was not ready
 * before.
 */
int th_os_socket_connect(int fd, const th_os_address *address) {
    TH_OS_MAY_FAIL(TH_OS_FAULT_CONNECT, -ENOBUFS);
    int code = CODE(connect(th_socket_of(fd), system_of(address), (int)address->size));
    code = code == -EAGAIN ? -EINPROGRESS : code;
    return (int)th_tried(fd, TH_OS_IN | TH_OS_OUT, code);
}

int th_os_socket_error(int fd) {
    int error;
    const int code = get_int(fd, SOL_SOCKET, SO_ERROR, &error);
    return code ? code : error ? -th_winsock_errno(error) : 0;
}

typedef int(WSAAPI *name_fn)(SOCKET s, struct sockaddr *address, int *size);

static int name_of(name_fn call, int fd, th_os_address *out) {
    *out = (th_os_address){0};
    int size = sizeof out->words;
    int code = refuse(fd);
    code = code ? code : CODE(call(th_socket_of(fd), (struct sockaddr *)(void *)out->words, &size));
    out->size = code || size < 0 ? 0 : (uint32_t)size;
    return code;
}

/* A socket that was never bound has none yet, which is an error only in Winsock. */
int th_os_socket_local(int fd, th_os_address *out) {
    th_os_family family;
    th_os_style style;
    const int code = name_of(getsockname, fd, out);
    if (code != -EINVAL || th_os_socket_what(fd, &family, &style) ||
        (family != TH_OS_IPV4 && family != TH_OS_IPV6)) {
        return code;
    }
    th_os_address_any(out, family, 0);
    return 0;
}

int th_os_socket_peer(int fd, th_os_address *out) {
    return name_of(getpeername, fd, out);
}

/* ---- the files of UNIX sockets: their permissions are those of their folder ---- */

int th_os_socket_mode(int fd, unsigned mode) {
    (void)fd, (void)mode;
    return 0;
}

int th_os_local_mode(const th_os_address *address, unsigned mode) {
    (void)address, (void)mode;
    return 0;
}

int th_os_local_remove(const th_os_address *address) {
    const struct sockaddr_un *un = (const void *)address->words;
    wchar_t path[sizeof un->sun_path + 1];
    char text[sizeof un->sun_path + 1] = "";
    const size_t at = offsetof(struct sockaddr_un, sun_path);
    if (th_os_address_family(address) != TH_OS_LOCAL || address->size <= at || !un->sun_path[0]) {
        return 0;
    }
    __builtin_memcpy(text, un->sun_path, address->size - at);
    if (!th_nt_wide(text, path, sizeof path / sizeof path[0])) {
        return -EINVAL;
    }
    const DWORD attributes = GetFileAttributesW(path);
    if (attributes == INVALID_FILE_ATTRIBUTES) {
        return -th_nt_errno(GetLastError());
    }
    if (!(attributes & FILE_ATTRIBUTE_REPARSE_POINT)) { /* as sockets are */
        return -ENOTSOCK;
    }
    return DeleteFileW(path) ? 0 : -th_nt_errno(GetLastError());
}

/* ---- options ---- */

typedef struct name {
    int level;
    int option;
} name;

/*
 * SO_REUSEADDR means there that several sockets may have one address at a time, and each may take
 * another one's data. Its Unix meaning, a port whose old connections are over and still linger,
 * Windows grants anyway.
 */
static const name names[TH_OS_OPTIONS] = {
    [TH_OS_REUSE_ADDRESS] = {0, 0},
    [TH_OS_REUSE_PORT] = {0, 0},
    [TH_OS_IPV6_ONLY] = {IPPROTO_IPV6, IPV6_V6ONLY},
    [TH_OS_NO_DELAY] = {IPPROTO_TCP, TCP_NODELAY},
    [TH_OS_KEEP_ALIVE] = {SOL_SOCKET, SO_KEEPALIVE},
    [TH_OS_RECEIVE_BUFFER] = {SOL_SOCKET, SO_RCVBUF},
    [TH_OS_SEND_BUFFER] = {SOL_SOCKET, SO_SNDBUF},
    [TH_OS_BROADCAST] = {SOL_SOCKET, SO_BROADCAST},
    [TH_OS_RESET] = {SOL_SOCKET, SO_LINGER},
};

#define SECOND INT64_C(1000000000)
#define SECONDS_MAX 32767 /* between two questions, as elsewhere */

#ifndef TCP_KEEPIDLE /* Windows 10; as its headers have them */
#define TCP_KEEPIDLE 3
#define TCP_KEEPINTVL 17
#endif

/* Nanoseconds in whole seconds, rounded up. */
static int seconds_of(int64_t ns) {
    return ns >= SECONDS_MAX * SECOND ? SECONDS_MAX : (int)(ns / SECOND + (ns % SECOND > 0));
}

int th_os_socket_set(int fd, th_os_option option, int64_t value) {
    const int number = value > INT32_MAX ? INT32_MAX : (int)value;
    int code = refuse(fd);
    if (code) {
        return code;
    }
    switch (option) {
    case TH_OS_REUSE_ADDRESS:
        return 0;
    case TH_OS_REUSE_PORT:
        return value ? -EOPNOTSUPP : 0;
    case TH_OS_RESET: {
        const struct linger linger = {.l_onoff = value != 0};
        return CODE(setsockopt(th_socket_of(fd), SOL_SOCKET, SO_LINGER, (const char *)&linger,
                               sizeof linger));
    }
    case TH_OS_KEEP_ALIVE:
        code = value > 0 ? set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds_of(value)) : 0;
        code =
            code || value <= 0 ? code : set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL, seconds_of(value));
        return code ? code : set_int(fd, SOL_SOCKET, SO_KEEPALIVE, value > 0);
    default:
        code = set_int(fd, names[option].level, names[option].option, number);
        /* Wine's word for it that datagrams have no such option. */
        return code == -EINVAL && option == TH_OS_NO_DELAY ? -ENOPROTOOPT : code;
    }
}

int64_t th_os_socket_get(int fd, th_os_option option) {
    int value;
    if (refuse(fd)) {
        return -ENOTSOCK;
    }
    if (option == TH_OS_RESET) {
        struct linger linger = {0};
        const int code = get(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
        return code ? code : linger.l_onoff && !linger.l_linger;
    }
    if (option == TH_OS_REUSE_ADDRESS || option == TH_OS_REUSE_PORT) {
        return option == TH_OS_REUSE_ADDRESS;
    }
    int code = get_int(fd, names[option].level, names[option].option, &value);
    if (!code && option == TH_OS_KEEP_ALIVE && value) {
        code = get_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, &value);
        return code ? code : value * SECOND;
    }
    return code ? code : value;
}
