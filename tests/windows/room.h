/*
 * room.h: a part of support/io/io.h and support/io/streams.h: when there is no room for bytes.
 */
#ifndef WINDOWS_ROOM_H
#define WINDOWS_ROOM_H

/*
 * Whether the system is about to make room, of which it tells nothing: it gets a while, so long
 * that TCP has sent what is less than a segment.
 */
CHECK_UNUSED static bool makes_room(int fd) {
    enum { A_WHILE = 300 };
    struct pollfd p = {.fd = (SOCKET)fd, .events = POLLOUT};
    return poll(&p, 1, A_WHILE) > 0;
}

#endif
