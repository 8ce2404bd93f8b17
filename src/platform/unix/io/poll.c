/*
 * poll.c: waiting for descriptors without a set.
 */
#include "platform/unix/io/polled.h"

#include <errno.h>

#include "platform/unix/io/edge.h"

#ifndef POLLRDHUP
#define POLLRDHUP 0 /* POSIX reports the peer's end like bytes */
#endif

static uint32_t ready_of(short revents) {
    uint32_t got = revents & POLLIN ? TH_OS_IN : 0;
    got |= revents & POLLOUT ? TH_OS_OUT : 0;
    got |= revents & POLLRDHUP ? TH_OS_IN | TH_OS_ODD : 0;
    got |= revents & (POLLHUP | POLLERR | POLLNVAL) ? TH_OS_IN | TH_OS_OUT | TH_OS_ODD : 0;
    return got;
}

/* Waits for n descriptors and, behind them, the wake-up: 0 if any is ready, or a code. */
static int poll_until(th_pollfd fds[], unsigned n, int wakeup, int64_t deadline) {
    fds[n] = (th_pollfd){.fd = wakeup, .events = POLLIN}; /* the system skips -1 */
    TH_KEEPS_ERRNO;
    return th_system_poll(fds, n + 1, deadline) < 0 ? -th_os_errno_get() : 0;
}

static th_pollfd asked_of(int fd, uint32_t bits) {
    return (th_pollfd){.fd = fd,
                       .events = (short)((bits & TH_OS_IN ? POLLIN | POLLRDHUP : 0) |
                                         (bits & TH_OS_OUT ? POLLOUT : 0))};
}

/*
 * Notes bits that were polled for and are not ready in the sets. Ready bits they know, or will
 * get.
 */
static void tried(int fd, uint32_t bits, uint32_t ready) {
    if (bits & ~ready) {
        (void)th_tried(fd, bits & ~ready, 0);
    }
}

int th_os_io_poll(int fd, unsigned bits, int wakeup, int64_t deadline) {
    th_pollfd fds[2] = {asked_of(fd, bits)};
    int code = poll_until(fds, 1, wakeup, deadline);
    const uint32_t ready = code ? 0 : ready_of(fds[0].revents);
    tried(fd, bits, ready);
    return code ? code : fds[0].revents & POLLNVAL ? -EBADF : (int)ready;
}

int th_os_io_poll_any(th_os_polled polled[], unsigned n, int wakeup, int64_t deadline) {
    th_pollfd fds[TH_OS_POLLED_MAX + 1];
    for (unsigned i = 0; i < n; i++) {
        fds[i] = asked_of(polled[i].fd, polled[i].bits);
    }
    int code = poll_until(fds, n, wakeup, deadline);
    int found = 0;
    for (unsigned i = 0; i < n; i++) {
        polled[i].ready = code ? 0 : ready_of(fds[i].revents);
        found += polled[i].ready != 0;
        tried(polled[i].fd, polled[i].bits, polled[i].ready);
    }
    return code ? code : found;
}
