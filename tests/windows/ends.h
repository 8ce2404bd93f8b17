/*
 * ends.h: a part of support/io.h: what differs of descriptors. All ends are those of connections;
 * tests that want more of a pipe or a terminal are in tests/windows/skipped.
 */
#ifndef WINDOWS_ENDS_H
#define WINDOWS_ENDS_H

CHECK_UNUSED static void pair_pty(int fds[2]) {
    CHECK_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
}

/*
 * Whether the system is about to make room, of which it tells nothing: it gets a while, so long
 * that TCP has sent what is less than a segment.
 */
static bool makes_room(int fd) {
    enum { A_WHILE = 300 };
    struct pollfd p = {.fd = (SOCKET)fd, .events = POLLOUT};
    return poll(&p, 1, A_WHILE) > 0;
}

/* How many sockets the process has, without the library's wake-ups, which it keeps for later. */
CHECK_UNUSED static int fds_in_use(void) {
    return unix_sockets();
}

#endif
