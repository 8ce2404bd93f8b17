/*
 * name.c: names of files.
 */
#include <errno.h>
#include <string.h>

#include "file/operation.h"
#include "thrum/file.h"

#define TEXT_MAX 4096u /* of a symbolic link; the system has no longer ones */

/* A call by one path, or by two if it has `other`. */
static int call(th_os_file_request request, bool both, thrum_time deadline) {
    const bool whole = request.path && (!both || request.other);
    return whole ? (int)th_operation_by_path(&request, deadline) : -EINVAL;
}

int thrum_file_rename(const char *from, const char *to, unsigned flags, thrum_time deadline) {
    if (flags & ~THRUM_FILE_NO_REPLACE) {
        return -EINVAL;
    }
    const uint32_t how = flags ? TH_OS_FILE_NO_REPLACE : 0;
    return call(
        (th_os_file_request){.call = TH_OS_FILE_RENAME, .path = from, .other = to, .flags = how},
        true, deadline);
}

int thrum_file_unlink(const char *path, thrum_time deadline) {
    return call((th_os_file_request){.call = TH_OS_FILE_UNLINK, .path = path}, false, deadline);
}

int thrum_file_rmdir(const char *path, thrum_time deadline) {
    return call((th_os_file_request){.call = TH_OS_FILE_RMDIR, .path = path}, false, deadline);
}

int thrum_file_mkdir(const char *path, unsigned mode, thrum_time deadline) {
    return call((th_os_file_request){.call = TH_OS_FILE_MKDIR, .path = path, .mode = mode}, false,
                deadline);
}

int thrum_file_link(const char *path, const char *name, thrum_time deadline) {
    return call((th_os_file_request){.call = TH_OS_FILE_LINK, .path = path, .other = name}, true,
                deadline);
}

int thrum_file_symlink(const char *text, const char *name, thrum_time deadline) {
    return call((th_os_file_request){.call = TH_OS_FILE_SYMLINK, .path = text, .other = name}, true,
                deadline);
}

int thrum_file_readlink(const char *path, char *text, size_t size, thrum_time deadline) {
    if (!path || !text) {
        return -EINVAL;
    }
    const th_os_file_request request = {.call = TH_OS_FILE_READLINK, .path = path};
    th_operation *operation;
    int code = th_operation_new(&operation, &request, TEXT_MAX, false);
    if (code) {
        return code;
    }
    code = (int)th_operation_ask(operation, deadline);
    if (code >= 0 && (size_t)code >= size) {
        code = -ERANGE;
    } else if (code >= 0) {
        memcpy(text, operation->request.bytes, (size_t)code);
        text[code] = '\0';
    }
    th_operation_drop(operation);
    return code;
}
