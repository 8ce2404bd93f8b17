/*
 * file.c: calls on files: opening, information, and the file as a whole; and the table of all such
 * calls.
 *
 * Windows has a single permission, as far as these calls go: whether a file may be written.
 */
#include "platform/windows/file/watch.h"

#include <errno.h>

#include "platform/faults.h"

_Static_assert(TH_OS_FAULT_FILE_LAST - TH_OS_FAULT_FILE + 1 == TH_OS_FILE_CALLS,
               "a fault for each call");

#define ANY_WRITES 0222u
#define BEFORE_1970 INT64_C(116444736000000000) /* in the system's unit, 100 ns, since 1601 */

/* ---- information ---- */

static th_os_file_kind kind_of(HANDLE file, DWORD attributes) {
    FILE_ATTRIBUTE_TAG_INFO info = {.ReparseTag = 0};
    (void)GetFileInformationByHandleEx(file, FileAttributeTagInfo, &info, sizeof info);
    return th_file_kind_of(attributes, info.ReparseTag);
}

static int64_t ns_of(LARGE_INTEGER time) {
    return (time.QuadPart - BEFORE_1970) * 100;
}

static uint32_t mode_of(th_os_file_kind kind, DWORD attributes) {
    const bool fixed = attributes & FILE_ATTRIBUTE_READONLY && kind == TH_OS_FILE_REGULAR;
    return kind == TH_OS_FILE_FOLDER ? 0777 : fixed ? 0444 : 0666;
}

static int64_t look_at(HANDLE file, th_os_file_info *out) {
    BY_HANDLE_FILE_INFORMATION known;
    FILE_BASIC_INFO basic;
    FILE_STANDARD_INFO standard;
    if (!GetFileInformationByHandle(file, &known) ||
        !GetFileInformationByHandleEx(file, FileBasicInfo, &basic, sizeof basic) ||
        !GetFileInformationByHandleEx(file, FileStandardInfo, &standard, sizeof standard)) {
        return th_nt_code();
    }
    const th_os_file_kind kind = kind_of(file, basic.FileAttributes);
    *out = (th_os_file_info){
        .kind = kind,
        .mode = mode_of(kind, basic.FileAttributes),
        .links = known.nNumberOfLinks,
        .size = (uint64_t)known.nFileSizeHigh << 32 | known.nFileSizeLow,
        .allocated = (uint64_t)standard.AllocationSize.QuadPart,
        .device = known.dwVolumeSerialNumber,
        .inode = (uint64_t)known.nFileIndexHigh << 32 | known.nFileIndexLow,
        .modified = ns_of(basic.LastWriteTime),
        .accessed = ns_of(basic.LastAccessTime),
        .changed = ns_of(basic.ChangeTime),
    };
    return 0;
}

/* For an open handle, which may be no file. */
static int64_t look_at_open(th_file_request *r) {
    const DWORD type = GetFileType(th_nt_handle(r->fd));
    if (type == FILE_TYPE_DISK) {
        return look_at(th_nt_handle(r->fd), &r->info);
    }
    r->info = (th_os_file_info){.kind = th_is_socket(r->fd)      ? TH_OS_FILE_SOCKET
                                        : type == FILE_TYPE_PIPE ? TH_OS_FILE_FIFO
                                        : type == FILE_TYPE_CHAR ? TH_OS_FILE_CHARACTER
                                                                 : TH_OS_FILE_UNKNOWN,
                                .mode = 0666,
                                .links = 1};
    return type == FILE_TYPE_UNKNOWN && GetLastError() ? th_nt_code() : 0;
}

static int64_t look(th_file_request *r) {
    wchar_t path[TH_FILE_PATH_WORDS];
    if (!r->path) {
        return look_at_open(r);
    }
    const DWORD link = r->flags & TH_OS_FILE_LINK_ITSELF ? FILE_FLAG_OPEN_REPARSE_POINT : 0;
    int64_t code = th_file_path(r->path, path);
    if (code) {
        return code;
    }
    HANDLE file = CreateFileW(path, FILE_READ_ATTRIBUTES, TH_FILE_SHARED, NULL, OPEN_EXISTING,
                              FILE_FLAG_BACKUP_SEMANTICS | link, NULL);
    if (file == INVALID_HANDLE_VALUE) {
        return th_nt_code();
    }
    code = GetFileType(file) == FILE_TYPE_DISK ? look_at(file, &r->info) : 0;
    if (GetFileType(file) != FILE_TYPE_DISK) {
        r->info = (th_os_file_info){.kind = TH_OS_FILE_CHARACTER, .mode = 0666, .links = 1};
    }
    CloseHandle(file);
    return code;
}

