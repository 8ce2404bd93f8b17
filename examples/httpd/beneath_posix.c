/*
 * beneath_posix.c: see beneath.h.
 */
#define _GNU_SOURCE 1
#include "beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The last name: without waiting for a writer, should it be a pipe. */
enum { LAST = O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY };
enum { STEP = O_PATH | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW };

/* Opens the name of `length` bytes that `path` begins with. */
static int open_name(int at, const char *path, size_t length, int flags) {
    char name[NAME_MAX + 1];
    if (length > NAME_MAX) {
        return -ENAMETOOLONG;
    }
    memcpy(name, path, length);
    name[length] = '\0';
    int fd = openat(at, length > 0 ? name : ".", flags);
    return fd >= 0 ? fd : -errno;
}

int beneath_root(const char *path) {
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return fd >= 0 ? fd : -errno;
}

int beneath_open(int directory, const char *path) {
    int at = directory;
    for (;;) {
        size_t length = strcspn(path, "/");
        bool is_last = path[length] == '\0';
        int fd = open_name(at, path, length, is_last ? LAST : STEP);
        if (at != directory) {
            close(at);
        }
        if (fd < 0 || is_last) {
            return fd;
        }
        at = fd;
        path += length + 1;
    }
}

int beneath_look(int fd, struct beneath_info *info) {
    struct stat status;
    if (fstat(fd, &status) != 0) {
        return -errno;
    }
    *info = (struct beneath_info){.is_file = S_ISREG(status.st_mode),
                                  .is_directory = S_ISDIR(status.st_mode),
                                  .size = (uint64_t)status.st_size,
                                  .changed = status.st_mtime};
    return 0;
}

int beneath_read(int fd, void *to, size_t size, uint64_t offset) {
    ssize_t n = pread(fd, to, size, (off_t)offset);
    return n < 0 ? -errno : (int)n;
}

void beneath_close(int fd) {
    close(fd);
}
