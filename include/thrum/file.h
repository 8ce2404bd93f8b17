/*
 * thrum/file.h: files, directories, locks on files, and changes of files.
 *
 * A file is a thrum_io (thrum/io.h): thrum_io_close closes it, and thrum_read, thrum_write,
 * thrum_copy and streams go on from its position. The calls here say where.
 *
 * What the system has in memory is read at once, into the caller's memory. Whatever may wait for a
 * device, for another machine, or for another process becomes an operation, which a thread makes
 * that nothing else depends on: the task waits, and its worker goes on. A plain thread that would
 * wait without a deadline makes the call itself.
 *
 * Deadlines are absolute (thrum_after; THRUM_FOREVER). Each call here may suspend, unless it says
 * otherwise, and any thread may call it. At its deadline it returns -ETIMEDOUT, and -ECANCELED when
 * the caller is cancelled while it waits, at once, also when the system hangs; a call that need not
 * wait is not cut short by a cancel. After either code the operation was not begun, or it goes on
 * without the caller: what it does is done all the same, sooner or later, with its own copies of
 * paths and bytes. So after such a code a file may be renamed, written, or gone, or will be; what
 * an open would have opened is closed. Past its deadline no call tries anything; what a directory
 * or a buffer of changes holds already is told all the same.
 *
 * A close (thrum_io_close) does not wait for operations: they go on to their end, and the system
 * has the descriptor's number back when the last of them has ended. Calls that are under way stop
 * after the present operation: with what was transferred, or -EBADF. thrum_io_release of such a
 * descriptor returns a duplicate, with another number, or -EMFILE: then it is closed when the last
 * operation has ended.
 *
 * Other errors: -EINVAL for unknown flags, for negative offsets, and for NULL, but of the memory
 * for bytes, which has to be there; -ENOMEM; -EAGAIN when the system refuses a thread, and there
 * are none, or none has begun an operation for 100 ms;
 * -ENAMETOOLONG for paths of 4096 bytes and more; those of thrum/io.h for a stale thrum_io; and the
 * system's (-ENOENT, -EACCES, -EISDIR, -ENOSPC, -EIO, ...). Beyond the size that the process may
 * give a file (RLIMIT_FSIZE) the system raises SIGXFSZ, which ends the program; with that ignored
 * the code is -EFBIG. Each call says 0 where it names no other result. Paths are the process's:
 * relative ones begin at its working directory at the time when the operation is made.
 */
#ifndef THRUM_FILE_H
#define THRUM_FILE_H

#include "thrum/base.h"
#include "thrum/io.h"

THRUM_BEGIN_DECLS

/* ---- opening ---- */

/* How a file is opened, as bits: */
#define THRUM_FILE_READ 1u
#define THRUM_FILE_WRITE 2u
#define THRUM_FILE_CREATE 4u    /* if it is not there, with the mode */
#define THRUM_FILE_EXCLUSIVE 8u /* with CREATE: -EEXIST if it is there */
#define THRUM_FILE_TRUNCATE 16u /* to no bytes */
#define THRUM_FILE_APPEND 32u   /* all writes go to the end, also those that say where */
#define THRUM_FILE_DIRECT 64u /* past the system's memory: sizes, offsets by the device's blocks */
#define THRUM_FILE_SYNC 128u  /* a write is on the device when it returns */
#define THRUM_FILE_NOFOLLOW 256u  /* -ELOOP if the last name is a symbolic link */
#define THRUM_FILE_DIRECTORY 512u /* -ENOTDIR if it is none */

/*
 * Opens a file: the flags say what for, READ, WRITE or both, and how. `mode` has the permissions of
 * one that is made, less the process's umask. What is no file (a FIFO, a terminal) is taken over as
 * by thrum_io_adopt; a FIFO is opened when its other end is, and until then an operation waits. It
 * returns 0, -EINVAL for other flags, or the system's code: -ENOENT, -EACCES, -EMFILE, ...
 */
THRUM_API THRUM_NODISCARD int thrum_file_open(thrum_io *out, const char *path, unsigned flags,
                                              unsigned mode, thrum_time deadline);

/*
 * Takes over a file, a directory or a block device that is open already, as one from openat is or
 * one that another process has passed: what thrum_file_open is for those that have a path. From now
 * on only the library closes it, unless thrum_io_release gives it back. It never suspends. Errors,
 * with the descriptor still the caller's: -EINVAL for NULL and for what is no file (thrum_io_adopt
 * takes that); -EBADF; -EEXIST when it is taken over already; -ENOMEM.
 */
