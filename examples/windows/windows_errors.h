/*
 * windows_errors.h: the errno numbers for Windows' errors.
 */
#ifndef WINDOWS_ERRORS_H
#define WINDOWS_ERRORS_H

#include <errno.h>
#include <stdint.h>
#include <windows.h>

enum { NO_SUCH_DEVICE = 433 /* which not every header has */ };

static inline int errno_of(DWORD error) {
    switch (error) {
    case ERROR_FILE_NOT_FOUND:
    case ERROR_PATH_NOT_FOUND:
    case ERROR_INVALID_NAME:
    case ERROR_BAD_PATHNAME:
        return ENOENT;
    case ERROR_ACCESS_DENIED:
    case ERROR_SHARING_VIOLATION: /* another user has it open exclusively */
        return EACCES;
    case ERROR_DIRECTORY:
        return ENOTDIR;
    case ERROR_TOO_MANY_OPEN_FILES:
        return EMFILE;
    case ERROR_NOT_ENOUGH_MEMORY:
    case ERROR_OUTOFMEMORY:
        return ENOMEM;
    case ERROR_CANT_RESOLVE_FILENAME: /* links that lead in a cycle */
        return ELOOP;
    case ERROR_BROKEN_PIPE:
    case ERROR_NO_DATA:
    case ERROR_PIPE_NOT_CONNECTED: /* as wine has it */
        return EPIPE;
    case NO_SUCH_DEVICE: /* a socket's file, to wine */
        return ENXIO;
    case ERROR_DISK_FULL:
        return ENOSPC;
    default:
        return EIO;
    }
}

/* A descriptor is a handle, of which 32 bits count, as the library has them. */
static inline HANDLE handle_of(int fd) {
    return (HANDLE)(intptr_t)fd;
}

static inline int fd_of(HANDLE handle) {
    return (int)(intptr_t)handle;
}

#endif
