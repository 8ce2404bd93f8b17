/*
 * file.c: calls on files, which may wait for a device or for another machine.
 */
#define _GNU_SOURCE
#include "platform/platform.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "platform/faults.h"
#include "platform/linux/interrupted.h"

#ifndef RWF_NOWAIT
#define RWF_NOWAIT 0x00000008
#endif
#ifndef RWF_APPEND
#define RWF_APPEND 0x00000010
#endif

#define BLOCK 512 /* the unit of st_blocks */

typedef th_os_file_request request;

_Static_assert(TH_OS_FAULT_FILE_LAST - TH_OS_FAULT_FILE + 1 == TH_OS_FILE_CALLS,
               "a fault for each call");

/* One bit each, from the contract's to the system's. */
typedef struct bit_pair {
    uint32_t ours;
    uint32_t theirs;
} bit_pair;

static uint32_t to_theirs(uint32_t bits, const bit_pair pairs[], unsigned n) {
    uint32_t theirs = 0;
    for (unsigned i = 0; i < n; i++) {
        theirs |= bits & pairs[i].ours ? pairs[i].theirs : 0;
    }
    return theirs;
}

static uint32_t to_ours(uint32_t bits, const bit_pair pairs[], unsigned n) {
    uint32_t ours = 0;
    for (unsigned i = 0; i < n; i++) {
        ours |= bits & pairs[i].theirs ? pairs[i].ours : 0;
    }
    return ours;
}

#define COUNT_OF(a) ((unsigned)(sizeof(a) / sizeof((a)[0])))

/* ---- opening, and what is there ---- */

static int64_t open_file(request *r) {
    static const bit_pair pairs[] = {
        {TH_OS_FILE_CREATE, O_CREAT},      {TH_OS_FILE_EXCLUSIVE, O_EXCL},
        {TH_OS_FILE_TRUNCATED, O_TRUNC},   {TH_OS_FILE_APPEND, O_APPEND},
        {TH_OS_FILE_DIRECT, O_DIRECT},     {TH_OS_FILE_SYNC, O_SYNC},
        {TH_OS_FILE_NOFOLLOW, O_NOFOLLOW}, {TH_OS_FILE_DIRECTORY, O_DIRECTORY},
    };
    const bool reads = r->flags & TH_OS_FILE_FOR_READING;
    const bool writes = r->flags & TH_OS_FILE_FOR_WRITING;
    const int access = writes ? reads ? O_RDWR : O_WRONLY : O_RDONLY;
    const int flags = (int)to_theirs(r->flags, pairs, COUNT_OF(pairs));
    const int fd = open(r->path, access | flags | O_CLOEXEC | O_NOCTTY, (mode_t)r->mode);
    th_os_identity identity;
    if (fd >= 0) {
        (void)th_os_io_kind(fd, &r->kind, &identity);
    }
    return fd;
}

static int flags_of(int fd) {
    const int saved = th_os_errno_get();
    const int flags = fcntl(fd, F_GETFL);
    th_os_errno_set(saved);
    return flags >= 0 ? flags : 0;
}

#define BEHIND_THE_END (INT64_C(1) << 62)

bool th_os_file_begins(int fd) {
    static char never_read[TH_OS_FILE_ALIGNMENT] __attribute__((aligned(TH_OS_FILE_ALIGNMENT)));
    const th_os_part part = {never_read, sizeof never_read};
    if (!(flags_of(fd) & O_DIRECT)) {
        return false;
    }
    const int64_t n = th_os_file_readv_now(fd, &part, 1, BEHIND_THE_END);
    return n == 0 || n == -EAGAIN;
}

bool th_os_file_waits(int fd) {
    return flags_of(fd) & (O_DIRECT | O_SYNC | O_DSYNC);
}

