/*
 * beneath_posix.c: see beneath.h.
 */
#define _GNU_SOURCE 1
#include "beneath.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* From <linux/openat2.h>, which is not on every machine. */
struct how {
    uint64_t flags, mode, resolve;
};
enum { NO_SYMLINKS = 0x04, BENEATH = 0x08 };

static atomic_bool xold_kernel; /* the kernel was asked, and has no openat2 */

static int open_piece(int at, char *path, int flags, bool follow);
static int open_by_names(int at, char *path, int flags);

void beneath_forget_openat2(void) {
    atomic_store(&xold_kernel, true);
}

static int flags_of(enum beneath_how how) {
    return O_CLOEXEC | (how == BENEATH_FILE    ? O_RDONLY | O_NONBLOCK | O_NOCTTY
                        : how == BENEATH_NAMES ? O_RDONLY | O_NONBLOCK | O_DIRECTORY
                                               : O_PATH | O_DIRECTORY);
}

int beneath_open_argument(char *path, size_t length, enum beneath_how how) {
    return beneath_open(AT_FDCWD, path, length, how, true);
}

int beneath_open(int base, char *path, size_t length, enum beneath_how how, bool follow) {
    const int place = flags_of(BENEATH_PLACE);
    char here[] = ".";
    int at = base, fd = 0;
    while (length >= PATH_MAX && fd >= 0) {
        char *slash = memrchr(path, '/', PATH_MAX - 1);
        if (!slash || slash == path) {
            fd = -ENAMETOOLONG;
            break;
        }
        *slash = '\0';
        fd = open_piece(at, path, place, follow);
        if (at != base) {
            close(at);
        }
        at = fd >= 0 ? fd : base;
        char *rest = slash + 1;
        while (*rest == '/') { /* a path that begins with one would be absolute */
            rest++;
        }
        length -= (size_t)(rest - path);
        path = rest;
    }
    if (fd >= 0) {
        fd = open_piece(at, length == 0 ? here : path, flags_of(how), follow);
    }
    if (at != base) {
        close(at);
    }
    return fd;
}

/* Opens a path that is shorter than PATH_MAX. */
static int open_piece(int at, char *path, int flags, bool follow) {
    if (follow) {
        int fd = openat(at, path, flags);
        return fd >= 0 ? fd : -errno;
    }
#ifdef SYS_openat2
    if (!atomic_load_explicit(&xold_kernel, memory_order_relaxed)) {
        struct how how = {.flags = (uint64_t)flags, .resolve = NO_SYMLINKS | BENEATH};
        int fd = (int)syscall(SYS_openat2, at, path, &how, sizeof how);
        if (fd >= 0) {
            return fd;
        }
        if (errno == ENOSYS) {
            atomic_store_explicit(&xold_kernel, true, memory_order_relaxed);
        } else if (errno != EPERM && errno != EAGAIN) { /* sandboxes and renames cause these */
            return -errno;
        }
    }
#endif
    return open_by_names(at, path, flags);
}

/* The errno of a name that was not opened; a link in the place of a directory is one. */
static int why_not(int at, const char *name, int err) {
    struct stat status;
    if (err == ENOTDIR && fstatat(at, name, &status, AT_SYMLINK_NOFOLLOW) == 0 &&
        S_ISLNK(status.st_mode)) {
        return ELOOP;
    }
    return err;
}

static int open_by_names(int at, char *path, int flags) {
    int dir = at, fd = -1;
    while (path) {
        char *slash = strchr(path, '/');
        if (slash) {
            *slash++ = '\0';
        }
        int step = slash ? flags_of(BENEATH_PLACE) : flags;
        fd = openat(dir, path, step | O_NOFOLLOW);
        if (fd < 0) {
            fd = -why_not(dir, path, errno);
            slash = NULL; /* no further */
        }
        if (dir != at) {
            close(dir);
        }
        dir = fd;
        path = slash;
    }
    return fd;
}
