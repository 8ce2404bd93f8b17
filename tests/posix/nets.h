/*
 * nets.h: a part of support/io/nets.h: what differs of sockets where the system is Linux or another
 * Unix (windows/nets.h has the same for Windows).
 */
#ifndef POSIX_NETS_H
#define POSIX_NETS_H

#include <dirent.h>

#define BUFFER_TOLD 2 /* the system tells twice what it was asked for */

/*
 * How many sockets the process has open. By their names, since a look at a descriptor that a worker
 * just opens, such as its set, is a race to the thread sanitizer.
 */
CHECK_UNUSED static int open_count(void) {
    static const char socket_name[] = "socket:[";
    int n = 0;
    for (int fd = 0; fd < 1024; fd++) {
        char path[32], name[sizeof socket_name];
        snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        const ssize_t length = readlink(path, name, sizeof name);
        n += length == (ssize_t)sizeof name && memcmp(name, socket_name, sizeof name - 1) == 0;
    }
    return n;
}

/* A pipe, whose other end is closed. */
CHECK_UNUSED static thrum_io no_socket(void) {
    int ends[2];
    thrum_io io;
    CHECK_EQ(pipe(ends), 0);
    CHECK_EQ(thrum_io_adopt(&io, ends[0]), 0);
    close(ends[1]);
    return io;
}

/* How many descriptors the process has open. */
CHECK_UNUSED static int descriptors(void) {
    DIR *dir = opendir("/proc/self/fd");
    int n = -1; /* the directory's own */
    CHECK(dir != NULL);
    for (struct dirent *d; (d = readdir(dir)) != NULL;) {
        n += d->d_name[0] != '.';
    }
    closedir(dir);
    return n;
}

#endif
