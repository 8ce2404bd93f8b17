/*
 * unmodelled.c: calls that no world makes: on descriptors that other processes share, and copies
 * from one to another; on files; words for people; signals to threads. Calls that POSIX does not
 * have either are in posix/absent_posix.c.
 */
#include <errno.h>

#include "platform/socket.h"
#include "platform/platform.h"
#include "platform/sim/controller.h"

int th_os_io_reopen(int fd) {
    (void)fd;
    return -EOPNOTSUPP;
}

int64_t th_os_io_readv_shared(int fd, th_os_kind kind, const th_os_part parts[], unsigned n) {
    return th_os_io_readv(fd, kind, parts, n);
}

int64_t th_os_io_writev_shared(int fd, th_os_kind kind, const th_os_part parts[], unsigned n) {
    return th_os_io_writev(fd, kind, parts, n);
}

int64_t th_os_io_peek(int fd, void *to, size_t size) {
    (void)fd;
    (void)to;
    (void)size;
    return -EOPNOTSUPP;
}

int64_t th_os_io_skip(int fd, th_os_kind kind, void *memory, size_t n) {
    (void)fd;
    (void)kind;
    (void)memory;
    (void)n;
    return -EOPNOTSUPP;
}

int64_t th_os_io_splice(int from, int to, size_t n) {
    (void)from;
    (void)to;
    (void)n;
    return -EOPNOTSUPP;
}

void th_os_signal_name(int number, char text[TH_OS_SIGNAL_TEXT]) {
    (void)number;
    text[0] = '\0';
}

int th_os_signal_catch(int number, th_os_catcher catcher, void (*caught)(int number)) {
    (void)number;
    (void)catcher;
    (void)caught;
    return -EINVAL;
}

void th_os_signal_release(int number, th_os_catcher catcher) {
    (void)number;
    (void)catcher;
}

bool th_os_signal_asks(int number) {
    (void)number;
    return false;
}

void th_os_probe_admit(int number) {
    (void)number;
}

int th_os_private_open(th_os_private *out) {
    out->fd = -1;
    return -ENOSYS;
}

int th_os_private_accept(const th_os_private *listener) {
    (void)listener;
    return -ENOSYS;
}

bool th_os_private_asks(void) {
    return false;
}

bool th_os_private_admits(const char *line) {
    (void)line;
    return true;
}

void th_os_private_close(th_os_private *listener) {
    (void)listener;
}

#if !TH_KIT /* it has files (testkit/disk) */
int64_t th_os_io_readv_cached(int fd, const th_os_part parts[], unsigned n) {
    (void)fd;
    (void)parts;
    (void)n;
    return -EOPNOTSUPP;
}

int th_os_io_unread(int fd, size_t n) {
    (void)fd;
    (void)n;
    return -EOPNOTSUPP;
}

bool th_os_file_waits(int fd) {
    (void)fd;
    return false;
}

size_t th_os_file_entry_at(const void *bytes, size_t at, th_os_file_entry *out) {
    (void)bytes;
    *out = (th_os_file_entry){0};
    return at;
}
#endif
