/*
 * thrum/file.h: files, directories, locks on files, and changes of files. A file is a thrum_io
 * (thrum/io.h): thrum_io_close closes it, and thrum_read, thrum_write, thrum_copy and streams use
 * its position. The calls here have explicit offsets.
 *
 * Bytes in the page cache are read at once, into the caller's memory. A call that may wait for a
 * device, another machine or another process becomes an operation. A thread on which nothing else
 * depends makes it, the task waits, and its worker runs other tasks. A plain thread without a
 * deadline makes the call itself.
 *
 * Deadlines are absolute (thrum_after; THRUM_FOREVER). A call returns -ETIMEDOUT at its deadline,
 * and -ECANCELED when its caller is cancelled while it waits. It returns at once, even if the
 * system hangs. A cancel does not cut a call short that need not wait. After either code the
 * operation was not begun, or it goes on without the caller, with its own copies of paths and
 * bytes. So a file may be renamed, written or removed later; a file that it would have opened is
 * closed. Past its deadline a call tries nothing. Entries and events that a directory or a buffer
 * already holds are returned all the same.
 *
 * A close (thrum_io_close) does not wait for operations. They go on to their end, and the system
 * gets the descriptor's number back when the last of them has ended. Calls under way stop after the
 * present operation, with the bytes that were transferred or -EBADF. thrum_io_release of such a
 * descriptor returns a duplicate with another number; if it returns -EMFILE, the descriptor is
 * closed when the last operation has ended.
 *
 * Paths belong to the process: relative ones begin at its working directory at the time of the
 * operation. Pointers to memory for bytes are not checked for NULL. If a file would become larger
 * than RLIMIT_FSIZE, the system raises SIGXFSZ, which ends the process. If that signal is ignored,
 * the code is -EFBIG.
 *
 * Any thread may make all calls here.
 */
#ifndef THRUM_FILE_H
#define THRUM_FILE_H

#include "thrum/base.h"
#include "thrum/io.h"

THRUM_BEGIN_DECLS

/* ---- opening ---- */

#define THRUM_FILE_READ 1u   /* a flag of thrum_file_open: to read; a kind of lock: shared */
#define THRUM_FILE_WRITE 2u  /* a flag of thrum_file_open: to write; a kind of lock: exclusive */
#define THRUM_FILE_CREATE 4u /* a flag of thrum_file_open: a missing file is made, with the mode */
#define THRUM_FILE_EXCLUSIVE 8u /* with THRUM_FILE_CREATE: -EEXIST if the file exists */
#define THRUM_FILE_TRUNCATE 16u /* a flag of thrum_file_open: the file is cut to no bytes */
#define THRUM_FILE_APPEND 32u   /* all writes go to the end, even if they have an offset */
/* Transfers bypass the page cache: sizes and offsets must be multiples of the device's blocks. */
#define THRUM_FILE_DIRECT 64u
#define THRUM_FILE_SYNC 128u      /* the bytes of a write are on the device when it returns */
#define THRUM_FILE_NOFOLLOW 256u  /* -ELOOP if the last name of the path is a symbolic link */
#define THRUM_FILE_DIRECTORY 512u /* -ENOTDIR if the path is no directory */

/*
 * Opens a file.
 *
 * A FIFO, a terminal or the like is taken over as by thrum_io_adopt. A FIFO is opened when its
 * other end is; until then an operation waits.
 *
 * Parameters:
 *   out       set to the file, which is the caller's to close
 *   path      its path; copied
 *   flags     THRUM_FILE_READ, THRUM_FILE_WRITE or both, and other THRUM_FILE_ flags
 *   mode      the permissions of a file that is made, less the process's umask
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 0, or a negative error code. Codes not listed below are the system's.
 * Errors:
 *   -EINVAL           a pointer is NULL, or the flags are unknown or neither read nor write
 *   -ENOENT           there is no such file or directory
 *   -EEXIST           the file exists (THRUM_FILE_EXCLUSIVE)
 *   -EACCES           the process may not open it so
 *   -EISDIR           a directory was to be written
 *   -ENOTDIR          a part of the path is no directory (THRUM_FILE_DIRECTORY: the whole)
 *   -ELOOP            there are too many symbolic links (THRUM_FILE_NOFOLLOW: one)
 *   -EMFILE, -ENFILE  the process or the system has too many descriptors
 *   -ENAMETOOLONG     a path has 4096 bytes or more, or a name is too long for the file system
 *   -ETIMEDOUT        the deadline passed; the operation may still be made
 *   -ECANCELED        the caller was cancelled; the operation may still be made
 *   -ESHUTDOWN        in the child of a fork: the call would wait
 *   -EAGAIN           the system refuses a thread, and none has begun an operation for 100 ms
 *   -ENOMEM           there is no memory
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    thrum_io file;
 *    int err = thrum_file_open(&file, "log.txt", THRUM_FILE_WRITE | THRUM_FILE_CREATE, 0644,
 *                              thrum_after_s(5));
 * See also: thrum_file_adopt, thrum_file_pread, thrum_file_load, thrum_io_close
 */
THRUM_API THRUM_NODISCARD int thrum_file_open(thrum_io *out, const char *path, unsigned flags,
                                              unsigned mode, thrum_time deadline);

