/*
 * observed.h: a scheduler that can be looked at from outside, and what looks at it.
 */
#ifndef OBSERVED_H
#define OBSERVED_H

#include "support/support.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

static char folder[64];
static struct sockaddr_un at;

/* Where the sockets of this test are: a folder of its own. */
CHECK_UNUSED static void set_folder(void) {
    snprintf(folder, sizeof(folder), "/tmp/thrum-observe-XXXXXX");
    CHECK(mkdtemp(folder) != NULL);
    CHECK_EQ(setenv("XDG_RUNTIME_DIR", folder, 1), 0);
    at = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof(at.sun_path), "%s/thrum/%d", folder, (int)getpid());
}

CHECK_UNUSED static void remove_folder(void) {
    char path[80];
    snprintf(path, sizeof(path), "%s/thrum", folder);
    CHECK_EQ(rmdir(path), 0); /* the socket is gone */
    CHECK_EQ(rmdir(folder), 0);
}

CHECK_UNUSED static void observed_begin(rig *r, const char *name) {
    rig_init(r);
    r->config.name = name;
    r->config.observe = true;
    rig_start(r);
}

CHECK_UNUSED static int try_connect(void) {
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(fd >= 0);
    if (connect(fd, (const struct sockaddr *)(const void *)&at, sizeof(at)) == 0) {
        return fd;
    }
    const int code = -errno;
    close(fd);
    return code;
}

CHECK_UNUSED static int connected(void) {
    const int fd = try_connect();
    CHECK(fd >= 0);
    return fd;
}

CHECK_UNUSED static void ask(int fd, const char *text) {
    CHECK_EQ(send(fd, text, strlen(text), MSG_NOSIGNAL), (ssize_t)strlen(text));
}

static char got[1 << 18];

/* Reads an answer up to its zero byte; false: the connection ended. */
CHECK_UNUSED static bool answer(int fd) {
    size_t n = 0;
    for (;;) {
        CHECK(n < sizeof(got));
        const ssize_t k = recv(fd, got + n, 1, 0);
        if (k <= 0) {
            return false;
        }
        if (got[n++] == '\0') {
            return true;
        }
    }
}

CHECK_UNUSED static const char *asked(int fd, const char *request) {
    ask(fd, request);
    CHECK(answer(fd));
    return got;
}

/* A peer asks until all buffers are full, and reads nothing; the stop ends that. */
CHECK_UNUSED static void check_deaf_peer(const char *request) {
    const ssize_t length = (ssize_t)strlen(request);
    rig r;
    set_folder();
    observed_begin(&r, "deaf");
    const int fd = connected();
    const struct timeval soon = {.tv_usec = 100000};
    CHECK_EQ(setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &soon, sizeof(soon)), 0);
    for (int i = 0; i < 2000 && send(fd, request, (size_t)length, MSG_NOSIGNAL) == length; i++) {
    }
    rig_stop(&r);
    close(fd);
    remove_folder();
}

#endif
