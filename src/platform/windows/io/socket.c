/*
 * socket.c: making sockets, and setting and reading their options.
 */
#include "platform/windows/winsock/winsock.h"

#include <errno.h>

#include "platform/faults.h"
#include "platform/unix/io/options.h"
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

static int th_option_write(int fd, int level, int option, const void *from, unsigned size) {
    return CODE(setsockopt(th_socket_of(fd), level, option, from, (int)size));
}

static int th_option_read(int fd, int level, int option, void *to, unsigned bytes) {
    int size = (int)bytes;
    return CODE(getsockopt(th_socket_of(fd), level, option, to, &size));
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
    const int alone =
        family == TH_OS_LOCAL ? 0 : th_option_set_int(fd, SOL_SOCKET, SO_EXCLUSIVEADDRUSE, 1);
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
    int code = th_option_get_int(fd, SOL_SOCKET, SO_ACCEPTCONN, &value);
    if (code || value) {
        return code;
    }
    code = th_option_get_int(fd, SOL_SOCKET, SO_TYPE, &value);
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
    const int code = th_option_get_int(fd, SOL_SOCKET, SO_ERROR, &error);
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

/*
 * SO_REUSEADDR means there that several sockets may have one address at a time, and each may take
 * another one's data. Its Unix meaning, a port whose old connections are over and still linger,
 * Windows grants anyway.
 */
int th_os_socket_set(int fd, th_os_option option, int64_t value) {
    if (refuse(fd)) {
        return -ENOTSOCK;
    }
    if (option == TH_OS_REUSE_ADDRESS || option == TH_OS_REUSE_PORT) {
        return option == TH_OS_REUSE_PORT && value ? -EOPNOTSUPP : 0;
    }
    const int code = th_option_set(fd, option, value);
    /* Wine's word for it that datagrams have no such option. */
    return code == -EINVAL && option == TH_OS_NO_DELAY ? -ENOPROTOOPT : code;
}

int64_t th_os_socket_get(int fd, th_os_option option) {
    if (refuse(fd)) {
        return -ENOTSOCK;
    }
    if (option == TH_OS_REUSE_ADDRESS || option == TH_OS_REUSE_PORT) {
        return option == TH_OS_REUSE_ADDRESS;
    }
    return th_option_get(fd, option);
}
