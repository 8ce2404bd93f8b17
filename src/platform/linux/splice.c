/*
 * splice.c: moving bytes from one descriptor to another, and looking at them before.
 */
#define _GNU_SOURCE
#include "platform/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "platform/faults.h"
#include "platform/linux/interrupted.h"

int64_t th_os_io_peek(int fd, void *to, size_t size) {
    if (th_os_fails(TH_OS_FAULT_READ)) {
        return -ENOBUFS;
    }
    return RETRY(recv(fd, to, size, MSG_PEEK | MSG_DONTWAIT));
}

int64_t th_os_io_skip(int fd, th_os_kind kind, void *memory, size_t n) {
    /* TCP drops them without a copy; other sockets do not know of that. */
    const int drop = kind == TH_OS_TCP ? MSG_TRUNC : 0;
    size_t done = 0;
    int64_t got = 1;
    while (done < n && got > 0) {
        got = RETRY(recv(fd, memory, n - done, MSG_DONTWAIT | drop));
        done += got > 0 ? (size_t)got : 0;
    }
    return got < 0 ? got : (int64_t)done;
}

int th_os_io_unread(int fd, size_t n) {
    if (th_os_fails(TH_OS_FAULT_UNREAD)) {
        return -ESPIPE;
    }
    int saved = th_os_errno_get();
    int code = lseek(fd, -(off_t)n, SEEK_CUR) < 0 ? -th_os_errno_get() : 0;
    th_os_errno_set(saved);
    return code;
}

int64_t th_os_io_splice(int from, int to, size_t n) {
    if (th_os_fails(TH_OS_FAULT_SPLICE)) {
        return -EINVAL;
    }
    masked m;
    mask_begin(&m);
    int64_t result = RETRY(splice(from, NULL, to, NULL, n, SPLICE_F_MOVE | SPLICE_F_NONBLOCK));
    mask_end(&m, result == -EPIPE);
    return result;
}