/*
 * Takes over a file that is already open, a directory or a block device. It may come from openat or
 * another process, for example. From then on only the library closes it, unless thrum_io_release
 * gives it back.
 *
 * Parameters:
 *   out  set to the file
 *   fd   the descriptor
 * Returns: 0, or a negative error code; the descriptor is then still the caller's.
 * Errors:
 *   -EINVAL  `out` is NULL, or `fd` is no file (thrum_io_adopt takes such)
 *   -EBADF   `fd` is no open descriptor
 *   -EEXIST  the library has taken it over already
 *   -ENOMEM  there is no memory
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    thrum_io file;
 *    int err = thrum_file_adopt(&file, openat(directory, "data", O_RDONLY | O_CLOEXEC));
 * See also: thrum_file_open, thrum_io_adopt, thrum_io_release
 */
THRUM_API THRUM_NODISCARD int thrum_file_adopt(thrum_io *out, int fd);

/* ---- bytes ---- */

/*
 * Reads bytes at an offset, into one or several pieces of memory. Several callers may read a file
 * at the same time.
 *
 * A long read goes in steps, between which a task yields (thrum_yield). If fewer bytes than asked
 * for were read, the file ends there, or an error, the deadline or a cancel cut the call short.
 * Another call from there returns the end or the code.
 *
 * Parameters:
 *   io        the file
 *   to        memory for `size` bytes
 *   size      how many bytes to read
 *   parts     the pieces of memory, in order
 *   n         how many pieces, at most THRUM_IOVECS_MAX
 *   offset    the position of the first byte in the file
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: the number of bytes, 0 at the end of the file, or a negative error code if none was
 *   read. Codes not listed below are the system's.
 * Errors:
 *   -EINVAL     the offset is negative, `parts` is NULL, or there are too many pieces or bytes
 *   -ESPIPE     `io` has no offsets
 *   -EISDIR     `io` is a directory
 *   -EIO        the device has failed
 *   -EBADF      `io` is stale or not open for reading, or was closed or released during the call
 *   -ETIMEDOUT  the deadline passed; the operation may still be made
 *   -ECANCELED  the caller was cancelled; the operation may still be made
 *   -ESHUTDOWN  in the child of a fork: `io` is the parent's, or the call would wait
 *   -EAGAIN     the system refuses a thread, and none has begun an operation for 100 ms
 *   -ENOMEM     there is no memory
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    int64_t n = thrum_file_pread(file, block, sizeof block, 4096, thrum_after_s(5));
 * See also: thrum_file_open, thrum_file_load, thrum_file_pwrite, thrum_read
 */
THRUM_API THRUM_NODISCARD int64_t thrum_file_pread(thrum_io io, void *to, size_t size,
                                                   int64_t offset, thrum_time deadline);
THRUM_API THRUM_NODISCARD int64_t thrum_file_preadv(thrum_io io, const thrum_iovec *parts,
                                                    unsigned n, int64_t offset,
                                                    thrum_time deadline);

/*
 * Writes bytes at an offset, from one or several pieces of memory. It goes in steps of up to 1 MiB.
 * If the system would have to wait, the bytes of a step are copied first.
 *
 * If an error, the deadline or a cancel cuts the call short, one step beyond the result may be
 * written now or later.
 *
 * Parameters:
 *   io        the file
 *   from      the bytes
 *   size      how many bytes
 *   parts     the pieces of memory, in order
 *   n         how many pieces, at most THRUM_IOVECS_MAX
 *   offset    the position of the first byte in the file; ignored with THRUM_FILE_APPEND
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: the number of all bytes, or fewer if the call was cut short after so many; a negative
 *   error code if none was written. Codes not listed below are the system's.
 * Errors:
 *   -EINVAL     the offset is negative, `parts` is NULL, or there are too many pieces or bytes
 *   -ESPIPE     `io` has no offsets
 *   -ENOSPC     the device is full
 *   -EFBIG      the file would become too large
 *   -EIO        the device has failed
 *   -EBADF      `io` is stale or not open for writing, or was closed or released during the call
 *   -ETIMEDOUT  the deadline passed; the operation may still be made
 *   -ECANCELED  the caller was cancelled; the operation may still be made
 *   -ESHUTDOWN  in the child of a fork: `io` is the parent's, or the call would wait
 *   -EAGAIN     the system refuses a thread, and none has begun an operation for 100 ms
 *   -ENOMEM     there is no memory
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    if (thrum_file_pwrite(file, block, size, 4096, thrum_after_s(5)) == (int64_t)size) {
 *        err = thrum_file_sync_data(file, THRUM_FOREVER);
 *    }
 * See also: thrum_file_append, thrum_file_replace, thrum_file_sync, thrum_write
 */
THRUM_API THRUM_NODISCARD int64_t thrum_file_pwrite(thrum_io io, const void *from, size_t size,
                                                    int64_t offset, thrum_time deadline);
THRUM_API THRUM_NODISCARD int64_t thrum_file_pwritev(thrum_io io, const thrum_iovec *parts,
                                                     unsigned n, int64_t offset,
                                                     thrum_time deadline);

/*
 * Writes bytes at the end of a file, in steps of up to 1 MiB. Bytes that others append do not come
 * inside a step.
 *
 * If the system has no call for it (before Linux 4.16, in some sandboxes), the file must have been
 * opened with THRUM_FILE_APPEND.
 *
 * Parameters:
 *   io        the file
 *   from      the bytes
 *   size      how many bytes
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: `size`, or fewer if the call was cut short after so many; a negative error code if none
 *   was written. Codes not listed below are the system's.
 * Errors:
 *   -EOPNOTSUPP, -ENOSYS  the system has no call for it; a sandbox may return another code
 *   -ESPIPE               `io` has no offsets
 *   -ENOSPC               the device is full
 *   -EFBIG                the file would become too large
 *   -EIO                  the device has failed
 *   -EBADF                `io` is stale or not open for writing, or was closed or released during
 *                         the call
 *   -ETIMEDOUT            the deadline passed; the operation may still be made
 *   -ECANCELED            the caller was cancelled; the operation may still be made
 *   -ESHUTDOWN            in the child of a fork: `io` is the parent's, or the call would wait
 *   -EAGAIN               the system refuses a thread, and none has begun an operation for 100 ms
 *   -ENOMEM               there is no memory
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    int64_t n = thrum_file_append(log, line, length, thrum_after_s(1));
 * See also: thrum_file_pwrite
 */
