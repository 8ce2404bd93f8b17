/*
 * absent_files.c: what is not there yet on Windows: files.
 *
 * Each of these calls says so: -ENOSYS, which what is above passes on to its callers.
 */
#include <errno.h>

#include "platform/platform.h"

int64_t th_os_file_do(th_os_file_request *request) {
    (void)request;
    return -ENOSYS;
}

int64_t th_os_file_readv_now(int fd, const th_os_part parts[], unsigned n, int64_t offset) {
    (void)fd;
    (void)parts;
    (void)n;
    (void)offset;
    return -ENOSYS;
}

int64_t th_os_file_writev_now(int fd, const th_os_part parts[], unsigned n, int64_t offset) {
    (void)fd;
    (void)parts;
    (void)n;
    (void)offset;
    return -ENOSYS;
}

bool th_os_file_waits(int fd) {
    (void)fd;
    return false;
}

bool th_os_file_begins(int fd) {
    (void)fd;
    return false;
}

size_t th_os_file_entry_at(const void *bytes, size_t at, th_os_file_entry *out) {
    (void)bytes;
    *out = (th_os_file_entry){0};
    return at;
}
