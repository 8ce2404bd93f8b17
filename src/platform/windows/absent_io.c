/*
 * absent_io.c: what is not there yet on Windows: descriptors, that is sets of them that tell when
 * one is ready, and calls on one.
 *
 * Each of these calls says so: -ENOSYS, which what is above passes on to its callers.
 */
#include <errno.h>

#include "platform/platform.h"

int th_os_pollset_open(th_os_pollset *out) {
    (void)out;
    return -ENOSYS;
}

void th_os_pollset_close(th_os_pollset *set) {
    (void)set;
}

int th_os_pollset_add(const th_os_pollset *set, int fd, uint64_t key) {
    (void)set;
    (void)fd;
    (void)key;
    return -ENOSYS;
}

int th_os_pollset_add_set(const th_os_pollset *set, const th_os_pollset *other, uint64_t key) {
    (void)set;
    (void)other;
    (void)key;
    return -ENOSYS;
}

int th_os_pollset_remove(const th_os_pollset *set, int fd) {
    (void)set;
    (void)fd;
    return -ENOSYS;
}

int th_os_pollset_wait(const th_os_pollset *set, th_os_event events[], unsigned max,
                       int64_t deadline) {
    (void)set;
    (void)events;
    (void)max;
    (void)deadline;
    return -ENOSYS;
}

int th_os_alarm_open(void) {
    return -ENOSYS;
}

void th_os_alarm_close(int alarm) {
    (void)alarm;
}

void th_os_alarm_set(int alarm, int64_t at) {
    (void)alarm;
    (void)at;
}

int th_os_pollset_add_alarm(const th_os_pollset *set, int alarm) {
    (void)set;
    (void)alarm;
    return -ENOSYS;
}

bool th_os_pollset_is_ready(const th_os_pollset *set) {
    (void)set;
    return false;
}

int th_os_pollset_wait_any(const th_os_pollset *const sets[], unsigned n, int64_t deadline) {
    (void)sets;
    (void)n;
    (void)deadline;
    return -ENOSYS;
}

int th_os_pollset_wake(const th_os_pollset *set) {
    (void)set;
    return -ENOSYS;
}

void th_os_pollset_wake_take(const th_os_pollset *set) {
    (void)set;
}

int th_os_wakeup_open(void) {
    return -ENOSYS;
}

void th_os_wakeup_close(int wakeup) {
    (void)wakeup;
}

void th_os_wakeup_set(int wakeup) {
    (void)wakeup;
}

void th_os_wakeup_take(int wakeup) {
    (void)wakeup;
}

int th_os_io_kind(int fd, th_os_kind *kind, th_os_identity *identity) {
    (void)fd;
    (void)kind;
    (void)identity;
    return -ENOSYS;
}

int th_os_io_nonblocking(int fd, bool on) {
    (void)fd;
    (void)on;
    return -ENOSYS;
}

int64_t th_os_io_read(int fd, th_os_kind kind, void *to, size_t size) {
    (void)fd;
    (void)kind;
    (void)to;
    (void)size;
    return -ENOSYS;
}

int64_t th_os_io_write(int fd, th_os_kind kind, const void *from, size_t size) {
    (void)fd;
    (void)kind;
    (void)from;
    (void)size;
    return -ENOSYS;
}

int64_t th_os_io_readv(int fd, th_os_kind kind, const th_os_part parts[], unsigned n) {
    (void)fd;
    (void)kind;
    (void)parts;
    (void)n;
    return -ENOSYS;
}

int64_t th_os_io_writev(int fd, th_os_kind kind, const th_os_part parts[], unsigned n) {
    (void)fd;
    (void)kind;
    (void)parts;
    (void)n;
    return -ENOSYS;
}

int64_t th_os_io_peek(int fd, void *to, size_t size) {
    (void)fd;
    (void)to;
    (void)size;
    return -ENOSYS;
}

int64_t th_os_io_skip(int fd, th_os_kind kind, void *memory, size_t n) {
    (void)fd;
    (void)kind;
    (void)memory;
    (void)n;
    return -ENOSYS;
}

int th_os_io_unread(int fd, size_t n) {
    (void)fd;
    (void)n;
    return -ENOSYS;
}

int64_t th_os_io_splice(int from, int to, size_t n) {
    (void)from;
    (void)to;
    (void)n;
    return -ENOSYS;
}

int64_t th_os_io_readv_shared(int fd, th_os_kind kind, const th_os_part parts[], unsigned n) {
    (void)fd;
    (void)kind;
    (void)parts;
    (void)n;
    return -ENOSYS;
}

int64_t th_os_io_writev_shared(int fd, th_os_kind kind, const th_os_part parts[], unsigned n) {
    (void)fd;
    (void)kind;
    (void)parts;
    (void)n;
    return -ENOSYS;
}

int64_t th_os_io_readv_cached(int fd, const th_os_part parts[], unsigned n) {
    (void)fd;
    (void)parts;
    (void)n;
    return -ENOSYS;
}

int th_os_io_reopen(int fd) {
    (void)fd;
    return -ENOSYS;
}

int th_os_io_duplicate(int fd) {
    (void)fd;
    return -ENOSYS;
}

int th_os_io_close_on_exec(int fd) {
    (void)fd;
    return -ENOSYS;
}

bool th_os_io_is_tty(int fd) {
    (void)fd;
    return false;
}

int th_os_io_text(int fd, const char *between, char *text, size_t size, bool *listens) {
    (void)fd;
    (void)between;
    (void)text;
    (void)size;
    (void)listens;
    return -ENOSYS;
}

int th_os_io_accept(int fd) {
    (void)fd;
    return -ENOSYS;
}

int th_os_io_shutdown(int fd, unsigned bits) {
    (void)fd;
    (void)bits;
    return -ENOSYS;
}

int th_os_io_close(int fd) {
    (void)fd;
    return -ENOSYS;
}

int th_os_io_poll(int fd, unsigned bits, int wakeup, int64_t deadline) {
    (void)fd;
    (void)bits;
    (void)wakeup;
    (void)deadline;
    return -ENOSYS;
}

int th_os_io_poll_any(th_os_polled polled[], unsigned n, int wakeup, int64_t deadline) {
    (void)polled;
    (void)n;
    (void)wakeup;
    (void)deadline;
    return -ENOSYS;
}
