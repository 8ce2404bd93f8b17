/*
 * socket.c: making sockets, and setting and reading their options.
 */
#include "platform/unix/system.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "platform/faults.h"
#include "platform/unix/io/socket.h"

#ifndef SO_REUSEPORT
#define SO_REUSEPORT (-1) /* refused by the system, as any option that it does not know */
#endif

/* A call's result, or its code; errno is as before the call. */
#define CODE(call_)                                                                                \
    ({                                                                                             \
        int saved_ = th_os_errno_get();                                                            \
        int n_ = (call_);                                                                          \
        n_ = n_ < 0 ? -th_os_errno_get() : n_;                                                     \
        th_os_errno_set(saved_);                                                                   \
        n_;                                                                                        \
    })

static const struct sockaddr *system_of(const th_os_address *address) {
    return (const struct sockaddr *)(const void *)address->words;
}

/* ---- making them ---- */

int th_os_socket_open(th_os_family family, th_os_style style) {
    static const int domains[] = {AF_UNSPEC, AF_INET, AF_INET6, AF_UNIX};
    static const int types[] = {SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET};
    TH_OS_MAY_FAIL(TH_OS_FAULT_SOCKET, -EMFILE);
    return CODE(socket(domains[family], types[style] | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

int th_socket_domain(int fd, int *domain) {
#ifdef SO_DOMAIN
    socklen_t size = sizeof *domain;
    return getsockopt(fd, SOL_SOCKET, SO_DOMAIN, domain, &size);
#else
    struct sockaddr_storage own;
    socklen_t size = sizeof own;
    const int code = getsockname(fd, (struct sockaddr *)(void *)&own, &size);
    *domain = code ? *domain : own.ss_family;
    return code;
#endif
}

int th_os_socket_what(int fd, th_os_family *family, th_os_style *style) {
    int type = 0;
    int domain = 0;
    socklen_t size = sizeof type;
    int code = CODE(getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size));
    code = code ? code : CODE(th_socket_domain(fd, &domain));
    *family = domain == AF_INET    ? TH_OS_IPV4
              : domain == AF_INET6 ? TH_OS_IPV6
              : domain == AF_UNIX  ? TH_OS_LOCAL
                                   : TH_OS_UNNAMED;
    *style = type == SOCK_STREAM  ? TH_OS_BYTES
             : type == SOCK_DGRAM ? TH_OS_DATAGRAMS
                                  : TH_OS_PACKETS;
    return code;
}

int th_os_socket_bind(int fd, const th_os_address *address) {
    TH_OS_MAY_FAIL(TH_OS_FAULT_BIND, -ENOMEM);
    return CODE(bind(fd, system_of(address), address->size));
}

int th_os_socket_listen(int fd, int backlog) {
    return CODE(listen(fd, backlog > 0 ? backlog : SOMAXCONN));
}

int th_os_socket_waits(int fd) {
    int value = 0;
    socklen_t size = sizeof value;
    int code = CODE(getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &value, &size));
    if (code || value) {
        return code;
    }
    struct sockaddr_storage peer;
    size = sizeof value;
    code = CODE(getsockopt(fd, SOL_SOCKET, SO_TYPE, &value, &size));
    size = sizeof peer;
    const bool alone = value == SOCK_DGRAM &&
                       CODE(getpeername(fd, (struct sockaddr *)(void *)&peer, &size)) == -ENOTCONN;
    return code ? code : alone ? 0 : -EOPNOTSUPP;
}

int th_os_socket_connect(int fd, const th_os_address *address) {
    TH_OS_MAY_FAIL(TH_OS_FAULT_CONNECT, -ENOBUFS);
    int code = CODE(connect(fd, system_of(address), address->size));
    return code == -EINTR ? -EINPROGRESS : code;
}

int th_os_socket_error(int fd) {
    int error = 0;
    socklen_t size = sizeof error;
    int code = CODE(getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size));
    return code ? code : -error;
}

typedef int (*name_fn)(int fd, struct sockaddr *address, socklen_t *size);

static int name_of(name_fn call, int fd, th_os_address *out) {
    *out = (th_os_address){0};
    socklen_t size = sizeof out->words;
    int code = CODE(call(fd, (struct sockaddr *)(void *)out->words, &size));
    out->size = code ? 0 : size < sizeof out->words ? size : (uint32_t)sizeof out->words;
    return code;
}

int th_os_socket_local(int fd, th_os_address *out) {
    return name_of(getsockname, fd, out);
}