/* ---- opening ---- */

/* Also directories; and new ones may be written, unless the mode forbids it. */
static DWORD ways_of(const th_file_request *r) {
    const bool fixed = r->flags & TH_OS_FILE_CREATE && !(r->mode & ANY_WRITES);
    return FILE_FLAG_BACKUP_SEMANTICS |
           (r->flags & TH_OS_FILE_DIRECT ? FILE_FLAG_NO_BUFFERING : 0) |
           (r->flags & TH_OS_FILE_SYNC ? FILE_FLAG_WRITE_THROUGH : 0) |
           (r->flags & TH_OS_FILE_NOFOLLOW ? FILE_FLAG_OPEN_REPARSE_POINT : 0) |
           (fixed ? FILE_ATTRIBUTE_READONLY : 0);
}

/* Whether the opened object is of the requested kind: 0 or a code. */
static int check(HANDLE file, uint32_t flags) {
    if (GetFileType(file) != FILE_TYPE_DISK) {
        return flags & TH_OS_FILE_DIRECTORY ? -ENOTDIR : 0;
    }
    const DWORD attributes = th_file_attributes(file);
    const bool is_directory = attributes & FILE_ATTRIBUTE_DIRECTORY;
    return kind_of(file, attributes) == TH_OS_FILE_SYMBOLIC ? -ELOOP
           : flags & TH_OS_FILE_DIRECTORY && !is_directory  ? -ENOTDIR
           : flags & TH_OS_FILE_FOR_WRITING && is_directory ? -EISDIR
                                                            : 0;
}

/* For a file not open for writing, the code is that of other systems. */
static int set_size(HANDLE file, int64_t size) {
    FILE_END_OF_FILE_INFO end = {.EndOfFile.QuadPart = size};
    return SetFileInformationByHandle(file, FileEndOfFileInfo, &end, sizeof end) ? 0
           : GetLastError() == ERROR_ACCESS_DENIED                               ? -EINVAL
                                                                                 : th_nt_code();
}

/*
 * The system allows a handle that may only append nothing else. So such a file is first opened with
 * all rights, which gives the requested file, and then opened again.
 */
static int only_to_append(HANDLE *file, DWORD reads, DWORD ways) {
    HANDLE appends =
        ReOpenFile(*file, reads | FILE_APPEND_DATA | FILE_WRITE_ATTRIBUTES | SYNCHRONIZE,
                   TH_FILE_SHARED, ways & ~(DWORD)FILE_ATTRIBUTE_READONLY);
    if (appends == INVALID_HANDLE_VALUE) {
        return th_nt_code();
    }
    CloseHandle(*file);
    *file = appends;
    return 0;
}

/* A refusal to open a directory to be written has a word of its own. */
static int refusal(const th_file_request *r, const wchar_t *path) {
    const int code = th_nt_code();
    const DWORD attributes = code == -EACCES ? GetFileAttributesW(path) : INVALID_FILE_ATTRIBUTES;
    return r->flags & TH_OS_FILE_FOR_WRITING && attributes != INVALID_FILE_ATTRIBUTES &&
                   attributes & FILE_ATTRIBUTE_DIRECTORY
               ? -EISDIR
               : code;
}

static int64_t open_file(th_file_request *r) {
    wchar_t path[TH_FILE_PATH_WORDS];
    int code = th_file_path(r->path, path);
    if (code) {
        return code;
    }
    const bool fresh = r->flags & TH_OS_FILE_EXCLUSIVE;
    const DWORD reads = r->flags & TH_OS_FILE_FOR_READING ? GENERIC_READ : 0;
    const DWORD writes = r->flags & TH_OS_FILE_FOR_WRITING ? GENERIC_WRITE : 0;
    const DWORD how = !(r->flags & TH_OS_FILE_CREATE) ? OPEN_EXISTING
                      : fresh                         ? CREATE_NEW
                                                      : OPEN_ALWAYS;
    const DWORD ways = ways_of(r);
    HANDLE file = CreateFileW(path, reads | writes, TH_FILE_SHARED, NULL, how, ways, NULL);
    if (file == INVALID_HANDLE_VALUE) {
        return refusal(r, path);
    }
    const bool is_file = GetFileType(file) == FILE_TYPE_DISK;
    code = check(file, r->flags);
    if (!code && is_file && r->flags & TH_OS_FILE_TRUNCATED) {
        code = set_size(file, 0);
    }
    if (!code && is_file && r->flags & TH_OS_FILE_APPEND && writes) {
        code = only_to_append(&file, reads, ways);
    }
    if (code) {
        CloseHandle(file);
        return code;
    }
    th_os_identity identity;
    (void)th_os_io_kind(th_fd_of_handle(file), &r->kind, &identity);
    return th_fd_of_handle(file);
}

