/*
 * above.h: the library's own descriptors stay clear of 0, 1 and 2: in a program that was started
 * without them, its output would go into a wake-up.
 */
#ifndef TH_UNIX_ABOVE_H
#define TH_UNIX_ABOVE_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "platform/platform.h"

/*
 * Takes the result of a call that makes a descriptor: its number, or -1 with errno. Returns a
 * number above those, or a code. Leaves errno changed.
 */
static inline int above_standard(int fd) {
    if (fd < 0) {
        return -th_os_errno_get();
    }
    if (fd > STDERR_FILENO) {
        return fd;
    }
    const int above = fcntl(fd, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int code = above < 0 ? -th_os_errno_get() : above;
    close(fd);
    return code;
}

#endif
