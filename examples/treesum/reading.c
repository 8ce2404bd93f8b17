/*
 * reading.c: see reading.h.
 */
#include "reading.h"

#include "disk.h"

int reading_open(const struct dir *dir, const char *name, int64_t *size) {
    int fd = dir_open_file(dir, name);
    if (fd < 0) {
        return fd;
    }
    struct disk_info info;
    int err = disk_look(fd, &info);
    err = err != 0 ? err : info.regular ? 0 : TREE_NOT_REGULAR;
    if (err != 0) {
        disk_close(fd);
        return -err;
    }
    *size = info.size;
    return fd;
}

ssize_t reading_fill(int fd, void *buffer, size_t size, int64_t expected) {
    size_t filled = 0;
    while (filled < size) {
        ssize_t got = disk_read(fd, (char *)buffer + filled, size - filled);
        if (got < 0) {
            return got;
        }
        filled += (size_t)got;
        if (got == 0 || (filled < size && (int64_t)filled == expected)) {
            break;
        }
    }
    return (ssize_t)filled;
}
