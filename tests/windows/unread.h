/*
 * unread.h: a part of support/io/unread.h: a pipe that takes nothing more.
 */
#ifndef WINDOWS_UNREAD_H
#define WINDOWS_UNREAD_H

/* As much as it was made for (dies.h) does not wait. */
CHECK_UNUSED static void unread_fill(int fd) {
    static char all[PIPE_BYTES];
    CHECK_EQ(write(fd, all, sizeof(all)), sizeof(all));
}

#endif
