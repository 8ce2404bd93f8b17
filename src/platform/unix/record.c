/*
 * record.c: files that are written for later, also by the handler of a crash: system calls that are
 * async-signal-safe, and nothing else.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/platform.h"

int th_os_record_open(const char *path) {
    int saved = th_os_errno_get();
    (void)unlink(path); /* left by an earlier process, or put there by somebody */
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    int code = fd < 0 ? -th_os_errno_get() : fd;
    th_os_errno_set(saved);
    return code;
}

bool th_os_record_write(int fd, const char *bytes, size_t length) {
    int saved = th_os_errno_get();
    while (length > 0) {
        ssize_t n = write(fd, bytes, length);
        if (n < 0 && th_os_errno_get() == EINTR) {
            continue;
        }
        if (n <= 0) {
            break;
        }
        bytes += n;
        length -= (size_t)n;
    }
    th_os_errno_set(saved);
    return length == 0;
}

bool th_os_record_close(int fd, const char *path, const char *to) {
    int saved = th_os_errno_get();
    bool done = close(fd) == 0;
    struct stat there;
    if (to && lstat(to, &there) == 0 && !S_ISREG(there.st_mode)) {
        to = NULL; /* a device, a link: not to be replaced */
    }
    if (!to || rename(path, to) != 0) {
        unlink(path);
        done = false;
    }
    th_os_errno_set(saved);
    return done;
}
