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
#include "platform/unix/interrupted.h"

int th_os_record_open(const char *path) {
    (void)RETRY(unlink(path)); /* left by an earlier process, or put there by somebody */
    return (int)RETRY(open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
}

bool th_os_record_write(int fd, const char *bytes, size_t length) {
    while (length > 0) {
        int64_t n = RETRY(write(fd, bytes, length));
        if (n <= 0) {
            return false;
        }
        bytes += n;
        length -= (size_t)n;
    }
    return true;
}

bool th_os_record_close(int fd, const char *path, const char *to) {
    TH_KEEPS_ERRNO;
    bool done = close(fd) == 0;
    struct stat there;
    if (to && lstat(to, &there) == 0 && !S_ISREG(there.st_mode)) {
        to = NULL; /* a device, a link: not to be replaced */
    }
    if (!to || rename(path, to) != 0) {
        unlink(path);
        done = false;
    }
    return done;
}
