/*
 * absent_posix.c: calls that Windows has and POSIX does not: questions to running threads, changes
 * of files. The simulator has none of them either.
 */
#include <errno.h>

#include "platform/file.h"
#include "platform/platform.h"

int th_os_probe_open(int number, int but) {
    (void)but, (void)number;
    return -ENOSYS;
}

void th_os_probe_close(int number) {
    (void)number;
}

int th_os_probe(int number, const th_os_question *question, int64_t deadline, th_os_answer *out) {
    (void)number, (void)question, (void)deadline, (void)out;
    return -ENOSYS;
}

void th_os_probe_lock(void) {
}

void th_os_probe_unlock(void) {
}

void th_os_probe_forked(void) {
}

int th_os_watch_open(void) {
    return -ENOSYS;
}

int th_os_watch_remove(int fd, int watch) {
    (void)fd, (void)watch;
    return -ENOSYS;
}

size_t th_os_watch_event_at(const void *bytes, size_t size, size_t at, th_os_watch_event *out) {
    (void)bytes, (void)size, (void)at;
    *out = (th_os_watch_event){0};
    return 0;
}
