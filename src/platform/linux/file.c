/*
 * file.c: calls on files that only Linux has, or has otherwise: reads and writes of the page cache,
 * appends to any file, copies by the system, holes, locks of an open file, entries of directories,
 * changes.
 */
#include "platform/unix/system.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "platform/unix/file_bits.h"
#include "platform/unix/interrupted.h"

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 0x00000008
#endif
#ifndef RWF_APPEND
#define RWF_APPEND 0x00000010
#endif

/* ---- bytes ---- */

#define BEHIND_THE_END (INT64_C(1) << 62)

bool th_os_file_begins(int fd) {
    static char never_read[TH_OS_FILE_ALIGNMENT] __attribute__((aligned(TH_OS_FILE_ALIGNMENT)));
    const th_os_part part = {never_read, sizeof never_read};
    if (!(th_file_flags(fd) & O_DIRECT)) {
        return false;
    }
    const int64_t n = th_os_file_readv_now(fd, &part, 1, BEHIND_THE_END);
    return n == 0 || n == -EAGAIN;
}

/*
 * Without the system's call, which a sandbox may refuse with any code, only a file that is open to
 * append is sure to grow at its end.
 */
int64_t th_system_file_add(th_file_request *r) {
    const struct iovec part = {r->bytes, size_of(r)};
    const int64_t n = syscall(SYS_pwritev2, r->fd, &part, 1L, 0L, 0L, RWF_APPEND);
    const int code = n < 0 ? th_os_errno_get() : 0;
    const int flags = code && code != EINTR ? fcntl(r->fd, F_GETFL) : -1;
    if (flags >= 0 && flags & O_APPEND) {
        return write(r->fd, part.iov_base, part.iov_len);
    }
    th_os_errno_set(code);
    return n;
}

int64_t th_system_file_copy(th_file_request *r) {
    off_t from = r->offset;
    off_t to = r->to_offset;
    int64_t n = syscall(SYS_copy_file_range, r->fd, &from, r->to, &to, (size_t)r->length, 0L);
    /*
     * It finds the end of files of /proc at once, and refuses those that are open to append, or on
     * two file systems. A sandbox refuses it with any code; reads and writes give the right one.
     */
    return n > 0 || (n < 0 && th_os_errno_get() == EINTR) ? n : th_file_copy_by_hands(r);
}

/* These calls take an offset in two halves, of which the second is only looked at on 32 bits. */
static long high_of(int64_t offset) {
    return sizeof(long) == 8 ? 0L : (long)(offset >> 32);
}

int64_t th_os_file_readv_now(int fd, const th_os_part parts[], unsigned n, int64_t offset) {
    TH_OS_MAY_FAIL(TH_OS_FAULT_FILE_NOW, -EAGAIN);
    return RETRY(
        syscall(SYS_preadv2, fd, parts, (long)n, (long)offset, high_of(offset), RWF_NOWAIT));
}

int64_t th_os_file_writev_now(int fd, const th_os_part parts[], unsigned n, int64_t offset) {
    TH_OS_MAY_FAIL(TH_OS_FAULT_FILE_NOW, -EAGAIN);
    const bool end = offset == TH_OS_FILE_END;
    const int64_t at = end ? 0 : offset;
    return RETRY(syscall(SYS_pwritev2, fd, parts, (long)n, (long)at, high_of(at),
                         end ? RWF_NOWAIT | RWF_APPEND : RWF_NOWAIT));
}

/* ---- the file as a whole ---- */

int64_t th_system_file_allocate(th_file_request *r) {
    static const bit_pair pairs[] = {
        {TH_OS_FILE_KEEP_SIZE, 1}, /* FALLOC_FL_KEEP_SIZE */
        {TH_OS_FILE_PUNCH, 2 | 1}, /* FALLOC_FL_PUNCH_HOLE, which asks for the other */
    };
    const int mode = (int)to_theirs(r->flags, pairs, COUNT_OF(pairs));
    return fallocate(r->fd, mode, r->offset, (off_t)r->length);
}

