/*
 * plain.h: pipes and accepted connections by the oldest calls. A new descriptor is set to be closed
 * on exec by a second call: a program that another part of the process starts between the two
 * inherits it.
 */
#ifndef TH_UNIX_PLAIN_H
#define TH_UNIX_PLAIN_H

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

/* Takes the result of pipe. */
static inline int th_plain_pipe(int code, const int ends[2]) {
    if (code == 0) {
        (void)fcntl(ends[0], F_SETFD, FD_CLOEXEC);
        (void)fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    }
    return code;
}

static inline int th_plain_accept(int fd) {
    const int taken = accept(fd, NULL, NULL);
    if (taken >= 0) {
        (void)fcntl(taken, F_SETFD, FD_CLOEXEC);
        (void)fcntl(taken, F_SETFL, O_NONBLOCK);
    }
    return taken;
}

#endif
