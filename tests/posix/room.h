/*
 * room.h: a part of support/io/io.h and support/io/streams.h: when there is no room for bytes
 * (windows/room.h has the same for Windows).
 */
#ifndef POSIX_ROOM_H
#define POSIX_ROOM_H

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/ioctl.h>

#ifndef SIOCOUTQNSD /* in <linux/sockios.h>, which not every C library finds */
#define SIOCOUTQNSD 0x894B
#endif

/*
 * What the peer still takes, which TCP sends after a while, though it is less than a segment; 0
 * where the system does not tell (Linux before 5.4).
 */
CHECK_UNUSED static uint32_t window_left(int fd) {
    enum { SND_WND = 228 }; /* where tcpi_snd_wnd is in linux/tcp.h, which netinet/tcp.h lacks */
    unsigned char info[SND_WND + sizeof(uint32_t)] = {0};
    socklen_t size = sizeof info;
    uint32_t window = 0;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, info, &size) == 0 && size == sizeof info) {
        memcpy(&window, info + SND_WND, sizeof window);
    }
    return window;
}

/* The other ends of terminals, by their descriptors; 0: not known. */
static int room_terminals[1024];

/*
 * Whether a thread of the system's is still to take bytes from the terminal to its other end, which
 * holds 4,095: that makes room behind our back.
 */
CHECK_UNUSED static bool room_moves_bytes(int fd) {
    int there = 0;
    return fd < 1024 && room_terminals[fd] && isatty(fd) &&
           ioctl(room_terminals[fd], FIONREAD, &there) == 0 && there < 4095;
}

/*
 * Whether the system is about to make room: TCP while something that was sent is not acknowledged,
 * or can still be sent; a terminal while bytes move. Other terminals get a while, and so do these
 * where the system is not the one that is known, or is not quite done.
 */
CHECK_UNUSED static bool makes_room(int fd) {
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    int queued, unsent;
    if (ioctl(fd, SIOCOUTQNSD, &unsent) == 0 && ioctl(fd, TIOCOUTQ, &queued) == 0 &&
        (queued != unsent || window_left(fd) != 0)) {
        sched_yield();
        return true;
    }
    for (int i = 0; i < 100 && room_moves_bytes(fd); i++) {
        if (poll(&p, 1, 10) > 0) {
            return true;
        }
    }
    return poll(&p, 1, 10) > 0;
}

#endif