int64_t th_system_file_lock(th_file_request *r) {
    struct flock area = {.l_whence = SEEK_SET}; /* from 0 to the end, wherever that is */
    area.l_type = r->flags == TH_OS_FILE_LOCK_NONE     ? F_UNLCK
                  : r->flags == TH_OS_FILE_LOCK_SHARED ? F_RDLCK
                                                       : F_WRLCK;
    int code = fcntl(r->fd, F_OFD_SETLK, &area);
    if (code < 0 && th_os_errno_get() == EACCES) {
        th_os_errno_set(EAGAIN); /* the other word for it */
    }
    return code;
}

int64_t th_system_file_rename_new(th_file_request *r) {
    return syscall(SYS_renameat2, AT_FDCWD, r->path, AT_FDCWD, r->other, 1 /* NOREPLACE */);
}

/* ---- directories ---- */

/* As the system has it. */
typedef struct entry {
    uint64_t inode;
    int64_t offset;
    uint16_t length;
    uint8_t type;
    char name[];
} entry;

int64_t th_system_file_list(th_file_request *r) {
    return syscall(SYS_getdents64, r->fd, r->bytes, r->size);
}

size_t th_os_file_entry_at(const void *bytes, size_t at, th_os_file_entry *out) {
    const char *begin = (const char *)bytes + at;
    entry e;
    memcpy(&e, begin, offsetof(entry, name));
    out->name = begin + offsetof(entry, name);
    out->inode = e.inode;
    out->kind = th_file_kind_of((mode_t)e.type << 12); /* the bits of a mode, put lower */
    return at + e.length;
}

/* ---- changes ---- */

static const bit_pair watch_bits[] = {
    {TH_OS_WATCH_CREATED, IN_CREATE},        {TH_OS_WATCH_DELETED, IN_DELETE},
    {TH_OS_WATCH_MODIFIED, IN_MODIFY},       {TH_OS_WATCH_WRITTEN, IN_CLOSE_WRITE},
    {TH_OS_WATCH_MOVED_FROM, IN_MOVED_FROM}, {TH_OS_WATCH_MOVED_TO, IN_MOVED_TO},
    {TH_OS_WATCH_ATTRIBUTES, IN_ATTRIB},     {TH_OS_WATCH_SELF_DELETED, IN_DELETE_SELF},
    {TH_OS_WATCH_SELF_MOVED, IN_MOVE_SELF},  {TH_OS_WATCH_ENDED, IN_IGNORED},
    {TH_OS_WATCH_OVERFLOW, IN_Q_OVERFLOW},   {TH_OS_WATCH_DIRECTORY, IN_ISDIR},
};

int th_os_watch_open(void) {
    TH_OS_MAY_FAIL(TH_OS_FAULT_WATCH_OPEN, -EMFILE);
    return (int)RETRY(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
}

int64_t th_system_file_watch(th_file_request *r) {
    return inotify_add_watch(r->fd, r->path, to_theirs(r->flags, watch_bits, COUNT_OF(watch_bits)));
}

int th_os_watch_remove(int fd, int number) {
    return (int)RETRY(inotify_rm_watch(fd, number));
}

size_t th_os_watch_event_at(const void *bytes, size_t size, size_t at, th_os_watch_event *out) {
    const char *begin = (const char *)bytes + at;
    struct inotify_event e;
    if (size - at < sizeof e) {
        return 0;
    }
    memcpy(&e, begin, sizeof e);
    if (e.len > size - at - sizeof e || (e.len && begin[sizeof e + e.len - 1])) {
        return 0;
    }
    out->watch = e.wd;
    out->what = to_ours(e.mask, watch_bits, COUNT_OF(watch_bits));
    out->pair = e.cookie;
    out->name = e.len ? begin + sizeof e : "";
    return at + sizeof e + e.len;
}
