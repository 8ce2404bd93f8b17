/*
 * open.c: opening files, and changes of a file as a whole.
 */
#include <errno.h>
#include <string.h>

#include "file/operation.h"
#include "thrum/file.h"

#define OPEN_FLAGS 1023u

_Static_assert(
    THRUM_FILE_READ == TH_OS_FILE_FOR_READING && THRUM_FILE_WRITE == TH_OS_FILE_FOR_WRITING &&
        THRUM_FILE_CREATE == TH_OS_FILE_CREATE && THRUM_FILE_EXCLUSIVE == TH_OS_FILE_EXCLUSIVE &&
        THRUM_FILE_TRUNCATE == TH_OS_FILE_TRUNCATED && THRUM_FILE_APPEND == TH_OS_FILE_APPEND &&
        THRUM_FILE_DIRECT == TH_OS_FILE_DIRECT && THRUM_FILE_SYNC == TH_OS_FILE_SYNC &&
        THRUM_FILE_NOFOLLOW == TH_OS_FILE_NOFOLLOW && THRUM_FILE_DIRECTORY == TH_OS_FILE_DIRECTORY,
    "the public names of how a file is opened");
_Static_assert(THRUM_FILE_KEEP_SIZE == TH_OS_FILE_KEEP_SIZE && THRUM_FILE_PUNCH == TH_OS_FILE_PUNCH,
               "the public names of how room is kept");
_Static_assert(sizeof(thrum_file_info) == sizeof(th_os_file_info) &&
                   offsetof(thrum_file_info, links) == offsetof(th_os_file_info, links) &&
                   offsetof(thrum_file_info, size) == offsetof(th_os_file_info, size) &&
                   offsetof(thrum_file_info, inode) == offsetof(th_os_file_info, inode) &&
                   offsetof(thrum_file_info, changed) == offsetof(th_os_file_info, changed) &&
                   (unsigned)THRUM_FILE_BLOCK == (unsigned)TH_OS_FILE_BLOCK,
               "the public name of what is known of a file");

/* ---- opening ---- */

static void close_unknown(th_operation *operation) {
    if (operation->made && !operation->had && operation->result >= 0) {
        (void)th_os_io_close((int)operation->result);
    }
}

static th_file_way way_of(int fd, bool waits) {
    return !waits ? TH_FILE_TRIES : th_os_file_begins(fd) ? TH_FILE_BEGINS : TH_FILE_WAITS;
}

static int adopt(thrum_io *out, int fd, const th_os_file_request *r) {
    const bool waits = r->flags & (TH_OS_FILE_DIRECT | TH_OS_FILE_SYNC);
    const int code = r->kind == TH_OS_FILE ? th_record_adopt_file(out, fd, NULL, way_of(fd, waits))
                                           : th_record_adopt(out, fd, r->kind, true);
    if (code) {
        (void)th_os_io_close(fd);
    }
    return code;
}

int thrum_file_open(thrum_io *out, const char *path, unsigned flags, unsigned mode,
                    thrum_time deadline) {
    if (!out || !path || flags & ~OPEN_FLAGS || !(flags & (THRUM_FILE_READ | THRUM_FILE_WRITE))) {
        return -EINVAL;
    }
    const th_os_file_request request = {
        .call = TH_OS_FILE_OPEN, .path = path, .flags = flags, .mode = mode};
    th_operation *operation;
    int code = th_operation_new(&operation, &request, 0, false);
    if (code) {
        return code;
    }
    operation->finish = close_unknown;
    code = (int)th_operation_ask(operation, deadline);
    code = code >= 0 ? adopt(out, code, &operation->request) : code;
    th_operation_drop(operation);
    return code;
}

int thrum_file_adopt(thrum_io *out, int fd) {
    if (!out) {
        return -EINVAL;
    }
    th_os_kind kind;
    th_os_identity identity;
    const int code = th_os_io_kind(fd, &kind, &identity);
    if (code != -EPERM) {
        return code ? code : -EINVAL;
    }
    return th_record_adopt_file(out, fd, &identity, way_of(fd, th_os_file_waits(fd)));
}

/* ---- the file as a whole ---- */

int thrum_file_sync(thrum_io io, thrum_time deadline) {
    return (int)th_operation_on(io, &(th_os_file_request){.call = TH_OS_FILE_FLUSH}, deadline);
}

int thrum_file_sync_data(thrum_io io, thrum_time deadline) {
    return (int)th_operation_on(io, &(th_os_file_request){.call = TH_OS_FILE_FLUSH_DATA}, deadline);
}

int thrum_file_truncate(thrum_io io, int64_t size, thrum_time deadline) {
    const th_os_file_request request = {.call = TH_OS_FILE_RESIZE, .offset = size};
    return size < 0 ? -EINVAL : (int)th_operation_on(io, &request, deadline);
}

int thrum_file_allocate(thrum_io io, int64_t offset, uint64_t size, unsigned flags,
                        thrum_time deadline) {
    if (offset < 0 || !size || size > (uint64_t)(INT64_MAX - offset) ||
        flags & ~(THRUM_FILE_KEEP_SIZE | THRUM_FILE_PUNCH)) {
        return -EINVAL;
    }
    const th_os_file_request request = {
        .call = TH_OS_FILE_ALLOCATE, .offset = offset, .length = size, .flags = flags};
    return (int)th_operation_on(io, &request, deadline);
}

/* ---- information about a file ---- */

static int look(th_operation *operation, thrum_file_info *out, thrum_time deadline) {
    const int code = (int)th_operation_ask(operation, deadline);
    if (!code) {
        memcpy(out, &operation->request.info, sizeof *out);
    }
    th_operation_drop(operation);
    return code;
}

int thrum_file_stat(const char *path, unsigned flags, thrum_file_info *out, thrum_time deadline) {
    if (!path || !out || flags & ~THRUM_FILE_LINK) {
        return -EINVAL;
    }
    const th_os_file_request request = {
        .call = TH_OS_FILE_LOOK, .path = path, .flags = flags ? TH_OS_FILE_LINK_ITSELF : 0};
    th_operation *operation;
    const int code = th_operation_new(&operation, &request, 0, false);
    return code ? code : look(operation, out, deadline);
}

int thrum_file_stat_io(thrum_io io, thrum_file_info *out, thrum_time deadline) {
    if (!out) {
        return -EINVAL;
    }
    th_operation *operation;
    const int code = th_operation_new_on(&operation, io,
                                         &(th_os_file_request){.call = TH_OS_FILE_LOOK}, 0, false);
    return code ? code : look(operation, out, deadline);
}