THRUM_API THRUM_NODISCARD int thrum_file_adopt(thrum_io *out, int fd);

/* ---- bytes ---- */

/*
 * Reads `size` bytes that begin at `offset`. Returns how many. Fewer: the file ends there, or an
 * error, the deadline or a cancel cut it short; a further call, from there, tells which. 0: the
 * end. If nothing was read, a code. Callers may read one file at the same time. A long read goes in
 * steps, between which a task lets others run, as by thrum_yield. -ESPIPE: it has no offsets.
 */
THRUM_API THRUM_NODISCARD int64_t thrum_file_pread(thrum_io io, void *to, size_t size,
                                                   int64_t offset, thrum_time deadline);
/* The same for several pieces of memory, in order, of at most THRUM_IOVECS_MAX. */
THRUM_API THRUM_NODISCARD int64_t thrum_file_preadv(thrum_io io, const thrum_iovec *parts,
                                                    unsigned n, int64_t offset,
                                                    thrum_time deadline);

/*
 * Writes `size` bytes at `offset`, in pieces of up to 1 MiB. Returns `size`; fewer: an error, the
 * deadline or a cancel cut it short, and a piece more may be written or will be. If nothing was
 * written, a code. Bytes are copied first where the system would have to wait.
 */
THRUM_API THRUM_NODISCARD int64_t thrum_file_pwrite(thrum_io io, const void *from, size_t size,
                                                    int64_t offset, thrum_time deadline);
THRUM_API THRUM_NODISCARD int64_t thrum_file_pwritev(thrum_io io, const thrum_iovec *parts,
                                                     unsigned n, int64_t offset,
                                                     thrum_time deadline);
/*
 * Writes at the end, wherever that is; what others append does not come inside a piece. Where the
 * system has no call for it (before Linux 4.16, some sandboxes) only a file that was opened with
 * THRUM_FILE_APPEND can: others say what the system says, -EOPNOTSUPP, -ENOSYS or a sandbox's code.
 */
THRUM_API THRUM_NODISCARD int64_t thrum_file_append(thrum_io io, const void *from, size_t size,
                                                    thrum_time deadline);

/*
 * Copies up to `size` bytes from one file to another, inside the system where it can: blocks are
 * shared where the file system does that. Returns how many; fewer as for thrum_file_pread. The two
 * places must not overlap in one file.
 */
THRUM_API THRUM_NODISCARD int64_t thrum_file_copy(thrum_io from, int64_t from_offset, thrum_io to,
                                                  int64_t to_offset, uint64_t size,
                                                  thrum_time deadline);

/* ---- a file as a whole ---- */

/*
 * Reads a whole file, by its path, in one operation. Returns how many bytes it has; -EFBIG when it
 * has more than `size`, and then what `to` holds is not said.
 */
THRUM_API THRUM_NODISCARD int64_t thrum_file_load(const char *path, void *to, size_t size,
                                                  thrum_time deadline);

/*
 * Replaces a file by one with these bytes, at once and durably: whoever opens it finds the old
 * bytes or the new ones, also after a power failure, and when this returns 0 the new ones. It
 * writes another file in the same directory (.thrum-...), waits until the device has it, renames
 * it, and waits until the device has the directory. On an error the old file is as it was, or, if
 * only the directory could not be brought to the device, the new one is in its place, which a power
 * failure may undo; at a deadline or a cancel it may be replaced yet. A process that is killed
 * meanwhile leaves the other file behind. `mode`: its permissions; 0: those of the file that is
 * there, without set-user-ID and the like, else 0666 less the umask. A symbolic link is replaced,
 * not what it points to.
 */
THRUM_API THRUM_NODISCARD int thrum_file_replace(const char *path, const void *from, size_t size,
                                                 unsigned mode, thrum_time deadline);

/*
 * Waits until the device has what was written; the second leaves times and the like out. They
 * return 0, or the system's code: after -EIO what was written before may be lost, and the next call
 * may not say so again.
 */
