/*
 * kind.c: finding the kind of a descriptor.
 */
#include "platform/windows/winsock/winsock.h"

#include <errno.h>

#include "platform/windows/winsock/own.h"

int th_os_socket_what(int fd, th_os_family *family, th_os_style *style) {
    WSAPROTOCOL_INFOW info = {0};
    *family = TH_OS_UNNAMED;
    *style = TH_OS_BYTES;
    int size = sizeof info;
    if (!th_is_socket(fd) || th_own_is_watcher(fd)) {
        return -ENOTSOCK;
    }
    TH_KEEPS_ERRNO;
    const int failed =
        getsockopt(th_socket_of(fd), SOL_SOCKET, SO_PROTOCOL_INFOW, (char *)&info, &size);
    const int code = failed ? th_winsock_code() : 0;
    *family = info.iAddressFamily == AF_INET    ? TH_OS_IPV4
              : info.iAddressFamily == AF_INET6 ? TH_OS_IPV6
              : info.iAddressFamily == AF_UNIX  ? TH_OS_LOCAL
                                                : TH_OS_UNNAMED;
    *style = info.iSocketType == SOCK_STREAM  ? TH_OS_BYTES
             : info.iSocketType == SOCK_DGRAM ? TH_OS_DATAGRAMS
                                              : TH_OS_PACKETS;
    return code;
}

static th_os_kind kind_of_socket(int fd) {
    int type = 0;
    int size = sizeof type;
    th_os_family family;
    th_os_style style;
    getsockopt(th_socket_of(fd), SOL_SOCKET, SO_TYPE, (char *)&type, &size);
    if (type != SOCK_STREAM) {
        return TH_OS_DATAGRAM;
    }
    return !th_os_socket_what(fd, &family, &style) && family == TH_OS_LOCAL ? TH_OS_STREAM
                                                                            : TH_OS_TCP;
}

static int kind_of(int fd, th_os_kind *kind, th_os_identity *identity) {
    u_long on = 1;
    DWORD flags;
    bool reads;
    SOCKET signal;
    BY_HANDLE_FILE_INFORMATION info;
    if (th_own_is_watcher(fd)) {
        *identity = (th_os_identity){4, (uint64_t)fd};
        *kind = TH_OS_OTHER;
        return 0;
    }
    if (th_is_socket(fd)) {
        /* Windows reports nothing else about a socket */
        *identity = (th_os_identity){1, (uint64_t)fd};
        *kind = kind_of_socket(fd);
        return ioctlsocket(th_socket_of(fd), (long)FIONBIO, &on) ? th_winsock_code() : 0;
    }
    if (th_pipe_signal(fd, &reads, &signal)) {
        *identity = (th_os_identity){3, (uint64_t)fd};
        *kind = TH_OS_PIPE;
        return 0;
    }
    if (!GetHandleInformation(th_nt_handle(fd), &flags)) {
        return -EBADF;
    }
    *identity = (th_os_identity){2, (uint64_t)fd};
    *kind = TH_OS_FILE;
    if (GetFileType(th_nt_handle(fd)) == FILE_TYPE_DISK &&
        GetFileInformationByHandle(th_nt_handle(fd), &info)) {
        *identity = (th_os_identity){(uint64_t)info.dwVolumeSerialNumber << 8,
                                     (uint64_t)info.nFileIndexHigh << 32 | info.nFileIndexLow};
    }
    return -EPERM;
}

int th_os_io_kind(int fd, th_os_kind *kind, th_os_identity *identity) {
    TH_KEEPS_ERRNO;
    return kind_of(fd, kind, identity);
}
