/*
 * whole.c: a file read, or replaced, in one operation, which makes several calls.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/atomic.h"
#include "file/operation.h"
#include "thrum/file.h"

#define NAMES_MAX 100    /* of temporary files that are there already */
#define PATH_BYTES 4096u /* of such a name, with its directory */
#define NAME_BYTES 64u

static int64_t flush(int fd, bool directory) {
    const int64_t code = th_os_file_do(&(th_os_file_request){.call = TH_OS_FILE_FLUSH, .fd = fd});
    return directory && code == -EINVAL ? 0 : code; /* a file system that has nothing to flush */
}

/* ---- reading ---- */

static int64_t load(th_operation *operation) {
    th_os_file_request *r = &operation->request;
    th_os_file_request open = {
        .call = TH_OS_FILE_OPEN, .path = r->path, .flags = TH_OS_FILE_FOR_READING};
    const int fd = (int)th_os_file_do(&open);
    if (fd < 0) {
        return fd;
    }
    int64_t done = 0;
    int64_t n;
    do { /* one byte more than the caller has room for */
        n = th_os_file_do(&(th_os_file_request){.call = TH_OS_FILE_READ,
                                                .fd = fd,
                                                .bytes = (char *)r->bytes + done,
                                                .size = r->size - (size_t)done,
                                                .offset = done});
        done += n > 0 ? n : 0;
    } while (n > 0 && (size_t)done < r->size);
    (void)th_os_io_close(fd);
    return n < 0 ? n : (size_t)done == r->size ? -EFBIG : done;
}

int64_t thrum_file_load(const char *path, void *to, size_t size, thrum_time deadline) {
    if (!path || (!to && size) || size >= SIZE_MAX / 2) {
        return -EINVAL;
    }
    const th_os_file_request request = {.call = TH_OS_FILE_READ, .path = path};
    th_operation *operation;
    int64_t n = th_operation_new(&operation, &request, size + 1, false);
    if (n) {
        return n;
    }
    operation->make = load;
    n = th_operation_ask(operation, deadline);
    if (n > 0) {
        memcpy(to, operation->request.bytes, (size_t)n);
    }
    th_operation_drop(operation);
    return n;
}

/* ---- replacing ---- */

static uint32_t xnames; /* of temporary files */

/* The bytes of the path that name its directory, with the last slash; 0: there is none. */
static size_t directory_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* The permissions of the new file; `exact`: regardless of the umask. */
typedef struct permissions {
    uint32_t mode;
    bool exact;
} permissions;

/*
 * Makes the temporary file: its descriptor, or a code. Meanwhile only users that may read the final
 * file may open it.
 */
static int make_beside(const th_os_file_request *r, permissions p, char name[PATH_BYTES]) {
    const size_t length = directory_of(r->path);
    if (length + NAME_BYTES > PATH_BYTES) {
        return -ENAMETOOLONG;
    }
    memcpy(name, r->path, length);
    int fd = -EEXIST;
    for (unsigned i = 0; fd == -EEXIST && i < NAMES_MAX; i++) {
        /* relaxed: a number that is there already is not taken */
        (void)snprintf(name + length, NAME_BYTES, ".thrum-%d-%u", th_os_pid(),
                       (unsigned)th_add_relaxed(&xnames, 1u));
        th_os_file_request open = {.call = TH_OS_FILE_OPEN,
                                   .path = name,
                                   .flags = TH_OS_FILE_FOR_WRITING | TH_OS_FILE_CREATE |
                                            TH_OS_FILE_EXCLUSIVE,
                                   .mode = p.exact ? p.mode & 0600 : p.mode};
        fd = (int)th_os_file_do(&open);
    }
    return fd;
}

