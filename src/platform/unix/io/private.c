/*
 * private.c: a listening UNIX socket for the user of the process alone.
 */
#include "platform/unix/system.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define BACKLOG 8
#define PATH_BYTES 108 /* the room of a UNIX address */

/* Makes the folder, if it is not there; it must be ours, and closed to others. */
static int own_folder(const char *path) {
    struct stat status;
    if (mkdir(path, 0700) && errno != EEXIST) {
        return -errno;
    }
    if (lstat(path, &status)) {
        return -errno;
    }
    bool is_ours = S_ISDIR(status.st_mode) && status.st_uid == geteuid() && !(status.st_mode & 077);
    return is_ours ? 0 : -EPERM;
}

/* Whether nobody listens at the address any longer: its process has ended without removing it. */
static bool is_stale(const th_os_address *address) {
    int fd = th_os_socket_open(TH_OS_LOCAL, TH_OS_BYTES);
    int code = fd < 0 ? fd : th_os_socket_connect(fd, address);
    if (fd >= 0) {
        th_os_io_close(fd);
    }
    return code == -ECONNREFUSED;
}

/* Binds and listens; th_os_private_close removes `out->address`. */
static int listen_at(th_os_private *out, const char *path) {
    int code = th_os_address_local(&out->address, path, strlen(path), false);
    out->fd = code ? code : th_os_socket_open(TH_OS_LOCAL, TH_OS_BYTES);
    if (out->fd < 0) {
        return out->fd;
    }
    code = th_os_socket_bind(out->fd, &out->address);
    if (code == -EADDRINUSE && is_stale(&out->address)) {
        code = th_os_local_remove(&out->address);
        code = code ? code : th_os_socket_bind(out->fd, &out->address);
    }
    if (code) {
        th_os_io_close(out->fd);
        return code;
    }
    code = th_os_local_mode(&out->address, 0600);
    code = code ? code : th_os_socket_listen(out->fd, BACKLOG);
    if (code) {
        th_os_private_close(out);
    }
    return code;
}

static int open_in(th_os_private *out, const char *folder) {
    char path[PATH_BYTES];
    int code = own_folder(folder);
    int length = snprintf(path, sizeof path, "%s/%d", folder, (int)getpid());
    if (!code && length >= (int)sizeof path) {
        code = -ENAMETOOLONG;
    }
    return code ? code : listen_at(out, path);
}

int th_os_private_open(th_os_private *out) {
    char folder[PATH_BYTES];
    TH_KEEPS_ERRNO;
    const char *run = th_os_env("XDG_RUNTIME_DIR");
    int code = -ENOENT;
    out->fd = -1;
    if (run && run[0] == '/' &&
        snprintf(folder, sizeof folder, "%s/thrum", run) < (int)sizeof folder) {
        code = open_in(out, folder);
    }
    if (code) {
        snprintf(folder, sizeof folder, "/tmp/thrum-%u", (unsigned)geteuid());
        code = open_in(out, folder);
    }
    return code;
}

int th_os_private_accept(const th_os_private *listener) {
    TH_KEEPS_ERRNO;
    int fd = th_os_io_accept(listener->fd);
    if (fd >= 0 && !th_system_is_own_peer(fd)) {
        th_os_io_close(fd);
        fd = -EPERM;
    }
    return fd;
}

bool th_os_private_asks(void) {
    return false;
}

bool th_os_private_admits(const char *line) {
    (void)line;
    return true;
}

void th_os_private_close(th_os_private *listener) {
    (void)th_os_local_remove(&listener->address);
    th_os_io_close(listener->fd);
    listener->fd = -1;
}
