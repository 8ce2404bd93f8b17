/*
 * observed.h: a part of support/report/observed.h: a UNIX socket.
 */
#ifndef POSIX_OBSERVED_H
#define POSIX_OBSERVED_H

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

enum { OTHER_USER = 65534 };

static struct sockaddr_un at;

/* The sockets of this test are in its own folder from now on. */
CHECK_UNUSED static void use_folder(void) {
    CHECK_EQ(setenv("XDG_RUNTIME_DIR", folder, 1), 0);
    at = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(at.sun_path, sizeof(at.sun_path), "%s/thrum/%d", folder, (int)getpid());
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

/* What a process of this number that has ended has left. */
CHECK_UNUSED static void leave_behind(void) {
    char path[80];
    snprintf(path, sizeof(path), "%s/thrum", folder);
    CHECK_EQ(mkdir(path, 0700), 0);
    const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    CHECK_EQ(bind(fd, (const struct sockaddr *)(const void *)&at, sizeof(at)), 0);
    close(fd);
}

/* Skips a test in which a process becomes another user's. Containers may have no other user. */
CHECK_UNUSED static void needs_another_user(void) {
    int status = -1;
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        _exit(setresuid(OTHER_USER, OTHER_USER, OTHER_USER) == 0 ? 0 : 1);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    if (geteuid() != 0 || status != 0) {
        CHECK_SKIP("needs root, and another user to become");
    }
}

#endif