static int64_t write_all(int fd, const th_os_file_request *r) {
    int64_t n = 0;
    for (size_t done = 0; done < r->length && n >= 0; done += (size_t)n) {
        n = th_os_file_do(&(th_os_file_request){.call = TH_OS_FILE_WRITE,
                                                .fd = fd,
                                                .bytes = (char *)r->bytes + done,
                                                .size = (size_t)r->length - done,
                                                .offset = (int64_t)done});
    }
    return n < 0 ? n : 0;
}

/*
 * The permissions of the existing file, which may be none at all; others if there is no file, or a
 * link, which is replaced and has none of its own. Without the bits that lend the owner's rights:
 * the new file may have another owner. 0 or a code.
 */
static int64_t find_permissions(const th_os_file_request *r, permissions *out) {
    *out = (permissions){r->mode, true};
    if (r->mode) {
        return 0;
    }
    th_os_file_request look = {
        .call = TH_OS_FILE_LOOK, .path = r->path, .flags = TH_OS_FILE_LINK_ITSELF};
    const int64_t code = th_os_file_do(&look);
    const bool is_file = !code && look.info.kind == TH_OS_FILE_REGULAR;
    *out = is_file ? (permissions){look.info.mode & 0777, true} : (permissions){0666, false};
    return code == -ENOENT ? 0 : code;
}

/* The permissions, the bytes, and the device. */
static int64_t fill(int fd, const th_os_file_request *r, permissions p) {
    int64_t code = 0;
    if (p.exact) {
        code = th_os_file_do(
            &(th_os_file_request){.call = TH_OS_FILE_CHMOD, .fd = fd, .mode = p.mode});
    }
    code = code ? code : write_all(fd, r);
    return code ? code : flush(fd, false);
}

/* The directory of a path, open to be flushed; or a code. */
static int open_directory(const char *path) {
    char name[PATH_BYTES] = ".";
    const size_t length = directory_of(path);
    if (length) {
        memcpy(name, path, length);
        name[length] = '\0';
    }
    th_os_file_request open = {.call = TH_OS_FILE_OPEN,
                               .path = name,
                               .flags = TH_OS_FILE_FOR_READING | TH_OS_FILE_DIRECTORY};
    return (int)th_os_file_do(&open);
}

/* The name under which the bytes are written is free again afterwards in every case. */
static int64_t put_in_place(const th_os_file_request *r) {
    char name[PATH_BYTES];
    permissions p;
    int64_t code = find_permissions(r, &p);
    const int fd = code ? (int)code : make_beside(r, p, name);
    if (fd < 0) {
        return fd;
    }
    code = fill(fd, r, p);
    const int closed = th_os_io_close(fd); /* some file systems report errors only here */
    code = code ? code : closed;
    if (!code) {
        code = th_os_file_do(
            &(th_os_file_request){.call = TH_OS_FILE_RENAME, .path = name, .other = r->path});
    }
    if (code) {
        (void)th_os_file_do(&(th_os_file_request){.call = TH_OS_FILE_UNLINK, .path = name});
    }
    return code;
}

static int64_t replace(th_operation *operation) {
    const th_os_file_request *r = &operation->request;
    const int directory = open_directory(r->path); /* first: a refusal changes nothing */
    if (directory < 0) {
        return directory;
    }
    int64_t code = put_in_place(r);
    code = code ? code : flush(directory, true);
    (void)th_os_io_close(directory);
    return code;
}

int thrum_file_replace(const char *path, const void *from, size_t size, unsigned mode,
                       thrum_time deadline) {
    if (!path || (!from && size) || mode & ~07777u || size >= SIZE_MAX / 2) {
        return -EINVAL;
    }
    const th_os_file_request request = {
        .call = TH_OS_FILE_WRITE, .path = path, .mode = mode, .length = size};
    th_operation *operation;
    int code = th_operation_new(&operation, &request, size, false);
    if (code) {
        return code;
    }
    operation->make = replace;
    if (size) {
        memcpy(operation->request.bytes, from, size);
    }
    code = (int)th_operation_ask(operation, deadline);
    th_operation_drop(operation);
    return code;
}
