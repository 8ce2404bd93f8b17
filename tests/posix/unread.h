/*
 * unread.h: a part of support/io/unread.h: a pipe that takes nothing more.
 */
#ifndef POSIX_UNREAD_H
#define POSIX_UNREAD_H

#include <fcntl.h>

CHECK_UNUSED static void unread_fill(int fd) {
    char page[4096];
    memset(page, '.', sizeof(page));
    CHECK_EQ(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    while (write(fd, page, sizeof(page)) > 0) {
    }
    CHECK_EQ(fcntl(fd, F_SETFL, 0), 0);
}

#endif
