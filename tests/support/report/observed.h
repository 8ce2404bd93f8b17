/*
 * observed.h: a scheduler that can be observed from outside, and its observer.
 */
#ifndef OBSERVED_H
#define OBSERVED_H

#include "support/support.h"
#include "support/times.h"

static char folder[72];

/* The parts that differ between systems: use_folder, try_connect, leave_behind. */
#if defined(_WIN32)
#include "windows/observed.h"
#else
#include "posix/observed.h"
#endif

/* The place of the test's socket: a separate folder. */
CHECK_UNUSED static void set_folder(void) {
    const char *base = getenv("TEMP");
    snprintf(folder, sizeof(folder), "%s/thrum-observe-XXXXXX", base ? base : "/tmp");
    CHECK(mkdtemp(folder) != NULL);
    use_folder();
}

CHECK_UNUSED static void remove_folder(void) {
    char path[160];
    snprintf(path, sizeof(path), "%s/thrum", folder);
    CHECK_EQ(rmdir(path), 0); /* nothing is left in it */
    CHECK_EQ(rmdir(folder), 0);
}

CHECK_UNUSED static void observed_begin(rig *r, const char *name) {
    rig_init(r);
    r->config.name = name;
    r->config.observe = true;
    rig_start(r);
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
    int full = 0; /* refused so often */
    rig r;
    set_folder();
    observed_begin(&r, "deaf");
    const int fd = connected();
    CHECK_EQ(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
    for (int i = 0; i < 100000; i++) {
        if (send(fd, request, (size_t)length, MSG_NOSIGNAL) != length) {
            if (++full > 1000) {
                break;
            }
            nap(); /* it still reads requests, perhaps */
        } else {
            full = 0;
        }
    }
    rig_stop(&r);
    close(fd);
    remove_folder();
}

#endif
