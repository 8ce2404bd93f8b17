/*
 * told.h: the text of dumps about descriptors that tests have made (io.h).
 */
#ifndef TOLD_H
#define TOLD_H

#include "support/io/io.h"

static const char *text_of(struct sockaddr_in *at, char *text) {
    snprintf(text, 32, "127.0.0.1:%u", ntohs(at->sin_port));
    return text;
}

/*
 * The text about the first end of a pair, with `between` if it has two addresses: pairs are
 * connections if the system has nothing else.
 */
static const char *pair_told(int fd, const char *between) {
    static char text[120];
    struct sockaddr_storage at;
    socklen_t size = sizeof at;
    if (getsockname(fd, (void *)&at, &size) != 0) {
        return "pipe:[";
    }
    if (at.ss_family == AF_UNIX) {
        return "unix";
    }
    struct sockaddr_in here, there;
    char a[32], b[32];
    size = sizeof here;
    CHECK_EQ(getsockname(fd, (void *)&here, &size), 0);
    CHECK_EQ(getpeername(fd, (void *)&there, &size), 0);
    snprintf(text, sizeof text, "tcp %s %s %s", text_of(&here, a), between, text_of(&there, b));
    return text;
}

#endif
