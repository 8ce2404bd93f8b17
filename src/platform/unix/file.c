/*
 * file.c: calls on files, which may wait for a device or for another machine.
 */
#include "platform/unix/system.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/faults.h"
#include "platform/unix/file_bits.h"
#include "platform/unix/interrupted.h"

#ifdef O_DIRECT
#define DIRECT O_DIRECT
#else
#define DIRECT 0
#endif

#define BLOCK 512 /* the unit of st_blocks */

_Static_assert(TH_OS_FAULT_FILE_LAST - TH_OS_FAULT_FILE + 1 == TH_OS_FILE_CALLS,
               "a fault for each call");

/* ---- opening, and information ---- */

static int64_t open_file(th_file_request *r) {
    static const bit_pair pairs[] = {
        {TH_OS_FILE_CREATE, O_CREAT},      {TH_OS_FILE_EXCLUSIVE, O_EXCL},
        {TH_OS_FILE_TRUNCATED, O_TRUNC},   {TH_OS_FILE_APPEND, O_APPEND},
        {TH_OS_FILE_DIRECT, DIRECT},       {TH_OS_FILE_SYNC, O_SYNC},
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

bool th_os_file_waits(int fd) {
    return th_file_flags(fd) & (DIRECT | O_SYNC | O_DSYNC);
}

static int64_t ns_of(struct timespec t) {
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t look(th_file_request *r) {
    struct stat s;
    const int flags = r->flags & TH_OS_FILE_LINK_ITSELF ? AT_SYMLINK_NOFOLLOW : 0;
    const int code = r->path ? fstatat(AT_FDCWD, r->path, &s, flags) : fstat(r->fd, &s);
    if (code < 0) {
        return code;
    }
    r->info = (th_os_file_info){
        .kind = th_file_kind_of(s.st_mode),
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

/* ---- */

static int64_t call(th_file_request *r) {
    switch (r->call) {
    case TH_OS_FILE_OPEN:
        return open_file(r);
    case TH_OS_FILE_READ:
        return pread(r->fd, r->bytes, size_of(r), r->offset);
    case TH_OS_FILE_WRITE:
        return pwrite(r->fd, r->bytes, size_of(r), r->offset);
    case TH_OS_FILE_ADD:
        return th_system_file_add(r);
    case TH_OS_FILE_FLUSH:
        return fsync(r->fd);
    case TH_OS_FILE_FLUSH_DATA:
        return fdatasync(r->fd);
    case TH_OS_FILE_RESIZE:
        return ftruncate(r->fd, r->offset);
    case TH_OS_FILE_ALLOCATE:
        return th_system_file_allocate(r);
    case TH_OS_FILE_LOOK:
        return look(r);
    case TH_OS_FILE_RENAME:
        return r->flags & TH_OS_FILE_NO_REPLACE ? th_system_file_rename_new(r)
                                                : rename(r->path, r->other);
    case TH_OS_FILE_UNLINK:
        return unlink(r->path);
    case TH_OS_FILE_RMDIR:
        return rmdir(r->path);
    case TH_OS_FILE_MKDIR:
        return mkdir(r->path, (mode_t)r->mode);
    case TH_OS_FILE_LINK:
        return link(r->path, r->other);
    case TH_OS_FILE_SYMLINK:
        return symlink(r->path, r->other);
    case TH_OS_FILE_READLINK:
        return readlink(r->path, r->bytes, r->size);
    case TH_OS_FILE_CHMOD:
        return fchmod(r->fd, (mode_t)r->mode);
    case TH_OS_FILE_LIST:
        return th_system_file_list(r);
    case TH_OS_FILE_COPY:
        return th_system_file_copy(r);
    case TH_OS_FILE_LOCK:
        return th_system_file_lock(r);
    case TH_OS_FILE_WATCH:
    default:
        return th_system_file_watch(r);
    }
}

/* A call that is to fail for a test fails as if by the system. */
static int64_t attempt(th_file_request *r) {
    const int code = th_os_fails_with((th_os_fault)(TH_OS_FAULT_FILE + (unsigned)r->call));
    if (code) {
        th_os_errno_set(-code);
        return -1;
    }
    return call(r);
}

int64_t th_os_file_do(th_file_request *r) {
    return RETRY(attempt(r));
}
