/*
 * reading.c: see reading.h.
 */
#define _GNU_SOURCE 1
#include "reading.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int reading_open(const struct dir *dir, const char *name, off_t *size) {
    int fd = dir_open_file(dir, name);
    if (fd < 0) {
        return fd;
    }
    struct stat status;
    int err = fstat(fd, &status) != 0 ? errno : S_ISREG(status.st_mode) ? 0 : TREE_NOT_REGULAR;
    if (err != 0) {
        close(fd);
        return -err;
    }
    *size = status.st_size;
    return fd;
}

ssize_t reading_fill(int fd, void *buffer, size_t size, off_t expected) {
    size_t filled = 0;
    while (filled < size) {
        ssize_t got = read(fd, (char *)buffer + filled, size - filled);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got < 0) {
            return -errno;
        }
        filled += (size_t)got;
        if (got == 0 || (filled < size && (off_t)filled == expected)) {
            break;
        }
    }
    return (ssize_t)filled;
}
