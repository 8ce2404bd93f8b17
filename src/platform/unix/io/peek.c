/*
 * peek.c: looking at bytes before they are taken, and giving them back.
 */
#include "platform/unix/system.h"

#include <errno.h>
#include <sys/socket.h>
#include <unistd.h>

#include "platform/faults.h"
#include "platform/unix/io/edge.h"
#include "platform/unix/interrupted.h"

#ifdef __linux__
#define DROPS MSG_TRUNC
#else
#define DROPS 0
#endif

int64_t th_os_io_peek(int fd, void *to, size_t size) {
    TH_OS_MAY_FAIL(TH_OS_FAULT_READ, -ENOBUFS);
    return th_tried(fd, TH_OS_IN, RETRY(recv(fd, to, size, MSG_PEEK | MSG_DONTWAIT)));
}

int64_t th_os_io_skip(int fd, th_os_kind kind, void *memory, size_t n) {
    /* Linux drops those of TCP without a copy; other sockets do not know of that. */
    const int drop = kind == TH_OS_TCP ? DROPS : 0;
    size_t done = 0;
    int64_t got = 1;
    while (done < n && got > 0) {
        got = RETRY(recv(fd, memory, n - done, MSG_DONTWAIT | drop));
        done += got > 0 ? (size_t)got : 0;
    }
    return th_tried(fd, TH_OS_IN, got < 0 ? got : (int64_t)done);
}

int th_os_io_unread(int fd, size_t n) {
    TH_OS_MAY_FAIL(TH_OS_FAULT_UNREAD, -ESPIPE);
    TH_KEEPS_ERRNO;
    return lseek(fd, -(off_t)n, SEEK_CUR) < 0 ? -th_os_errno_get() : 0;
}
