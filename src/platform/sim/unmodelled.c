/*
 * unmodelled.c: calls that no world makes: on descriptors that other processes share.
 */
#include <errno.h>

#include "platform/platform.h"

int th_os_io_reopen(int fd) {
    (void)fd;
    return -EOPNOTSUPP;
}

int th_os_io_duplicate(int fd) {
    (void)fd;
    return -EMFILE;
}

int64_t th_os_io_readv_shared(int fd, th_os_kind kind, const th_os_part parts[], unsigned n) {
    return th_os_io_readv(fd, kind, parts, n);
}

int64_t th_os_io_writev_shared(int fd, th_os_kind kind, const th_os_part parts[], unsigned n) {
    return th_os_io_writev(fd, kind, parts, n);
}

int64_t th_os_io_readv_cached(int fd, const th_os_part parts[], unsigned n) {
    (void)fd;
    (void)parts;
    (void)n;
    return -EOPNOTSUPP;
}
