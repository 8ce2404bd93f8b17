/*
 * ready.h: waiting until something has come: on a network that is a moment after it was sent, also
 * within one machine.
 */
#ifndef READY_H
#define READY_H

#include <poll.h>

#include "check.h"

/* Whether something can be read, or accepted, within so many ms; -1: without a limit. */
CHECK_UNUSED static bool is_readable_within(int fd, int ms) {
    struct pollfd p = {.events = POLLIN};
    p.fd = (__typeof__(p.fd))fd;
    return poll(&p, 1, ms) > 0;
}

CHECK_UNUSED static void await_readable(int fd) {
    while (!is_readable_within(fd, -1)) { /* a signal has ended it */
    }
}

#endif