int th_os_socket_peer(int fd, th_os_address *out) {
    return name_of(getpeername, fd, out);
}

/* ---- the files of UNIX sockets ---- */

/* The path of an address; false: it has none. */
static bool path_of(const th_os_address *address, char path[sizeof(struct sockaddr_un)]) {
    const size_t at = offsetof(struct sockaddr_un, sun_path);
    bool has = th_os_address_family(address) == TH_OS_LOCAL && address->size > at;
    if (has) {
        memcpy(path, (const char *)address->words + at, address->size - at);
        path[address->size - at] = 0;
    }
    return has && path[0];
}

int th_os_socket_mode(int fd, unsigned mode) {
    return CODE(fchmod(fd, (mode_t)mode));
}

int th_os_local_mode(const th_os_address *address, unsigned mode) {
    char path[sizeof(struct sockaddr_un)];
    return path_of(address, path) ? CODE(chmod(path, (mode_t)mode)) : 0;
}

int th_os_local_remove(const th_os_address *address) {
    char path[sizeof(struct sockaddr_un)];
    struct stat status;
    if (!path_of(address, path)) {
        return 0;
    }
    int code = CODE(lstat(path, &status));
    if (!code && !S_ISSOCK(status.st_mode)) {
        code = -ENOTSOCK;
    }
    return code ? code : CODE(unlink(path));
}

/* ---- options ---- */

typedef struct name {
    int level;
    int option;
} name;

static const name names[TH_OS_OPTIONS] = {
    [TH_OS_REUSE_ADDRESS] = {SOL_SOCKET, SO_REUSEADDR},
    [TH_OS_REUSE_PORT] = {SOL_SOCKET, SO_REUSEPORT},
    [TH_OS_IPV6_ONLY] = {IPPROTO_IPV6, IPV6_V6ONLY},
    [TH_OS_NO_DELAY] = {IPPROTO_TCP, TCP_NODELAY},
    [TH_OS_KEEP_ALIVE] = {SOL_SOCKET, SO_KEEPALIVE},
    [TH_OS_RECEIVE_BUFFER] = {SOL_SOCKET, SO_RCVBUF},
    [TH_OS_SEND_BUFFER] = {SOL_SOCKET, SO_SNDBUF},
    [TH_OS_BROADCAST] = {SOL_SOCKET, SO_BROADCAST},
    [TH_OS_RESET] = {SOL_SOCKET, SO_LINGER},
};

#define SECOND INT64_C(1000000000)

#define SECONDS_MAX 32767 /* between two questions; Linux refuses more */

/* Nanoseconds in whole seconds, rounded up. */
static int seconds_of(int64_t ns) {
    return ns >= SECONDS_MAX * SECOND ? SECONDS_MAX : (int)(ns / SECOND + (ns % SECOND > 0));
}

static int set_int(int fd, int level, int option, int value) {
    return CODE(setsockopt(fd, level, option, &value, sizeof value));
}

/* No other length: a close would hold its thread up for so long. */
static int set_reset(int fd, bool on) {
    const struct linger linger = {.l_onoff = on};
    return CODE(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger));
}

int th_os_socket_set(int fd, th_os_option option, int64_t value) {
    if (option == TH_OS_RESET) {
        return set_reset(fd, value != 0);
    }
    int number = value > INT32_MAX ? INT32_MAX : (int)value;
    if (option == TH_OS_KEEP_ALIVE) {
        number = value > 0;
        if (number) {
            int code = set_int(fd, IPPROTO_TCP, TCP_KEEPIDLE, seconds_of(value));
            code = code ? code : set_int(fd, IPPROTO_TCP, TCP_KEEPINTVL, seconds_of(value));
            if (code) {
                return code;
            }
        }
    }
    return set_int(fd, names[option].level, names[option].option, number);
}

int64_t th_os_socket_get(int fd, th_os_option option) {
    int value = 0;
    socklen_t size = sizeof value;
    if (option == TH_OS_RESET) {
        struct linger linger = {0};
        size = sizeof linger;
        int code = CODE(getsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, &size));
        return code ? code : linger.l_onoff && !linger.l_linger;
    }
    int code = CODE(getsockopt(fd, names[option].level, names[option].option, &value, &size));
    if (!code && option == TH_OS_KEEP_ALIVE && value) {
        size = sizeof value;
        code = CODE(getsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &value, &size));
        return code ? code : value * SECOND;
    }
    return code ? code : value;
}
