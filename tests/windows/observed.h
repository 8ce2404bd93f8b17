/*
 * observed.h: a part of support/report/observed.h: a port of the own machine, and a file that has
 * its number and the key that a connection begins with (src/platform/windows/io/private.c).
 */
#ifndef WINDOWS_OBSERVED_H
#define WINDOWS_OBSERVED_H

#include "windows/unix.h"

static char at[200];

CHECK_UNUSED static void use_folder(void) {
    CHECK_EQ(setenv("LOCALAPPDATA", folder, 1), 0);
    snprintf(at, sizeof(at), "%s/thrum/%d", folder, (int)_getpid());
}

CHECK_UNUSED static int connect_with(unsigned port, const char *key) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((unsigned short)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);
    CHECK(fd >= 0);
    if (connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0) {
        const int code = -errno;
        close(fd);
        return code;
    }
    (void)send(fd, key, strlen(key), 0);
    (void)send(fd, "\n", 1, 0);
    return fd;
}

CHECK_UNUSED static int try_connect(void) {
    char key[64] = "";
    unsigned port = 0;
    FILE *in = fopen(at, "r");
    if (!in) {
        return -ENOENT;
    }
    const int n = fscanf(in, "%u %40s", &port, key);
    fclose(in);
    return n == 2 ? connect_with(port, key) : -ENOENT; /* else it is just being written */
}

/* What a process of this number that has ended has left. */
CHECK_UNUSED static void leave_behind(void) {
    char path[200];
    snprintf(path, sizeof(path), "%s/thrum", folder);
    CHECK_EQ(_mkdir(path), 0);
    FILE *out = fopen(at, "w");
    CHECK(out && fputs("1 0123456789abcdef0123456789abcdef\n", out) >= 0);
    CHECK_EQ(fclose(out), 0);
}

#endif