THRUM_API THRUM_NODISCARD int64_t thrum_file_append(thrum_io io, const void *from, size_t size,
                                                    thrum_time deadline);

/*
 * Copies bytes from one file to another, inside the system if it can. A file system that can share
 * blocks does so.
 *
 * If fewer bytes than asked for were copied, `from` ends there, or an error, the deadline or a
 * cancel cut the call short. Another call from there returns 0 or the code.
 *
 * Parameters:
 *   from         the file to read
 *   from_offset  the position of the first byte there
 *   to           the file to write
 *   to_offset    its position in `to`; the two ranges must not overlap in one file
 *   size         the most bytes to copy
 *   deadline     when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: the number of bytes, 0 at the end of `from`, or a negative error code if none was
 *   copied. Codes not listed below are the system's.
 * Errors:
 *   -EINVAL     an offset is negative, or the ranges overlap in one file
 *   -ENOSPC     the device is full
 *   -EFBIG      the file would become too large
 *   -EIO        a device has failed
 *   -EBADF      a file is stale or not open in that way, or was closed or released during the call
 *   -ETIMEDOUT  the deadline passed; the operation may still be made
 *   -ECANCELED  the caller was cancelled; the operation may still be made
 *   -ESHUTDOWN  in the child of a fork: a file is the parent's, or the call would wait
 *   -EAGAIN     the system refuses a thread, and none has begun an operation for 100 ms
 *   -ENOMEM     there is no memory
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    int64_t n = thrum_file_copy(from, 0, to, 0, UINT64_MAX, THRUM_FOREVER);
 * See also: thrum_copy, thrum_file_pread, thrum_file_pwrite
 */
THRUM_API THRUM_NODISCARD int64_t thrum_file_copy(thrum_io from, int64_t from_offset, thrum_io to,
                                                  int64_t to_offset, uint64_t size,
                                                  thrum_time deadline);

/* ---- a file as a whole ---- */

/*
 * Reads a whole file in one operation.
 *
 * Parameters:
 *   path      the file's path; copied
 *   to        memory for `size` bytes
 *   size      the most bytes that the file may have
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: how many bytes the file has, or a negative error code; the contents of `to` are then
 *   undefined. Codes not listed below are the system's.
 * Errors:
 *   -EINVAL           a pointer is NULL, or `size` is at least half of SIZE_MAX
 *   -EFBIG            the file has more than `size` bytes
 *   -ENOENT           there is no such file or directory
 *   -EACCES           the process may not read it
 *   -EISDIR           it is a directory
 *   -EMFILE, -ENFILE  the process or the system has too many descriptors
 *   -EIO              the device has failed
 *   -ENAMETOOLONG     a path has 4096 bytes or more, or a name is too long for the file system
 *   -ETIMEDOUT        the deadline passed; the operation may still be made
 *   -ECANCELED        the caller was cancelled; the operation may still be made
 *   -ESHUTDOWN        in the child of a fork: the call would wait
 *   -EAGAIN           the system refuses a thread, and none has begun an operation for 100 ms
 *   -ENOMEM           there is no memory
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    int64_t n = thrum_file_load("settings.json", text, sizeof text, thrum_after_s(5));
 * See also: thrum_file_replace, thrum_file_pread
 */
THRUM_API THRUM_NODISCARD int64_t thrum_file_load(const char *path, void *to, size_t size,
                                                  thrum_time deadline);

/*
 * Replaces a file by one with new bytes, atomically and durably. An open finds the old bytes or the
 * new ones, even after a power failure. When the call has returned 0, it is the new ones.
 *
 * The call writes another file in the same directory (.thrum-...) and waits until the device has
 * it. Then it renames that file, and waits until the device has the directory. After an error the
 * old file is unchanged. There is one exception. If only the directory could not be written to the
 * device, the new file is in its place, and a power failure may undo that. After a deadline or a
 * cancel the file may still be replaced. A process that is killed during the call leaves the other
 * file behind. A symbolic link is replaced itself.
 *
 * Parameters:
 *   path      the file's path; copied
 *   from      the bytes; copied
 *   size      how many bytes
 *   mode      its permissions; 0: those of the old file without set-user-ID and the like, or 0666
 *             less the umask if there is none
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 0, or a negative error code. Codes not listed below are the system's.
 * Errors:
 *   -EINVAL           a pointer is NULL, `mode` has other bits than 07777, or `size` is at least
 *                     half of SIZE_MAX
 *   -ENOENT           there is no such directory
 *   -EACCES           the process may not write in the directory, or read it
 *   -EISDIR           it is a directory
 *   -EMFILE, -ENFILE  the process or the system has too many descriptors
 *   -ENOSPC           the device is full
 *   -EIO              the device has failed
 *   -ENAMETOOLONG     a path has 4096 bytes or more, or a name is too long for the file system
 *   -ETIMEDOUT        the deadline passed; the operation may still be made
 *   -ECANCELED        the caller was cancelled; the operation may still be made
 *   -ESHUTDOWN        in the child of a fork: the call would wait
 *   -EAGAIN           the system refuses a thread, and none has begun an operation for 100 ms
 *   -ENOMEM           there is no memory
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    int err = thrum_file_replace("settings.json", text, length, 0, thrum_after_s(5));
 * See also: thrum_file_load, thrum_file_sync, thrum_file_rename
 */
