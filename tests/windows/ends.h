/*
 * ends.h: a part of support/io/io.h: what differs of descriptors. Most ends are those of
 * connections; tests that want more of a pipe or a terminal are in tests/windows/skipped.
 */
#ifndef WINDOWS_ENDS_H
#define WINDOWS_ENDS_H

#include "windows/room.h"

/* How much of something is tried: under wine each call asks another process. */
#define BY_COST(n_, n_dear_) (n_dear_)

CHECK_UNUSED static void pair_pty(int fds[2]) {
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
}

/* A pipe that is one, since the library has made it; only the end `own` is to be taken over. */
CHECK_UNUSED static void pair_pipe(int fds[2], unsigned own) {
    CHECK_EQ(th_os_pipe(fds, 1 - own), 0);
}

/* No number can be wished for here. */
CHECK_UNUSED static int moved_up(int fd) {
    return fd;
}

/* How many sockets the process has, without the library's wake-ups, which it keeps for later. */
CHECK_UNUSED static int fds_in_use(void) {
    return unix_sockets();
}

#endif
