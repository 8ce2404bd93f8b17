/*
 * file.h: the part of the platform's contract that is about files: calls that may wait for a
 * device, or for another machine, for as long as it takes, and two that never wait. Included by
 * platform.h.
 */
#ifndef TH_FILE_CALLS_H
#define TH_FILE_CALLS_H

#include "platform/descriptor.h"

/* The purpose of opening a file, and its manner. */
#define TH_OS_FILE_FOR_READING 1u
#define TH_OS_FILE_FOR_WRITING 2u
#define TH_OS_FILE_CREATE 4u
#define TH_OS_FILE_EXCLUSIVE 8u
#define TH_OS_FILE_TRUNCATED 16u
#define TH_OS_FILE_APPEND 32u
#define TH_OS_FILE_DIRECT 64u
#define TH_OS_FILE_SYNC 128u
#define TH_OS_FILE_NOFOLLOW 256u
#define TH_OS_FILE_DIRECTORY 512u

/*
 * The calls. The words behind each are the fields of the request that it takes beside `fd` or
 * `path`.
 */
typedef enum th_os_file_call {
    TH_OS_FILE_OPEN,       /* path, flags, mode; gives `kind`. The new descriptor */
    TH_OS_FILE_READ,       /* bytes, size, offset. How many; 0: the end */
    TH_OS_FILE_WRITE,      /* bytes, size, offset. How many */
    TH_OS_FILE_ADD,        /* bytes, size: a write at the file's end. How many */
    TH_OS_FILE_FLUSH,      /* writes, to the device */
    TH_OS_FILE_FLUSH_DATA, /* the same, without data that readers do not need */
    TH_OS_FILE_RESIZE,     /* offset: the size */
    TH_OS_FILE_ALLOCATE,   /* offset, length, flags */
    TH_OS_FILE_LOOK,       /* path or fd, flags; gives `info` */
    TH_OS_FILE_RENAME,     /* path, other, flags */
    TH_OS_FILE_UNLINK,     /* path */
    TH_OS_FILE_RMDIR,      /* path */
    TH_OS_FILE_MKDIR,      /* path, mode */
    TH_OS_FILE_LINK,       /* path, other: the new name */
    TH_OS_FILE_SYMLINK,    /* path: the text; other: the new name */
    TH_OS_FILE_READLINK,   /* path, bytes, size. How many bytes the text has */
    TH_OS_FILE_CHMOD,      /* mode */
    TH_OS_FILE_LIST,       /* bytes, size: entries (th_os_file_entry). How many bytes; 0: the end */
    TH_OS_FILE_COPY,       /* to, offset, to_offset, length; bytes, size: room. How many bytes */
    TH_OS_FILE_LOCK,  /* flags, mode: the kind to have, the one it has. -EAGAIN: others have it */
    TH_OS_FILE_WATCH, /* path, flags: th_os_watch_... A number */
    TH_OS_FILE_CALLS
} th_os_file_call;

#define TH_OS_FILE_KEEP_SIZE 1u /* of ALLOCATE */
#define TH_OS_FILE_PUNCH 2u
#define TH_OS_FILE_LINK_ITSELF 1u /* for LOOK: not its target */
#define TH_OS_FILE_NO_REPLACE 1u  /* of RENAME */
#define TH_OS_FILE_LOCK_NONE 0u
#define TH_OS_FILE_LOCK_SHARED 1u
#define TH_OS_FILE_LOCK_EXCLUSIVE 2u

/* The kind of object behind a name. */
typedef enum th_os_file_kind {
    TH_OS_FILE_UNKNOWN,
    TH_OS_FILE_REGULAR,
    TH_OS_FILE_FOLDER,
    TH_OS_FILE_SYMBOLIC,
    TH_OS_FILE_FIFO,
    TH_OS_FILE_SOCKET,
    TH_OS_FILE_CHARACTER,
    TH_OS_FILE_BLOCK
} th_os_file_kind;