THRUM_API THRUM_NODISCARD int thrum_file_sync(thrum_io io, thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_file_sync_data(thrum_io io, thrum_time deadline);

/*
 * Sets the size: what is beyond is cut off, what is missing is zero. It returns 0, -EINVAL for a
 * negative one, or the system's code.
 */
THRUM_API THRUM_NODISCARD int thrum_file_truncate(thrum_io io, int64_t size, thrum_time deadline);

/*
 * Has the device keep room for these bytes, so that writes there do not meet -ENOSPC; the file
 * grows, unless the flags say KEEP_SIZE. With PUNCH the bytes become zero instead, and their room
 * is given back. -EOPNOTSUPP: the file system cannot do it.
 */
#define THRUM_FILE_KEEP_SIZE 1u
#define THRUM_FILE_PUNCH 2u
THRUM_API THRUM_NODISCARD int thrum_file_allocate(thrum_io io, int64_t offset, uint64_t size,
                                                  unsigned flags, thrum_time deadline);

/* What stands behind a name. */
typedef enum thrum_file_kind {
    THRUM_FILE_UNKNOWN,
    THRUM_FILE_REGULAR,
    THRUM_FILE_FOLDER, /* a directory; THRUM_FILE_DIRECTORY is a flag of opens */
    THRUM_FILE_SYMLINK,
    THRUM_FILE_FIFO,
    THRUM_FILE_SOCKET,
    THRUM_FILE_CHARACTER,
    THRUM_FILE_BLOCK
} thrum_file_kind;

/* What is known of a file. */
typedef struct thrum_file_info {
    uint32_t kind; /* a thrum_file_kind */
    uint32_t mode; /* permissions: 0755, with the bits above them */
    uint32_t user;
    uint32_t group;
    uint64_t links;
    uint64_t size;
    uint64_t allocated; /* bytes on the device */
    uint64_t device;
    uint64_t inode;
    int64_t modified; /* nanoseconds since 1970, as the next two */
    int64_t accessed;
    int64_t changed; /* the last time that anything of this was */
} thrum_file_info;

/*
 * Tells what a path names, with LINK of a symbolic link itself; or of what is open. It returns 0,
 * -EINVAL for other flags, -ENOENT, or another code of the system's.
 */
#define THRUM_FILE_LINK 1u
THRUM_API THRUM_NODISCARD int thrum_file_stat(const char *path, unsigned flags,
                                              thrum_file_info *out, thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_file_stat_io(thrum_io io, thrum_file_info *out,
                                                 thrum_time deadline);

/* ---- names ---- */

/*
 * Gives a file another name, at once: one that has that name is replaced, or, with NO_REPLACE,
 * -EEXIST. It returns 0 or the system's code: -EXDEV between file systems.
 */
#define THRUM_FILE_NO_REPLACE 1u
THRUM_API THRUM_NODISCARD int thrum_file_rename(const char *from, const char *to, unsigned flags,
                                                thrum_time deadline);
/* Takes a name away: of a file; of an empty directory. It returns 0, -ENOENT, -ENOTEMPTY, ... */
THRUM_API THRUM_NODISCARD int thrum_file_unlink(const char *path, thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_file_rmdir(const char *path, thrum_time deadline);
/* Makes a directory, with these permissions less the umask. It returns 0, -EEXIST, ... */
THRUM_API THRUM_NODISCARD int thrum_file_mkdir(const char *path, unsigned mode,
                                               thrum_time deadline);
/* Gives a file one more name; makes a symbolic link that has this text. As above: 0, -EEXIST. */
THRUM_API THRUM_NODISCARD int thrum_file_link(const char *path, const char *name,
                                              thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_file_symlink(const char *text, const char *name,
                                                 thrum_time deadline);
/* Reads a symbolic link's text, with a zero behind it. Returns its length; -ERANGE: no room. */
THRUM_API THRUM_NODISCARD int thrum_file_readlink(const char *path, char *text, size_t size,
                                                  thrum_time deadline);

/* ---- directories ---- */

typedef struct thrum_dir thrum_dir; /* a directory that is read; freed by thrum_dir_close */

/* An entry of a directory. */
typedef struct thrum_dir_entry {
    const char *name; /* valid until the next call on the directory */
    uint64_t inode;
    uint32_t kind; /* a thrum_file_kind; UNKNOWN where the file system does not tell */
} thrum_dir_entry;

/*
 * Opens a directory to be read, and reads its entries, in no order, without "." and "..": 1 and an
 * entry, or 0: there are no more. Many come with one operation, so most calls do not wait. After
 * -ETIMEDOUT and -ECANCELED the next call goes on from there, and no entry is lost. One caller at a
 * time may use a directory. thrum_dir_close never fails; it does not suspend.
 */
THRUM_API THRUM_NODISCARD int thrum_dir_open(thrum_dir **out, const char *path,
                                             thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_dir_next(thrum_dir *dir, thrum_dir_entry *out,
                                             thrum_time deadline);
THRUM_API void thrum_dir_close(thrum_dir *dir);

/* ---- locks ---- */

/*
 * Lock a whole file, against other processes and other opens of it: shared (for READ), or exclusive
 * (for WRITE). The lock belongs to this open, to none of its callers: two of them may have it, and
 * a lock of the other kind takes the place of the first one. It ends with thrum_file_unlock or a
 * close. Such locks are advisory. While others have it, it is tried again, at first after a
 * millisecond, later every 50. thrum_file_try_lock says -EBUSY then. After an error the lock is as
 * it was before, with one exception: a change from exclusive to shared that came too late may stay,
 * if another process has got the shared lock meanwhile. thrum_file_try_lock also says -EBUSY while
 * another caller with the same thrum_io is locking it.
 */
THRUM_API THRUM_NODISCARD int thrum_file_lock(thrum_io io, unsigned kind, thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_file_try_lock(thrum_io io, unsigned kind);
/* Gives it up; no cancel ends that. It returns 0, -EBADF, -ENOMEM, or the system's code. */
THRUM_API int thrum_file_unlock(thrum_io io);

/* ---- changes ---- */

/*
 * What is told of, as bits; the last three are told unasked. On Windows WRITTEN is refused
 * (-EOPNOTSUPP); names of files, names of directories, and attributes are each told in their order,
 * and not in that of the others; and what moves between directories may be CREATED and DELETED. On
 * systems that are neither Linux nor Windows changes are not told (-ENOSYS).
 */
#define THRUM_WATCH_CREATED 1u  /* a name appeared in the directory */
#define THRUM_WATCH_DELETED 2u  /* ... was taken away */
#define THRUM_WATCH_MODIFIED 4u /* bytes were written or cut off */
#define THRUM_WATCH_WRITTEN 8u  /* what was open for writing was closed */
#define THRUM_WATCH_MOVED_FROM 16u
#define THRUM_WATCH_MOVED_TO 32u
#define THRUM_WATCH_ATTRIBUTES 64u
#define THRUM_WATCH_SELF_DELETED 128u /* what is watched itself */
#define THRUM_WATCH_SELF_MOVED 256u
#define THRUM_WATCH_ENDED 512u      /* the watch is gone, with what it watched or by a remove */
#define THRUM_WATCH_OVERFLOW 1024u  /* events were lost: look at everything again */
#define THRUM_WATCH_DIRECTORY 2048u /* beside another one: it is about a directory */

/*
 * Makes a descriptor that tells of changes; thrum_io_close ends it. On Windows it is the library's
 * alone: to release it, or to adopt it as a shared one, is -EOPNOTSUPP. It never suspends. -EMFILE,
 * -ENFILE, -ENOMEM.
 */
THRUM_API THRUM_NODISCARD int thrum_watch_open(thrum_io *out);

/*
 * Watches a file, or a directory and what is directly in it, for `what`. Returns the watch's
 * number; a path that is watched already has the same one, and is watched for this from now on.
 * -ENOSPC: the user has too many; -EOPNOTSUPP: the system never tells this. thrum_watch_remove
 * never suspends; -EINVAL: there is none.
 */
THRUM_API THRUM_NODISCARD int thrum_watch_add(thrum_io io, const char *path, unsigned what,
                                              thrum_time deadline);
THRUM_API int thrum_watch_remove(thrum_io io, int watch);

/* A change. */
typedef struct thrum_watch_event {
    int watch;        /* its number, -1 for OVERFLOW */
    uint32_t what;    /* bits of the above */
    uint32_t pair;    /* both halves of a move have the same; else 0 */
    const char *name; /* in the directory, or ""; valid until the next call with the buffer */
} thrum_watch_event;

/* Events that were read and not told yet; it belongs to the one caller that reads. */
typedef struct thrum_watch_buffer {
    uint64_t reserved_words[512];
    size_t reserved_at;
    size_t reserved_size;
} thrum_watch_buffer;

/* Begins a buffer, without any event. It never suspends. */
THRUM_API void thrum_watch_buffer_init(thrum_watch_buffer *buffer);

/*
 * Waits for the next event, and tells it. It returns 0, -ETIMEDOUT or -ECANCELED, with which none
 * is lost; -EINVAL: the descriptor is no watch, and bytes of it were read that are no event.
 */
THRUM_API THRUM_NODISCARD int thrum_watch_next(thrum_io io, thrum_watch_buffer *buffer,
                                               thrum_watch_event *out, thrum_time deadline);

THRUM_END_DECLS

#endif
