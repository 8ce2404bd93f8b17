/*
 * ends.h: a part of support/io.h: what differs of descriptors where the system is Linux or another
 * Unix (windows/ends.h has the same for Windows).
 */
#ifndef POSIX_ENDS_H
#define POSIX_ENDS_H

#include <sys/eventfd.h>
#include <sys/ioctl.h>

#ifndef SIOCOUTQNSD /* in <linux/sockios.h>, which not every C library finds */
#define SIOCOUTQNSD 0x894B
#endif

CHECK_UNUSED static void pair_pty(int fds[2]) {
    fds[1] = posix_openpt(O_RDWR | O_NOCTTY);
    CHECK(fds[1] >= 0);
    CHECK_EQ(grantpt(fds[1]), 0);
    CHECK_EQ(unlockpt(fds[1]), 0);
    fds[0] = open(ptsname(fds[1]), O_RDWR | O_NOCTTY);
    CHECK(fds[0] >= 0);
}

/*
 * What the peer still takes, which TCP sends after a while, though it is less than a segment; 0
 * where the system does not tell (Linux before 5.4).
 */
static uint32_t window_left(int fd) {
    enum { SND_WND = 228 }; /* where tcpi_snd_wnd is in linux/tcp.h, which netinet/tcp.h lacks */
    unsigned char info[SND_WND + sizeof(uint32_t)] = {0};
    socklen_t size = sizeof info;
    uint32_t window = 0;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &size) == 0 && size == sizeof info) {
        memcpy(&window, info + SND_WND, sizeof window);
    }
    return window;
}

/*
 * Whether the system is about to make room: TCP while something that was sent is not acknowledged,
 * or can still be sent; of others (terminals) it tells nothing, so they get a while.
 */
static bool makes_room(int fd) {
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    int queued, unsent;
    if (ioctl(fd, SIOCOUTQNSD, &unsent) == 0 && ioctl(fd, TIOCOUTQ, &queued) == 0 &&
        (queued != unsent || window_left(fd) != 0)) {
        sched_yield();
        return true;
    }
    return poll(&p, 1, 10) > 0;
}

/* How many descriptors the process has. */
CHECK_UNUSED static int fds_in_use(void) {
    int n = 0;
    for (int fd = 0; fd < 512; fd++) {
        n += fcntl(fd, F_GETFD) >= 0;
    }
    return n;
}

#endif
