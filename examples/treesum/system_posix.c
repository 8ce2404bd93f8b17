/*
 * system_posix.c: see system.h.
 */
#define _GNU_SOURCE 1
#include "system.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

void system_begin(int *argc, char ***argv) {
    (void)argc;
    (void)argv;
    signal(SIGPIPE, SIG_IGN);
}

unsigned system_files_max(void) {
    struct rlimit files = {.rlim_cur = 256};
    getrlimit(RLIMIT_NOFILE, &files);
    return files.rlim_cur < UINT_MAX ? (unsigned)files.rlim_cur : UINT_MAX;
}

unsigned long long system_peak_kib(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (unsigned long long)usage.ru_maxrss;
}

int system_write(int fd, const char *text, size_t size) {
    while (size > 0) {
        ssize_t put = write(fd, text, size);
        if (put < 0 && errno == EAGAIN) { /* another process made it non-blocking */
            poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, -1);
        } else if (put < 0 && errno != EINTR) {
            return errno;
        }
        if (put > 0) {
            text += put;
            size -= (size_t)put;
        }
    }
    return 0;
}

const char *system_words(int err) {
    return strerror(err);
}

void system_sort(void *base, size_t n, size_t size,
                 int (*compare)(const void *, const void *, void *), void *arg) {
    qsort_r(base, n, size, compare, arg);
}