typedef struct th_os_file_info {
    uint32_t kind; /* a th_os_file_kind */
    uint32_t mode; /* permissions */
    uint32_t user;
    uint32_t group;
    uint64_t links;
    uint64_t size;
    uint64_t allocated; /* bytes */
    uint64_t device;
    uint64_t inode;
    int64_t modified; /* ns since 1970, as the next two */
    int64_t accessed;
    int64_t changed;
} th_os_file_info;

typedef struct th_os_file_request {
    th_os_file_call call;
    int fd;
    int to;
    uint32_t flags;
    uint32_t mode;
    const char *path;
    const char *other;
    void *bytes;
    size_t size;
    int64_t offset;
    int64_t to_offset;
    uint64_t length;
    th_os_kind kind;
    th_os_file_info info;
} th_os_file_request;

/*
 * Makes the call, on a thread that may block for as long as it takes. Returns the call's result (0
 * unless another is named above), or a negative code. Started processes do not inherit new
 * descriptors.
 */
int64_t th_os_file_do(th_os_file_request *request);

/*
 * Read and write at an offset as much as possible without waiting for a device: from and to the
 * page cache. The number of bytes, 0 at the end; -EAGAIN or -EOPNOTSUPP: it would have to wait, or
 * does not know; or the system's code. An offset of TH_OS_FILE_END (of a write): at the end.
 */
#define TH_OS_FILE_END (-1)
int64_t th_os_file_readv_now(int fd, const th_os_part parts[], unsigned n, int64_t offset);
int64_t th_os_file_writev_now(int fd, const th_os_part parts[], unsigned n, int64_t offset);

/* Whether transfers wait for the device: the file is open for direct or synchronous ones. */
bool th_os_file_waits(int fd);
/*
 * Whether transfers of the file are direct ones, which the system can begin and not wait for: local
 * file systems can, those of other machines cannot. Asked by a read behind the end, so of a file
 * that is open for writing alone the answer is no.
 */
bool th_os_file_begins(int fd);

/* The memory that a direct transfer wants is aligned so, and so are its size and its offset. */
#define TH_OS_FILE_ALIGNMENT 4096u

/* An entry of a directory, in the result of TH_OS_FILE_LIST. Returns the place of the next one. */
typedef struct th_os_file_entry {
    const char *name;
    uint64_t inode;
    uint32_t kind; /* a th_os_file_kind */
} th_os_file_entry;
size_t th_os_file_entry_at(const void *bytes, size_t at, th_os_file_entry *out);

/* A descriptor that reports changes of files (TH_OS_FILE_WATCH), on which reads do not wait. */
#define TH_OS_WATCH_CREATED 1u
#define TH_OS_WATCH_DELETED 2u
#define TH_OS_WATCH_MODIFIED 4u
#define TH_OS_WATCH_WRITTEN 8u /* closed after it was open for writing */
#define TH_OS_WATCH_MOVED_FROM 16u
#define TH_OS_WATCH_MOVED_TO 32u
#define TH_OS_WATCH_ATTRIBUTES 64u
#define TH_OS_WATCH_SELF_DELETED 128u
#define TH_OS_WATCH_SELF_MOVED 256u
#define TH_OS_WATCH_ENDED 512u      /* reported only: the watch is gone */
#define TH_OS_WATCH_OVERFLOW 1024u  /* reported only: events were lost */
#define TH_OS_WATCH_DIRECTORY 2048u /* reported only: it is about a directory */
int th_os_watch_open(void);
int th_os_watch_remove(int fd, int watch);

/*
 * An event, in the `size` bytes that were read of that descriptor. Returns the place of the next
 * one; 0: it is no event, so the descriptor is another kind's.
 */
typedef struct th_os_watch_event {
    int watch;
    uint32_t what;
    uint32_t pair; /* the same in both halves of a rename */
    const char *name;
} th_os_watch_event;
size_t th_os_watch_event_at(const void *bytes, size_t size, size_t at, th_os_watch_event *out);

#endif