THRUM_API THRUM_NODISCARD int thrum_file_replace(const char *path, const void *from, size_t size,
                                                 unsigned mode, thrum_time deadline);

/*
 * Waits until the device has the bytes that were written. thrum_file_sync_data omits times and the
 * like.
 *
 * After -EIO bytes that were written before may be lost, and the next call may not report it again.
 *
 * Parameters:
 *   io        the file
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 0, or a negative error code. Codes not listed below are the system's.
 * Errors:
 *   -EIO        the device has failed
 *   -ENOSPC     the device is full
 *   -EINVAL     `io` cannot be synchronized
 *   -EBADF      `io` is stale, or was closed or released during the call
 *   -ETIMEDOUT  the deadline passed; the operation may still be made
 *   -ECANCELED  the caller was cancelled; the operation may still be made
 *   -ESHUTDOWN  in the child of a fork: `io` is the parent's, or the call would wait
 *   -EAGAIN     the system refuses a thread, and none has begun an operation for 100 ms
 *   -ENOMEM     there is no memory
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    int err = thrum_file_sync(file, thrum_after_s(30));
 * See also: thrum_file_pwrite, thrum_file_replace
 */
THRUM_API THRUM_NODISCARD int thrum_file_sync(thrum_io io, thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_file_sync_data(thrum_io io, thrum_time deadline);

/*
 * Sets the size of a file. Bytes beyond it are cut off; missing bytes become zero.
 *
 * Parameters:
 *   io        the file
 *   size      the new size, in bytes
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 0, or a negative error code. Codes not listed below are the system's.
 * Errors:
 *   -EINVAL     the size is negative, or `io` is not open for writing
 *   -EFBIG      the size is too large
 *   -EIO        the device has failed
 *   -EBADF      `io` is stale, or was closed or released during the call
 *   -ETIMEDOUT  the deadline passed; the operation may still be made
 *   -ECANCELED  the caller was cancelled; the operation may still be made
 *   -ESHUTDOWN  in the child of a fork: `io` is the parent's, or the call would wait
 *   -EAGAIN     the system refuses a thread, and none has begun an operation for 100 ms
 *   -ENOMEM     there is no memory
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    int err = thrum_file_truncate(file, 0, thrum_after_s(5));
 * See also: thrum_file_allocate
 */
THRUM_API THRUM_NODISCARD int thrum_file_truncate(thrum_io io, int64_t size, thrum_time deadline);

/* A flag of thrum_file_allocate: the size of the file stays. */
#define THRUM_FILE_KEEP_SIZE 1u
/* A flag of thrum_file_allocate: the bytes become zero and their blocks are freed. */
#define THRUM_FILE_PUNCH 2u

/*
 * Reserves blocks of the device for a range of a file. Writes there then do not return -ENOSPC. The
 * file grows to the end of the range, unless THRUM_FILE_KEEP_SIZE is set. With THRUM_FILE_PUNCH the
 * range becomes zero, and its blocks are freed.
 *
 * Parameters:
 *   io        the file
 *   offset    the first byte of the range
 *   size      its length in bytes, at least 1
 *   flags     0, THRUM_FILE_KEEP_SIZE, THRUM_FILE_PUNCH or both
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 0, or a negative error code. Codes not listed below are the system's.
 * Errors:
 *   -EINVAL      the range is empty, negative or too long, or the flags are unknown
 *   -EOPNOTSUPP  the file system cannot do it
 *   -ENOSPC      the device is full
 *   -EFBIG       the file would become too large
 *   -EIO         the device has failed
 *   -EBADF       `io` is stale or not open for writing, or was closed or released during the call
 *   -ETIMEDOUT   the deadline passed; the operation may still be made
 *   -ECANCELED   the caller was cancelled; the operation may still be made
 *   -ESHUTDOWN   in the child of a fork: `io` is the parent's, or the call would wait
 *   -EAGAIN      the system refuses a thread, and none has begun an operation for 100 ms
 *   -ENOMEM      there is no memory
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    int err = thrum_file_allocate(file, 0, (uint64_t)1 << 30, 0, thrum_after_s(30));
 * See also: thrum_file_truncate
 */
THRUM_API THRUM_NODISCARD int thrum_file_allocate(thrum_io io, int64_t offset, uint64_t size,
                                                  unsigned flags, thrum_time deadline);

/* The kind of a file. */
typedef enum thrum_file_kind {
    THRUM_FILE_UNKNOWN,   /* the system does not report it */
    THRUM_FILE_REGULAR,   /* a regular file */
    THRUM_FILE_FOLDER,    /* a directory; THRUM_FILE_DIRECTORY is a flag of opens */
    THRUM_FILE_SYMLINK,   /* a symbolic link */
    THRUM_FILE_FIFO,      /* a FIFO */
    THRUM_FILE_SOCKET,    /* a UNIX socket */
    THRUM_FILE_CHARACTER, /* a character device */
    THRUM_FILE_BLOCK      /* a block device */
} thrum_file_kind;

/* The properties of a file, as thrum_file_stat writes them. */
typedef struct thrum_file_info {
    uint32_t kind;      /* a thrum_file_kind */
    uint32_t mode;      /* permissions: 0755, with the bits above them */
    uint32_t user;      /* the owner's number */
    uint32_t group;     /* the group's number */
    uint64_t links;     /* how many names it has */
    uint64_t size;      /* bytes */
    uint64_t allocated; /* bytes on the device */
    uint64_t device;    /* the number of the device that it is on */
    uint64_t inode;     /* its number there */
    int64_t modified;   /* when its bytes were last changed, ns since 1970 */
    int64_t accessed;   /* when it was last read, ns since 1970 */
    int64_t changed;    /* when any of this was last changed, ns since 1970 */
} thrum_file_info;

/* A flag of thrum_file_stat: a symbolic link is not followed. */
#define THRUM_FILE_LINK 1u

/*
 * Reads the properties of a file. The file has a path (thrum_file_stat) or is open
 * (thrum_file_stat_io).
 *
 * Parameters:
 *   path      the path; copied
 *   io        the open file
 *   flags     0, or THRUM_FILE_LINK for a symbolic link itself
 *   out       set to the properties
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 0, or a negative error code; `*out` is unchanged then. Codes not listed below are the
 *   system's.
 * Errors:
 *   -EINVAL        a pointer is NULL, or the flags are unknown
 *   -ENOENT        there is no such file or directory
 *   -EACCES        the process may not search a directory of the path
 *   -ENOTDIR       a part of the path is no directory
 *   -EBADF         `io` is stale
 *   -ENAMETOOLONG  a path has 4096 bytes or more, or a name is too long for the file system
 *   -ETIMEDOUT     the deadline passed; the operation may still be made
 *   -ECANCELED     the caller was cancelled; the operation may still be made
 *   -ESHUTDOWN     in the child of a fork: the call would wait
 *   -EAGAIN        the system refuses a thread, and none has begun an operation for 100 ms
 *   -ENOMEM        there is no memory
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    thrum_file_info info;
 *    if (thrum_file_stat("data", 0, &info, thrum_after_s(5)) == 0) {
 *        printf("%llu bytes\n", (unsigned long long)info.size);
 *    }
 * See also: thrum_dir_next
 */
THRUM_API THRUM_NODISCARD int thrum_file_stat(const char *path, unsigned flags,
                                              thrum_file_info *out, thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_file_stat_io(thrum_io io, thrum_file_info *out,
                                                 thrum_time deadline);

/* ---- names ---- */

/* A flag of thrum_file_rename: -EEXIST if there is a file of the new name. */
#define THRUM_FILE_NO_REPLACE 1u

/*
 * Gives a file another name, atomically. A file that has the new name already is replaced, unless
 * THRUM_FILE_NO_REPLACE is set.
 *
 * Parameters:
 *   from      the old path; copied
 *   to        the new path; copied
 *   flags     0 or THRUM_FILE_NO_REPLACE
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 0, or a negative error code. Codes not listed below are the system's.
 * Errors:
 *   -EINVAL        a pointer is NULL, the flags are unknown, or a directory would move into itself
 *   -ENOENT        there is no such file or directory
 *   -EEXIST        there is a file of the new name (THRUM_FILE_NO_REPLACE)
 *   -EACCES        the process may not change a directory
 *   -EXDEV         the paths are on different file systems
 *   -ENOTEMPTY     the new name is that of a directory that is not empty
 *   -ENAMETOOLONG  a path has 4096 bytes or more, or a name is too long for the file system
 *   -ETIMEDOUT     the deadline passed; the operation may still be made
 *   -ECANCELED     the caller was cancelled; the operation may still be made
 *   -ESHUTDOWN     in the child of a fork: the call would wait
 *   -EAGAIN        the system refuses a thread, and none has begun an operation for 100 ms
 *   -ENOMEM        there is no memory
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    int err = thrum_file_rename("part", "whole", THRUM_FILE_NO_REPLACE, thrum_after_s(5));
 * See also: thrum_file_link, thrum_file_replace
 */
THRUM_API THRUM_NODISCARD int thrum_file_rename(const char *from, const char *to, unsigned flags,
                                                thrum_time deadline);

/*
 * Removes a file's name or an empty directory.
 *
 * Parameters:
 *   path      the path; copied
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 0, or a negative error code. Codes not listed below are the system's.
 * Errors:
 *   -EINVAL        `path` is NULL
 *   -ENOENT        there is no such file or directory
 *   -EACCES        the process may not change the directory
 *   -ENOTDIR       a part of the path is no directory
 *   -EISDIR        thrum_file_unlink only: it is a directory
 *   -ENOTEMPTY     thrum_file_rmdir only: the directory is not empty
 *   -ENAMETOOLONG  a path has 4096 bytes or more, or a name is too long for the file system
 *   -ETIMEDOUT     the deadline passed; the operation may still be made
 *   -ECANCELED     the caller was cancelled; the operation may still be made
 *   -ESHUTDOWN     in the child of a fork: the call would wait
 *   -EAGAIN        the system refuses a thread, and none has begun an operation for 100 ms
 *   -ENOMEM        there is no memory
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    int err = thrum_file_unlink("part", thrum_after_s(5));
 * See also: thrum_file_mkdir
 */
THRUM_API THRUM_NODISCARD int thrum_file_unlink(const char *path, thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_file_rmdir(const char *path, thrum_time deadline);

/*
 * Makes a directory.
 *
 * Parameters:
 *   path      its path; copied
 *   mode      its permissions, less the process's umask
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 0, or a negative error code. Codes not listed below are the system's.
 * Errors:
 *   -EINVAL        `path` is NULL
 *   -EEXIST        the name is taken
 *   -ENOENT        there is no directory to make it in
 *   -EACCES        the process may not change that directory
 *   -ENOSPC        the device is full
 *   -ENAMETOOLONG  a path has 4096 bytes or more, or a name is too long for the file system
 *   -ETIMEDOUT     the deadline passed; the operation may still be made
 *   -ECANCELED     the caller was cancelled; the operation may still be made
 *   -ESHUTDOWN     in the child of a fork: the call would wait
 *   -EAGAIN        the system refuses a thread, and none has begun an operation for 100 ms
 *   -ENOMEM        there is no memory
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    int err = thrum_file_mkdir("cache", 0755, thrum_after_s(5));
 * See also: thrum_file_rmdir
 */
THRUM_API THRUM_NODISCARD int thrum_file_mkdir(const char *path, unsigned mode,
                                               thrum_time deadline);

/*
 * Gives a file one more name, or makes a symbolic link with a text.
 *
 * Parameters:
 *   path      the file's path; copied
 *   text      the text of the symbolic link; copied
 *   name      the new path; copied
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 0, or a negative error code. Codes not listed below are the system's.
 * Errors:
 *   -EINVAL        a pointer is NULL
 *   -EEXIST        the name is taken
 *   -ENOENT        there is no such file or directory
 *   -EACCES        the process may not change the directory
 *   -EXDEV         thrum_file_link only: the paths are on different file systems
 *   -ENOSPC        the device is full
 *   -ENOSYS        thrum_file_symlink only: on Windows
 *   -ENAMETOOLONG  a path has 4096 bytes or more, or a name is too long for the file system
 *   -ETIMEDOUT     the deadline passed; the operation may still be made
 *   -ECANCELED     the caller was cancelled; the operation may still be made
 *   -ESHUTDOWN     in the child of a fork: the call would wait
 *   -EAGAIN        the system refuses a thread, and none has begun an operation for 100 ms
 *   -ENOMEM        there is no memory
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    int err = thrum_file_symlink("release-7", "current", thrum_after_s(5));
 * See also: thrum_file_readlink, thrum_file_rename
 */
THRUM_API THRUM_NODISCARD int thrum_file_link(const char *path, const char *name,
                                              thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_file_symlink(const char *text, const char *name,
                                                 thrum_time deadline);

/*
 * Reads the text of a symbolic link, and writes a zero behind it.
 *
 * Parameters:
 *   path      the link's path; copied
 *   text      memory for the text and a zero
 *   size      bytes of that memory
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: the length of the text, or a negative error code; `text` is not written then. Codes not
 *   listed below are the system's.
 * Errors:
 *   -EINVAL        a pointer is NULL, or the path is no symbolic link
 *   -ERANGE        the text does not fit
 *   -ENOENT        there is no such file or directory
 *   -EACCES        the process may not search a directory of the path
 *   -ENOSYS        on Windows
 *   -ENAMETOOLONG  a path has 4096 bytes or more, or a name is too long for the file system
 *   -ETIMEDOUT     the deadline passed; the operation may still be made
 *   -ECANCELED     the caller was cancelled; the operation may still be made
 *   -ESHUTDOWN     in the child of a fork: the call would wait
 *   -EAGAIN        the system refuses a thread, and none has begun an operation for 100 ms
 *   -ENOMEM        there is no memory
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    char text[256];
 *    int n = thrum_file_readlink("current", text, sizeof text, thrum_after_s(5));
 * See also: thrum_file_symlink
 */
THRUM_API THRUM_NODISCARD int thrum_file_readlink(const char *path, char *text, size_t size,
                                                  thrum_time deadline);

/* ---- directories ---- */

/* A directory that is read. The library owns its memory; thrum_dir_close frees it. */
typedef struct thrum_dir thrum_dir;

/* An entry of a directory. */
typedef struct thrum_dir_entry {
    const char *name; /* valid until the next call on the directory */
    uint64_t inode;   /* the file's number on its device */
    uint32_t kind; /* a thrum_file_kind; THRUM_FILE_UNKNOWN if the file system does not report it */
} thrum_dir_entry;

/*
 * Opens a directory to read its entries.
 *
 * Parameters:
 *   out       set to the directory, which is the caller's to close
 *   path      its path; copied
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 0, or a negative error code. Codes not listed below are the system's.
 * Errors:
 *   -EINVAL           a pointer is NULL
 *   -ENOENT           there is no such directory
 *   -EACCES           the process may not read it
 *   -ENOTDIR          it is no directory
 *   -EMFILE, -ENFILE  the process or the system has too many descriptors
 *   -ENAMETOOLONG     a path has 4096 bytes or more, or a name is too long for the file system
 *   -ETIMEDOUT        the deadline passed; the operation may still be made
 *   -ECANCELED        the caller was cancelled; the operation may still be made
 *   -ESHUTDOWN        in the child of a fork: the call would wait
 *   -EAGAIN           the system refuses a thread, and none has begun an operation for 100 ms
 *   -ENOMEM           there is no memory
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    thrum_dir *dir;
 *    int err = thrum_dir_open(&dir, ".", thrum_after_s(5));
 * See also: thrum_dir_next, thrum_dir_close
 */
THRUM_API THRUM_NODISCARD int thrum_dir_open(thrum_dir **out, const char *path,
                                             thrum_time deadline);

/*
 * Reads the next entry of a directory, in no order, without "." and "..". One operation reads many
 * entries, so most calls do not wait. One caller at a time may use a directory.
 *
 * After -ETIMEDOUT and -ECANCELED the next call continues, and no entry is lost.
 *
 * Parameters:
 *   dir       the directory
 *   out       set to the entry
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 1 with an entry, 0 after the last one, or a negative error code. Codes not listed below
 *   are the system's.
 * Errors:
 *   -EINVAL     a pointer is NULL
 *   -ETIMEDOUT  the deadline passed
 *   -ECANCELED  the caller was cancelled
 *   -ESHUTDOWN  in the child of a fork: `dir` is the parent's, or the call would wait
 *   -EAGAIN     the system refuses a thread, and none has begun an operation for 100 ms
 *   -ENOMEM     there is no memory
 *   -EIO        the device has failed
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    thrum_dir_entry entry;
 *    while (thrum_dir_next(dir, &entry, THRUM_FOREVER) > 0) {
 *        puts(entry.name);
 *    }
 * See also: thrum_dir_open, thrum_file_stat
 */
THRUM_API THRUM_NODISCARD int thrum_dir_next(thrum_dir *dir, thrum_dir_entry *out,
                                             thrum_time deadline);

/*
 * Closes a directory and frees it. It must be the only call on the directory.
 *
 * Parameters:
 *   dir  the directory, or NULL for no effect
 * Context: any thread; never suspends.
 * Ordering: none.
 * See also: thrum_dir_open
 */
THRUM_API void thrum_dir_close(thrum_dir *dir);

/* ---- locks ---- */

/*
 * Locks a whole file against other processes and other opens of it. Such locks are advisory.
 * thrum_file_lock waits for the lock until its deadline, and thrum_file_try_lock does not wait for
 * it.
 *
 * The lock belongs to this open of the file, not to a caller. So two callers with the same thrum_io
 * may both have it, and a lock of the other kind replaces the first. It ends with thrum_file_unlock
 * or a close. While others have it, the call tries again, first after 1 ms, later every 50 ms.
 *
 * After an error the lock is as it was before, with one exception. A change from exclusive to
 * shared that came too late may stay, if another process has got the shared lock meanwhile.
 *
 * Parameters:
 *   io        the file
 *   kind      THRUM_FILE_READ for a shared lock, THRUM_FILE_WRITE for an exclusive one
 *   deadline  thrum_file_lock only: when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 0, or a negative error code. Codes not listed below are the system's, such as -ENOLCK.
 * Errors:
 *   -EINVAL     `kind` is another value
 *   -EBUSY      thrum_file_try_lock only: others have the lock, or another caller with the same
 *               thrum_io is locking the file
 *   -ENOSYS     the system has no such locks
 *   -EBADF      `io` is stale, was closed or released during the call, or is not open in that way
 *   -ETIMEDOUT  the deadline passed
 *   -ECANCELED  the caller was cancelled
 *   -ESHUTDOWN  in the child of a fork: `io` is the parent's, or the call would wait
 *   -EAGAIN     the system refuses a thread, and none has begun an operation for 100 ms
 *   -ENOMEM     there is no memory
 * Context: any thread; may suspend; cancellable. thrum_file_try_lock suspends for the operation
 *   only.
 * Ordering: none.
 * Example:
 *    if (thrum_file_lock(file, THRUM_FILE_WRITE, thrum_after_s(5)) == 0) {
 *        change(file);
 *        thrum_file_unlock(file);
 *    }
 * See also: thrum_file_unlock
 */
THRUM_API THRUM_NODISCARD int thrum_file_lock(thrum_io io, unsigned kind, thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_file_try_lock(thrum_io io, unsigned kind);

/*
 * Gives up the lock on a file.
 *
 * Parameters:
 *   io  the file
 * Returns: 0, or a negative error code. Codes not listed below are the system's.
 * Errors:
 *   -EBADF      `io` is stale, or was closed or released during the call
 *   -ESHUTDOWN  in the child of a fork: `io` is the parent's, or the call would wait
 *   -EAGAIN     the system refuses a thread, and none has begun an operation for 100 ms
 *   -ENOMEM     there is no memory
 *   -ENOSYS     the system has no such locks
 * Context: any thread; may suspend; not cancellable.
 * Ordering: none.
 * Example:
 *    int err = thrum_file_unlock(file);
 * See also: thrum_file_lock
 */
THRUM_API int thrum_file_unlock(thrum_io io);

/* ---- changes ---- */

#define THRUM_WATCH_CREATED 1u        /* a name appeared in the directory */
#define THRUM_WATCH_DELETED 2u        /* a name was removed from the directory */
#define THRUM_WATCH_MODIFIED 4u       /* bytes were written or cut off */
#define THRUM_WATCH_WRITTEN 8u        /* a file that was open for writing was closed */
#define THRUM_WATCH_MOVED_FROM 16u    /* a name was moved out of the directory */
#define THRUM_WATCH_MOVED_TO 32u      /* a name was moved into the directory */
#define THRUM_WATCH_ATTRIBUTES 64u    /* permissions, times, owners or links were changed */
#define THRUM_WATCH_SELF_DELETED 128u /* the watched file or directory itself was deleted */
#define THRUM_WATCH_SELF_MOVED 256u   /* the watched file or directory itself was moved */
#define THRUM_WATCH_ENDED 512u        /* unasked: the watch has ended */
#define THRUM_WATCH_OVERFLOW 1024u    /* unasked: events were lost; look at everything again */
#define THRUM_WATCH_DIRECTORY 2048u   /* unasked, with another bit: it is about a directory */

/*
 * Makes a descriptor that reports changes of files. thrum_io_close ends it.
 *
 * On Windows the descriptor is the library's alone: thrum_io_release and thrum_io_adopt_shared
 * return -EOPNOTSUPP for it. There, names of files, names of directories, and attributes are three
 * sequences of events, each in its order, without an order among them. A move between directories
 * may be reported as THRUM_WATCH_CREATED and THRUM_WATCH_DELETED.
 *
 * Parameters:
 *   out  set to the descriptor
 * Returns: 0, or a negative error code.
 * Errors:
 *   -EINVAL           `out` is NULL
 *   -EMFILE, -ENFILE  the process, the user or the system has too many of them
 *   -ENOMEM           there is no memory
 *   -ENOSYS           the system is neither Linux nor Windows
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    thrum_io watcher;
 *    int err = thrum_watch_open(&watcher);
 * See also: thrum_watch_add, thrum_watch_next
 */
THRUM_API THRUM_NODISCARD int thrum_watch_open(thrum_io *out);

/*
 * Watches a file, or a directory and the files directly in it. If the path is watched already, the
 * number is the same, and the new bits replace the old ones.
 *
 * Parameters:
 *   io        a descriptor from thrum_watch_open
 *   path      the path; copied
 *   what      THRUM_WATCH_ bits, up to THRUM_WATCH_SELF_MOVED
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: the watch's number, or a negative error code. Codes not listed below are the system's.
 * Errors:
 *   -EINVAL        `path` is NULL, `what` is 0 or has other bits, or `io` reports no changes
 *   -ENOENT        there is no such file or directory
 *   -EACCES        the process may not read it
 *   -ENOSPC        the user watches too many files
 *   -EOPNOTSUPP    the system does not report this: on Windows THRUM_WATCH_WRITTEN
 *   -ENAMETOOLONG  the path has 4096 bytes or more, or a name is too long for the file system
 *   -EBADF         `io` is stale, or was closed or released during the call
 *   -ETIMEDOUT     the deadline passed; the operation may still be made
 *   -ECANCELED     the caller was cancelled; the operation may still be made
 *   -ESHUTDOWN     in the child of a fork: `io` is the parent's, or the call would wait
 *   -EAGAIN        the system refuses a thread, and none has begun an operation for 100 ms
 *   -ENOMEM        there is no memory
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    int watch = thrum_watch_add(watcher, "config", THRUM_WATCH_WRITTEN | THRUM_WATCH_MOVED_TO,
 *                                thrum_after_s(5));
 * See also: thrum_watch_remove, thrum_watch_next
 */
THRUM_API THRUM_NODISCARD int thrum_watch_add(thrum_io io, const char *path, unsigned what,
                                              thrum_time deadline);

/*
 * Ends a watch. Its last event has THRUM_WATCH_ENDED.
 *
 * Parameters:
 *   io     a descriptor from thrum_watch_open
 *   watch  the number that thrum_watch_add returned
 * Returns: 0, or a negative error code.
 * Errors:
 *   -EINVAL     there is no such watch
 *   -EBADF      `io` is stale
 *   -ESHUTDOWN  in the child of a fork: `io` is the parent's
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    int err = thrum_watch_remove(watcher, watch);
 * See also: thrum_watch_add
 */
THRUM_API int thrum_watch_remove(thrum_io io, int watch);

/* A change. */
typedef struct thrum_watch_event {
    int watch;        /* the watch's number, -1 with THRUM_WATCH_OVERFLOW */
    uint32_t what;    /* THRUM_WATCH_ bits */
    uint32_t pair;    /* equal in both halves of a move; else 0 */
    const char *name; /* in the directory, or ""; valid until the next call with the buffer */
} thrum_watch_event;

/* Events that were read and not returned yet. It is the caller's, and only one caller uses it. */
typedef struct thrum_watch_buffer {
    uint64_t reserved_words[512];
    size_t reserved_at;
    size_t reserved_size;
} thrum_watch_buffer;

/*
 * Makes a buffer without any event. Nothing has to be undone.
 *
 * Parameters:
 *   buffer  the memory of the buffer
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    thrum_watch_buffer buffer;
 *    thrum_watch_buffer_init(&buffer);
 * See also: thrum_watch_next
 */
THRUM_API void thrum_watch_buffer_init(thrum_watch_buffer *buffer);

/*
 * Waits for the next event and takes it. No event is lost after -ETIMEDOUT or -ECANCELED.
 *
 * Parameters:
 *   io        a descriptor from thrum_watch_open
 *   buffer    a buffer for events that come together, the same in all calls of a reader
 *   out       set to the event
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 0, or a negative error code. Codes not listed below are the system's.
 * Errors:
 *   -EINVAL           a pointer is NULL, or `io` reports no changes, and bytes of it that are no
 *                     event were read
 *   -EIO              `io` reports no changes and has ended
 *   -EBADF            `io` is stale, or was closed or released during the call
 *   -ESHUTDOWN        in the child of a fork: `io` is the parent's, or the call would wait
 *   -ETIMEDOUT        the deadline passed
 *   -ECANCELED        the caller was cancelled
 *   -EMFILE, -ENFILE  the process or the system has no descriptor for a wait
 *   -ENOMEM           there is no memory for a wait
 *   -ENOSPC           the user waits for too many descriptors (fs.epoll.max_user_watches)
 *   -ENOSYS           a sandbox refuses epoll or eventfd; some return another code
 * Context: any thread; may suspend; cancellable.
 * Ordering: none.
 * Example:
 *    thrum_watch_event event;
 *    while (thrum_watch_next(watcher, &buffer, &event, THRUM_FOREVER) == 0) {
 *        printf("%s: %x\n", event.name, event.what);
 *    }
 * See also: thrum_watch_add, thrum_watch_buffer_init
 */
THRUM_API THRUM_NODISCARD int thrum_watch_next(thrum_io io, thrum_watch_buffer *buffer,
                                               thrum_watch_event *out, thrum_time deadline);

THRUM_END_DECLS

#endif