static int64_t ns_of(struct timespec t) {
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static uint32_t kind_of(mode_t mode) {
    return S_ISREG(mode)    ? TH_OS_FILE_REGULAR
           : S_ISDIR(mode)  ? TH_OS_FILE_FOLDER
           : S_ISLNK(mode)  ? TH_OS_FILE_SYMBOLIC
           : S_ISFIFO(mode) ? TH_OS_FILE_FIFO
           : S_ISSOCK(mode) ? TH_OS_FILE_SOCKET
           : S_ISCHR(mode)  ? TH_OS_FILE_CHARACTER
           : S_ISBLK(mode)  ? TH_OS_FILE_BLOCK
                            : TH_OS_FILE_UNKNOWN;
}

static int64_t look(request *r) {
    struct stat s;
    const int flags = r->flags & TH_OS_FILE_LINK_ITSELF ? AT_SYMLINK_NOFOLLOW : 0;
    const int code = r->path ? fstatat(AT_FDCWD, r->path, &s, flags) : fstat(r->fd, &s);
    if (code < 0) {
        return code;
    }
    r->info = (th_os_file_info){
        .kind = kind_of(s.st_mode),
        .mode = (uint32_t)s.st_mode & 07777,
        .user = (uint32_t)s.st_uid,
        .group = (uint32_t)s.st_gid,
        .links = (uint64_t)s.st_nlink,
        .size = (uint64_t)s.st_size,
        .allocated = (uint64_t)s.st_blocks * BLOCK,
        .device = (uint64_t)s.st_dev,
        .inode = (uint64_t)s.st_ino,
        .modified = ns_of(s.st_mtim),
        .accessed = ns_of(s.st_atim),
        .changed = ns_of(s.st_ctim),
    };
    return 0;
}

/* ---- bytes ---- */

/* A fault that tests order: transfers move a single byte. */
static size_t size_of(const request *r) {
    return r->size > 1 && th_os_fails(TH_OS_FAULT_FILE_SHORT) ? 1 : r->size;
}

static int64_t read_at(request *r) {
    return pread(r->fd, r->bytes, size_of(r), r->offset);
}

static int64_t write_at(request *r) {
    return pwrite(r->fd, r->bytes, size_of(r), r->offset);
}

/* Without the system's call only a file that is open to append is sure to grow at its end. */
static int64_t add(request *r) {
    const struct iovec part = {r->bytes, size_of(r)};
    const int64_t n = syscall(SYS_pwritev2, r->fd, &part, 1L, 0L, 0L, RWF_APPEND);
    const int code = n < 0 ? th_os_errno_get() : 0;
    if (code != ENOSYS && code != EOPNOTSUPP && code != EPERM) {
        return n;
    }
    const int flags = fcntl(r->fd, F_GETFL);
    if (flags >= 0 && flags & O_APPEND) {
        return write(r->fd, part.iov_base, part.iov_len);
    }
    th_os_errno_set(code);
    return n;
}

/* By hands: to another file system, or of files that the system makes up. */
static int64_t copy_by_hands(request *r) {
    const size_t size = r->length < r->size ? (size_t)r->length : r->size;
    const int64_t got = pread(r->fd, r->bytes, size, r->offset);
    int64_t put = 0;
    while (put < got) {
        int64_t n = pwrite(r->to, (char *)r->bytes + put, (size_t)(got - put), r->to_offset + put);
        if (n <= 0) {
            return put ? put : n;
        }
        put += n;
    }
    return got < 0 ? got : put;
}

static int64_t copy(request *r) {
    off_t from = r->offset;
    off_t to = r->to_offset;
    int64_t n = syscall(SYS_copy_file_range, r->fd, &from, r->to, &to, (size_t)r->length, 0L);
    const int code = n < 0 ? th_os_errno_get() : 0;
    const bool cannot = code == EXDEV || code == EINVAL || code == ENOSYS || code == EOPNOTSUPP ||
                        code == EPERM || code == EBADF;
    /* It finds the end of files of /proc at once, and refuses those that are open to append. */
    return n == 0 || cannot ? copy_by_hands(r) : n;
}

int64_t th_os_file_readv_now(int fd, const th_os_part parts[], unsigned n, int64_t offset) {
    if (th_os_fails(TH_OS_FAULT_FILE_NOW)) {
        return -EAGAIN;
    }
    return RETRY(syscall(SYS_preadv2, fd, parts, (long)n, (long)offset, 0L, RWF_NOWAIT));
}

int64_t th_os_file_writev_now(int fd, const th_os_part parts[], unsigned n, int64_t offset) {
    if (th_os_fails(TH_OS_FAULT_FILE_NOW)) {
        return -EAGAIN;
    }
    const bool end = offset == TH_OS_FILE_END;
    return RETRY(syscall(SYS_pwritev2, fd, parts, (long)n, end ? 0L : (long)offset, 0L,
                         end ? RWF_NOWAIT | RWF_APPEND : RWF_NOWAIT));
}

/* ---- the file as a whole ---- */

static int64_t flush(request *r) {
    return fsync(r->fd);
}

static int64_t flush_data(request *r) {
    return fdatasync(r->fd);
}

static int64_t resize(request *r) {
    return ftruncate(r->fd, r->offset);
}

static int64_t allocate(request *r) {
    static const bit_pair pairs[] = {
        {TH_OS_FILE_KEEP_SIZE, 1}, /* FALLOC_FL_KEEP_SIZE */
        {TH_OS_FILE_PUNCH, 2 | 1}, /* FALLOC_FL_PUNCH_HOLE, which asks for the other */
    };
    const int mode = (int)to_theirs(r->flags, pairs, COUNT_OF(pairs));
    return fallocate(r->fd, mode, r->offset, (off_t)r->length);
}

static int64_t change_mode(request *r) {
    return fchmod(r->fd, (mode_t)r->mode);
}

static int64_t lock(request *r) {
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

/* ---- names ---- */

static int64_t rename_file(request *r) {
    if (r->flags & TH_OS_FILE_NO_REPLACE) {
        return syscall(SYS_renameat2, AT_FDCWD, r->path, AT_FDCWD, r->other, 1 /* NOREPLACE */);
    }
    return rename(r->path, r->other);
}

static int64_t unlink_file(request *r) {
    return unlink(r->path);
}

static int64_t remove_directory(request *r) {
    return rmdir(r->path);
}

static int64_t make_directory(request *r) {
    return mkdir(r->path, (mode_t)r->mode);
}

static int64_t link_file(request *r) {
    return link(r->path, r->other);
}

static int64_t link_symbolically(request *r) {
    return symlink(r->path, r->other);
}

static int64_t read_link(request *r) {
    return readlink(r->path, r->bytes, r->size);
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

static int64_t list(request *r) {
    return syscall(SYS_getdents64, r->fd, r->bytes, r->size);
}

size_t th_os_file_entry_at(const void *bytes, size_t at, th_os_file_entry *out) {
    const char *begin = (const char *)bytes + at;
    entry e;
    memcpy(&e, begin, offsetof(entry, name));
    out->name = begin + offsetof(entry, name);
    out->inode = e.inode;
    out->kind = kind_of((mode_t)e.type << 12); /* the bits of a mode, put lower */
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
    if (th_os_fails(TH_OS_FAULT_WATCH_OPEN)) {
        return -EMFILE;
    }
    return (int)RETRY(inotify_init1(IN_NONBLOCK | IN_CLOEXEC));
}

static int64_t watch(request *r) {
    return inotify_add_watch(r->fd, r->path, to_theirs(r->flags, watch_bits, COUNT_OF(watch_bits)));
}

int th_os_watch_remove(int fd, int number) {
    return (int)RETRY(inotify_rm_watch(fd, number));
}

size_t th_os_watch_event_at(const void *bytes, size_t at, th_os_watch_event *out) {
    const char *begin = (const char *)bytes + at;
    struct inotify_event e;
    memcpy(&e, begin, sizeof e);
    out->watch = e.wd;
    out->what = to_ours(e.mask, watch_bits, COUNT_OF(watch_bits));
    out->pair = e.cookie;
    out->name = e.len ? begin + sizeof e : "";
    return at + sizeof e + e.len;
}

/* ---- */

static int64_t (*const calls[TH_OS_FILE_CALLS])(request *) = {
    [TH_OS_FILE_OPEN] = open_file,
    [TH_OS_FILE_READ] = read_at,
    [TH_OS_FILE_WRITE] = write_at,
    [TH_OS_FILE_ADD] = add,
    [TH_OS_FILE_FLUSH] = flush,
    [TH_OS_FILE_FLUSH_DATA] = flush_data,
    [TH_OS_FILE_RESIZE] = resize,
    [TH_OS_FILE_ALLOCATE] = allocate,
    [TH_OS_FILE_LOOK] = look,
    [TH_OS_FILE_RENAME] = rename_file,
    [TH_OS_FILE_UNLINK] = unlink_file,
    [TH_OS_FILE_RMDIR] = remove_directory,
    [TH_OS_FILE_MKDIR] = make_directory,
    [TH_OS_FILE_LINK] = link_file,
    [TH_OS_FILE_SYMLINK] = link_symbolically,
    [TH_OS_FILE_READLINK] = read_link,
    [TH_OS_FILE_CHMOD] = change_mode,
    [TH_OS_FILE_LIST] = list,
    [TH_OS_FILE_COPY] = copy,
    [TH_OS_FILE_LOCK] = lock,
    [TH_OS_FILE_WATCH] = watch,
};

/* A call that is to fail for a test does so as if the system had said it. */
static int64_t attempt(request *r) {
    const int code = th_os_fails_with((th_os_fault)(TH_OS_FAULT_FILE + (unsigned)r->call));
    if (code) {
        th_os_errno_set(-code);
        return -1;
    }
    return calls[r->call](r);
}

int64_t th_os_file_do(request *r) {
    return RETRY(attempt(r));
}
