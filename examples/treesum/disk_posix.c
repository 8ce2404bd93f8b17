/*
 * disk_posix.c: see disk.h.
 */
#define _GNU_SOURCE 1
#include "disk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

int disk_look(int fd, struct disk_info *info) {
    struct stat status;
    *info = (struct disk_info){.regular = false};
    if (fstat(fd, &status) != 0) {
        return errno;
    }
    *info = (struct disk_info){.device = status.st_dev,
                               .inode = status.st_ino,
                               .size = status.st_size,
                               .regular = S_ISREG(status.st_mode)};
    return 0;
}

int disk_keep(int fd) {
    return fcntl(fd, F_DUPFD_CLOEXEC, 0);
}

void disk_close(int fd) {
    close(fd);
}

ssize_t disk_read(int fd, void *to, size_t size) {
    ssize_t got;
    do {
        got = read(fd, to, size);
    } while (got < 0 && errno == EINTR);
    return got < 0 ? -errno : got;
}

/* ---- names ---- */

/* The C library's stream is ours by another name. */
static DIR *stream_of(struct names *names) {
    return (DIR *)names;
}

struct names *names_open(int fd, int *err) {
    DIR *stream = fdopendir(fd);
    if (!stream) {
        *err = errno;
        close(fd);
    }
    return (struct names *)stream;
}

static enum name_kind kind_of(mode_t mode) {
    return S_ISDIR(mode)   ? NAME_DIR
           : S_ISREG(mode) ? NAME_FILE
           : S_ISLNK(mode) ? NAME_LINK
                           : NAME_OTHER;
}

int names_next(struct names *names, struct name *found) {
    errno = 0;
    const struct dirent *entry = readdir(stream_of(names));
    if (!entry) {
        return errno != 0 ? errno : NAMES_END;
    }
    found->text = entry->d_name;
    found->kind =
        entry->d_type == DT_UNKNOWN ? NAME_UNKNOWN : kind_of((mode_t)DTTOIF(entry->d_type));
    return 0;
}

int names_look(struct names *names, const char *name, bool follow, enum name_kind *kind) {
    struct stat status;
    if (fstatat(dirfd(stream_of(names)), name, &status, follow ? 0 : AT_SYMLINK_NOFOLLOW) != 0) {
        return errno;
    }
    *kind = kind_of(status.st_mode);
    return 0;
}

void names_close(struct names *names) {
    closedir(stream_of(names));
}
