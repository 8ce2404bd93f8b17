/*
 * ends.h: a part of support/io/io.h: what differs of descriptors where the system is Linux
 * or another Unix (windows/ends.h has the same for Windows).
 */
#ifndef POSIX_ENDS_H
#define POSIX_ENDS_H

#include <sys/eventfd.h>

#include "posix/room.h"

/* How much of something is tried: where calls on descriptors are dear, less of it. */
#define BY_COST(n_, n_dear_) (n_)

CHECK_UNUSED static void pair_pty(int fds[2]) {
    fds[1] = posix_openpt(O_RDWR | O_NOCTTY);
    CHECK(fds[1] >= 0);
    CHECK_EQ(grantpt(fds[1]), 0);
    CHECK_EQ(unlockpt(fds[1]), 0);
    fds[0] = open(ptsname(fds[1]), O_RDWR | O_NOCTTY);
    CHECK(fds[0] >= 0 && fds[0] < 1024);
    room_terminals[fds[0]] = fds[1];
}

/* A pipe; only the end `own` is to be taken over. */
CHECK_UNUSED static void pair_pipe(int fds[2], unsigned own) {
    (void)own;
    CHECK_EQ(pipe(fds), 0);
}

/* Moves it to a number that no thread gets once it is free: new ones get the lowest number. */
CHECK_UNUSED static int moved_up(int fd) {
    const int high = fcntl(fd, F_DUPFD, 700);
    CHECK(high >= 0);
    CHECK_EQ(close(fd), 0);
    return high;
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
