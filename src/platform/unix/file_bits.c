/*
 * file_bits.c: see file_bits.h.
 */
#include "platform/unix/file_bits.h"

#include <fcntl.h>
#include <unistd.h>

#include "platform/unix/interrupted.h"

int th_file_flags(int fd) {
    const int flags = (int)RETRY(fcntl(fd, F_GETFL));
    return flags >= 0 ? flags : 0;
}

/* By hands: to another file system, or of files that the system makes up. */
int64_t th_file_copy_by_hands(th_file_request *r) {
    const size_t size = r->length < r->size ? (size_t)r->length : r->size;
    const int64_t got = pread(r->fd, r->bytes, size, r->offset);
    int64_t put = 0;
    while (put < got) {
        int64_t n = pwrite(r->to, (char *)r->bytes + put, (size_t)(got - put), r->to_offset + put);
        if (n <= 0) {
            return put ? put : n;
        }
        put += n;
    }
    return got < 0 ? got : put;
}
