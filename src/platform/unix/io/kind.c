/*
 * kind.c: finding the kind of a descriptor.
 */
#include "platform/unix/system.h"

#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "platform/unix/io/socket.h"

static th_os_kind kind_of_socket(int fd) {
    int type = 0;
    int domain = 0;
    socklen_t size = sizeof type;
    getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &size);
    (void)th_socket_domain(fd, &domain);
    if (type != SOCK_STREAM) {
        return TH_OS_DATAGRAM;
    }
    return domain == AF_INET || domain == AF_INET6 ? TH_OS_TCP : TH_OS_STREAM;
}

int th_os_io_kind(int fd, th_os_kind *kind, th_os_identity *identity) {
    struct stat status;
    TH_KEEPS_ERRNO;
    int code = fstat(fd, &status) < 0 ? -th_os_errno_get() : 0;
    if (!code) {
        *identity = (th_os_identity){(uint64_t)status.st_dev, (uint64_t)status.st_ino};
        switch (status.st_mode & S_IFMT) {
        case S_IFSOCK:
            *kind = kind_of_socket(fd);
            break;
        case S_IFIFO:
            *kind = TH_OS_PIPE;
            break;
        case S_IFREG:
        case S_IFDIR:
        case S_IFBLK:
            *kind = TH_OS_FILE;
            code = -EPERM;
            break;
        default:
            *kind = TH_OS_OTHER;
            break;
        }
    }
    return code;
}
