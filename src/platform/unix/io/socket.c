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
#include "platform/unix/io/options.h"
#include "platform/unix/io/socket.h"

/* A call's result, or its code; errno is as before the call. */
#define CODE(call_)                                                                                \
    ({                                                                                             \
        int saved_ = th_os_errno_get();                                                            \
        int n_ = (call_);                                                                          \
        n_ = n_ < 0 ? -th_os_errno_get() : n_;                                                     \
        th_os_errno_set(saved_);                                                                   \
        n_;                                                                                        \
    })

static int th_option_write(int fd, int level, int option, const void *from, unsigned size) {
    return CODE(setsockopt(fd, level, option, from, size));
}

static int th_option_read(int fd, int level, int option, void *to, socklen_t size) {
    return CODE(getsockopt(fd, level, option, to, &size));
}

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
    int type;
    int domain = 0;
    int code = th_option_get_int(fd, SOL_SOCKET, SO_TYPE, &type);
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
    int value;
    th_os_address peer;
    int code = th_option_get_int(fd, SOL_SOCKET, SO_ACCEPTCONN, &value);
    if (code || value) {
        return code;
    }
    code = th_option_get_int(fd, SOL_SOCKET, SO_TYPE, &value);
    const bool alone = value == SOCK_DGRAM && th_os_socket_peer(fd, &peer) == -ENOTCONN;
    return code ? code : alone ? 0 : -EOPNOTSUPP;
}

int th_os_socket_connect(int fd, const th_os_address *address) {
    TH_OS_MAY_FAIL(TH_OS_FAULT_CONNECT, -ENOBUFS);
    int code = CODE(connect(fd, system_of(address), address->size));
    return code == -EINTR ? -EINPROGRESS : code;
}

int th_os_socket_error(int fd) {
    int error;
    int code = th_option_get_int(fd, SOL_SOCKET, SO_ERROR, &error);
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

int th_os_socket_set(int fd, th_os_option option, int64_t value) {
    return th_option_set(fd, option, value);
}

int64_t th_os_socket_get(int fd, th_os_option option) {
    return th_option_get(fd, option);
}
