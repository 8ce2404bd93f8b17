/*
 * file.c: calls on files that POSIX has only by halves. Calls that it lacks are refused
 * (-EOPNOTSUPP, -ENOSYS), or made of two calls if the difference cannot be seen.
 */
#include "platform/unix/system.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "platform/unix/file_bits.h"

static int64_t refuse(int code) {
    th_os_errno_set(code);
    return -1;
}

/* Only a file that is open to append is sure to grow at its end. */
int64_t th_system_file_add(th_file_request *r) {
    return th_file_flags(r->fd) & O_APPEND ? write(r->fd, r->bytes, size_of(r))
                                           : refuse(EOPNOTSUPP);
}

int64_t th_system_file_copy(th_file_request *r) {
    return th_file_copy_by_hands(r);
}

int64_t th_system_file_allocate(th_file_request *r) {
    if (r->flags) { /* neither holes nor room behind the end */
        return refuse(EOPNOTSUPP);
    }
    const int code = posix_fallocate(r->fd, r->offset, (off_t)r->length);
    return code ? refuse(code) : 0;
}

/* Locks of POSIX are the process's: they would hold nothing between its own tasks. */
int64_t th_system_file_lock(th_file_request *r) {
    (void)r;
    return refuse(ENOSYS);
}

/* A link is made only where nothing is. */
int64_t th_system_file_rename_new(th_file_request *r) {
    return link(r->path, r->other) ? -1 : unlink(r->path);
}

/* ---- directories ---- */

/* How an entry is left in memory; the name follows. */
typedef struct entry {
    uint64_t inode;
    uint16_t length;
} entry;

static size_t length_of(const char *name) {
    return (sizeof(entry) + strlen(name) + 1 + sizeof(uint64_t) - 1) & ~(sizeof(uint64_t) - 1);
}

/* The entries that fit, from the descriptor's position, which is then behind them. */
static int64_t read_some(DIR *folder, th_file_request *r) {
    const off_t begin = lseek(dirfd(folder), 0, SEEK_CUR); /* telldir does not know it yet */
    size_t done = 0;
    long at = 0;
    int failed = 0;
    for (;;) {
        th_os_errno_set(0);
        const struct dirent *d = readdir(folder);
        if (!d) {
            failed = th_os_errno_get();
            break;
        }
        const entry e = {(uint64_t)d->d_ino, (uint16_t)length_of(d->d_name)};
        if (done + e.length > r->size) {
            failed = done ? 0 : EINVAL;
            break;
        }
        memcpy((char *)r->bytes + done, &e, sizeof e);
        strcpy((char *)r->bytes + done + sizeof e, d->d_name);
        done += e.length;
        at = telldir(folder);
    }
    if (done) {
        seekdir(folder, at); /* entries read ahead are not lost */
    } else if (failed) {
        (void)lseek(dirfd(folder), begin, SEEK_SET);
    }
    return failed ? refuse(failed) : (int64_t)done;
}

int64_t th_system_file_list(th_file_request *r) {
    const int fd = fcntl(r->fd, F_DUPFD_CLOEXEC, 0);
    DIR *folder = fd < 0 ? NULL : fdopendir(fd);
    if (!folder) {
        const int code = th_os_errno_get();
        if (fd >= 0) {
            close(fd);
        }
        return refuse(code);
    }
    const int64_t n = read_some(folder, r);
    const int code = th_os_errno_get();
    closedir(folder);
    th_os_errno_set(code);
    return n;
}

size_t th_os_file_entry_at(const void *bytes, size_t at, th_os_file_entry *out) {
    const char *begin = (const char *)bytes + at;
    entry e;
    memcpy(&e, begin, sizeof e);
    *out =
        (th_os_file_entry){.name = begin + sizeof e, .inode = e.inode, .kind = TH_OS_FILE_UNKNOWN};
    return at + e.length;
}
