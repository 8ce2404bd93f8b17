/*
 * absent.c: calls that neither POSIX nor the port to Windows has, and that a system may refuse by
 * the contract: transfers without a thread or at once, splices, descriptors that are opened once
 * more, streams that are printed to a function.
 */
#include <errno.h>

#include "platform/faults.h"
#include "platform/file.h"
#include "platform/platform.h"

int th_os_ring_open(th_os_ring *out, unsigned most) {
    (void)most;
    *out = (th_os_ring){.fd = -1};
    return -ENOSYS;
}

void th_os_ring_close(th_os_ring *ring) {
    (void)ring;
}

void th_os_ring_abandon(th_os_ring *ring) {
    (void)ring;
}

int th_os_ring_put(th_os_ring *ring, const th_os_transfer *transfer, uint64_t key) {
    (void)ring, (void)transfer, (void)key;
    return -EAGAIN;
}

unsigned th_os_ring_send(th_os_ring *ring, unsigned n) {
    (void)ring, (void)n;
    return 0;
}

unsigned th_os_ring_take(th_os_ring *ring, th_os_ring_end ends[], unsigned max) {
    (void)ring, (void)ends, (void)max;
    return 0;
}

void th_os_ring_wait(const th_os_ring *ring) {
    (void)ring;
}

int64_t th_os_io_splice(int from, int to, size_t n) {
    (void)from, (void)to, (void)n;
    return -ENOSYS;
}

int th_os_io_reopen(int fd) {
    (void)fd;
    return -EOPNOTSUPP;
}

int64_t th_os_io_readv_cached(int fd, const th_os_part parts[], unsigned n) {
    (void)fd, (void)parts, (void)n;
    return -EOPNOTSUPP;
}

/* ---- whether a transfer of a file would wait: unknown ---- */

int64_t th_os_file_readv_now(int fd, const th_os_part parts[], unsigned n, int64_t offset) {
    (void)fd, (void)parts, (void)n, (void)offset;
    return th_os_fails(TH_OS_FAULT_FILE_NOW) ? -EAGAIN : -EOPNOTSUPP;
}

int64_t th_os_file_writev_now(int fd, const th_os_part parts[], unsigned n, int64_t offset) {
    return th_os_file_readv_now(fd, parts, n, offset);
}

bool th_os_file_begins(int fd) {
    (void)fd;
    return false;
}
