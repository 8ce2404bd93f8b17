/*
 * absent_files.c: what is not there yet on Windows: files, what tells of their changes, and rings
 * of transfers.
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

int th_os_watch_open(void) {
    return -ENOSYS;
}

int th_os_watch_remove(int fd, int watch) {
    (void)fd;
    (void)watch;
    return -ENOSYS;
}

size_t th_os_watch_event_at(const void *bytes, size_t size, size_t at, th_os_watch_event *out) {
    (void)bytes;
    (void)size;
    (void)at;
    *out = (th_os_watch_event){0};
    return 0;
}

int th_os_ring_open(th_os_ring *out, unsigned most) {
    (void)out;
    (void)most;
    return -ENOSYS;
}

void th_os_ring_close(th_os_ring *ring) {
    (void)ring;
}

void th_os_ring_abandon(th_os_ring *ring) {
    (void)ring;
}

int th_os_ring_put(th_os_ring *ring, const th_os_transfer *transfer, uint64_t key) {
    (void)ring;
    (void)transfer;
    (void)key;
    return -ENOSYS;
}

unsigned th_os_ring_send(th_os_ring *ring, unsigned n) {
    (void)ring;
    (void)n;
    return 0;
}

unsigned th_os_ring_take(th_os_ring *ring, th_os_ring_end ends[], unsigned max) {
    (void)ring;
    (void)ends;
    (void)max;
    return 0;
}

void th_os_ring_wait(const th_os_ring *ring) {
    (void)ring;
}