bool th_os_file_waits(int fd) {
    enum { MODE = 16, THROUGH = 2, UNBUFFERED = 8 }; /* FileModeInformation, and its values */
    struct {
        void *status;
        ULONG_PTR size;
    } block;
    ULONG mode = 0;
    const LONG code =
        th_nt()->query_file(th_nt_handle(fd), &block, &mode, (ULONG)sizeof mode, MODE);
    return code >= 0 && mode & (THROUGH | UNBUFFERED);
}

/* ---- the file as a whole ---- */

/* A directory has nothing to flush; the system keeps its own books of names. */
static int64_t flush(th_file_request *r) {
    HANDLE file = th_nt_handle(r->fd);
    if (FlushFileBuffers(file)) {
        return 0;
    }
    const int code = th_nt_code_of_open();
    return th_file_attributes(file) & FILE_ATTRIBUTE_DIRECTORY ? -EINVAL : code;
}

static int64_t resize(th_file_request *r) {
    return set_size(th_nt_handle(r->fd), r->offset);
}

static int64_t change_mode(th_file_request *r) {
    HANDLE file = th_nt_handle(r->fd);
    FILE_BASIC_INFO info;
    if (!GetFileInformationByHandleEx(file, FileBasicInfo, &info, sizeof info)) {
        return th_nt_code_of_open();
    }
    const DWORD other = info.FileAttributes & ~(DWORD)FILE_ATTRIBUTE_READONLY;
    const DWORD wanted = other | (r->mode & ANY_WRITES ? 0 : FILE_ATTRIBUTE_READONLY);
    if (wanted == info.FileAttributes) {
        return 0;
    }
    /* Times of zero stay as they are, and so would attributes. */
    info = (FILE_BASIC_INFO){.FileAttributes = wanted ? wanted : FILE_ATTRIBUTE_NORMAL};
    return SetFileInformationByHandle(file, FileBasicInfo, &info, sizeof info)
               ? 0
               : th_nt_code_of_open();
}

/* ---- */

/*
 * The room of a file cannot be had without its end; not everybody may make symbolic links, and wine
 * 8 reports that it has made them.
 */
static int64_t refuse(th_file_request *r) {
    return r->call == TH_OS_FILE_ALLOCATE ? -EOPNOTSUPP : -ENOSYS;
}

static int64_t (*const calls[TH_OS_FILE_CALLS])(th_file_request *) = {
    [TH_OS_FILE_OPEN] = open_file,
    [TH_OS_FILE_READ] = th_file_read,
    [TH_OS_FILE_WRITE] = th_file_write,
    [TH_OS_FILE_ADD] = th_file_add,
    [TH_OS_FILE_FLUSH] = flush,
    [TH_OS_FILE_FLUSH_DATA] = flush,
    [TH_OS_FILE_RESIZE] = resize,
    [TH_OS_FILE_ALLOCATE] = refuse,
    [TH_OS_FILE_LOOK] = look,
    [TH_OS_FILE_RENAME] = th_file_rename,
    [TH_OS_FILE_UNLINK] = th_file_unlink,
    [TH_OS_FILE_RMDIR] = th_file_rmdir,
    [TH_OS_FILE_MKDIR] = th_file_mkdir,
    [TH_OS_FILE_LINK] = th_file_link,
    [TH_OS_FILE_SYMLINK] = refuse,
    [TH_OS_FILE_READLINK] = refuse,
    [TH_OS_FILE_CHMOD] = change_mode,
    [TH_OS_FILE_LIST] = th_file_list,
    [TH_OS_FILE_COPY] = th_file_copy,
    [TH_OS_FILE_LOCK] = th_file_lock,
    [TH_OS_FILE_WATCH] = th_file_watch,
};

int64_t th_os_file_do(th_file_request *r) {
    TH_KEEPS_ERRNO;
    int64_t result = th_os_fails_with((th_os_fault)(TH_OS_FAULT_FILE + (unsigned)r->call));
    return result ? result : calls[r->call](r);
}
