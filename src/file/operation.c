/*
 * operation.c: see operation.h.
 */
#include "file/operation.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define PATH_MAX_BYTES 4096u /* with the zero behind it, as the system has it */
#define TOLD_BYTES 64u

/* ---- making one ---- */

static char *put_path(char *to, const char **path, size_t size) {
    if (*path) {
        memcpy(to, *path, size);
        *path = to;
    }
    return to + size;
}

static void tell(th_operation *operation, char *to) {
    static const char *const verbs[TH_OS_FILE_CALLS] = {
        [TH_OS_FILE_OPEN] = "opens",
        [TH_OS_FILE_READ] = "reads",
        [TH_OS_FILE_WRITE] = "writes",
        [TH_OS_FILE_ADD] = "appends to",
        [TH_OS_FILE_FLUSH] = "syncs",
        [TH_OS_FILE_FLUSH_DATA] = "syncs",
        [TH_OS_FILE_RESIZE] = "truncates",
        [TH_OS_FILE_ALLOCATE] = "allocates",
        [TH_OS_FILE_LOOK] = "looks at",
        [TH_OS_FILE_RENAME] = "renames",
        [TH_OS_FILE_UNLINK] = "unlinks",
        [TH_OS_FILE_RMDIR] = "removes",
        [TH_OS_FILE_MKDIR] = "makes",
        [TH_OS_FILE_LINK] = "links",
        [TH_OS_FILE_SYMLINK] = "links",
        [TH_OS_FILE_READLINK] = "reads link",
        [TH_OS_FILE_CHMOD] = "changes",
        [TH_OS_FILE_LIST] = "lists",
        [TH_OS_FILE_COPY] = "copies",
        [TH_OS_FILE_LOCK] = "locks",
        [TH_OS_FILE_WATCH] = "begins to watch",
    };
    const th_os_file_request *r = &operation->request;
    if (r->path) {
        (void)snprintf(to, TOLD_BYTES, "%s %s", verbs[r->call], r->path);
    } else {
        (void)snprintf(to, TOLD_BYTES, "%s file fd %d", verbs[r->call], r->fd);
    }
    operation->told = to;
}

int th_operation_new(th_operation **out, const th_os_file_request *request, size_t room,
                     bool aligned) {
    const size_t path = request->path ? strlen(request->path) + 1 : 0;
    const size_t other = request->other ? strlen(request->other) + 1 : 0;
    if (path > PATH_MAX_BYTES || other > PATH_MAX_BYTES) {
        return -ENAMETOOLONG;
    }
    const size_t slack = aligned ? TH_OS_FILE_ALIGNMENT : sizeof(uint64_t);
    th_operation *operation =
        th_os_alloc(sizeof *operation + TOLD_BYTES + path + other + slack + room);
    if (!operation) {
        return -ENOMEM;
    }
    *operation = (th_operation){.request = *request};
    th_job_init(&operation->job);
    char *told = (char *)(operation + 1);
    char *at = put_path(told + TOLD_BYTES, &operation->request.path, path);
    at = put_path(at, &operation->request.other, other);
    if (room) {
        at += -(uintptr_t)at & (slack - 1);
        operation->request.bytes = at;
        operation->request.size = room;
    }
    tell(operation, told);
    *out = operation;
    return 0;
}

int th_operation_use(th_operation *operation, unsigned which, thrum_io io) {
    int code;
    operation->record[which] = th_record_use(io, &code);
    if (!code) {
        *(which ? &operation->request.to : &operation->request.fd) = io.fd;
        if (!operation->request.path) {
            tell(operation, (char *)(operation + 1));
        }
    }
    return code;
}

int th_operation_new_on(th_operation **out, thrum_io io, const th_os_file_request *request,
                        size_t room, bool aligned) {
    int code = th_operation_new(out, request, room, aligned);
    if (!code && (code = th_operation_use(*out, 0, io)) != 0) {
        th_operation_free(*out);
        *out = NULL;
    }
    return code;
}

/* ---- making the call ---- */

void th_operation_make(th_operation *operation) {
    operation->result =
        operation->make ? operation->make(operation) : th_os_file_do(&operation->request);
    operation->made = true;
}

void th_operation_free(th_operation *operation) {
    if (operation->finish) {
        operation->finish(operation);
    }
    for (unsigned i = 0; i < 2; i++) {
        if (operation->record[i]) {
            th_record_unuse(operation->record[i]);
        }
    }
    th_os_free(operation);
}
