/*
 * handle.c: descriptors that are no sockets, and those that others share.
 */
#include "platform/windows/file.h"

#include <errno.h>

#include "platform/faults.h"
#include "platform/windows/pipe.h"
#include "platform/windows/watch.h"

#define MOST (1u << 30) /* bytes of a call */

static DWORD size_of(size_t size) {
    return size < MOST ? (DWORD)size : MOST;
}

/*
 * ---- transfers ----
 *
 * The system takes one part a call. Of what is no file only the first one is transferred: a second
 * call might wait although the first has not.
 */

static unsigned first_of(const th_os_part parts[], unsigned n) {
    unsigned i = 0;
    while (i + 1 < n && !parts[i].size) {
        i++;
    }
    return i;
}

/* Of a file its place is had alone; of a pipe or a console one may wait for as long as it takes. */
static SRWLOCK *place_of(int fd) {
    SRWLOCK *lock = GetFileType(th_handle_of(fd)) == FILE_TYPE_DISK ? th_file_position(fd) : NULL;
    if (lock) {
        AcquireSRWLockExclusive(lock);
    }
    return lock;
}

static void leave(SRWLOCK *place) {
    if (place) {
        ReleaseSRWLockExclusive(place);
    }
}

int64_t th_handle_readv(int fd, const th_os_part parts[], unsigned n) {
    SRWLOCK *place = place_of(fd);
    int64_t total = 0;
    DWORD error = ERROR_SUCCESS;
    for (unsigned i = first_of(parts, n); i < n; i++) {
        DWORD got = 0;
        if (!ReadFile(th_handle_of(fd), parts[i].base, size_of(parts[i].size), &got, NULL)) {
            error = GetLastError();
            break;
        }
        total += got;
        if (!place || got < parts[i].size) {
            break;
        }
    }
    leave(place);
    const bool ended = error == ERROR_BROKEN_PIPE || error == ERROR_HANDLE_EOF;
    return total || !error || ended ? total : -th_nt_errno(error);
}

int64_t th_handle_writev(int fd, const th_os_part parts[], unsigned n) {
    SRWLOCK *place = place_of(fd);
    int64_t total = 0;
    DWORD error = ERROR_SUCCESS;
    for (unsigned i = first_of(parts, n); i < n; i++) {
        DWORD sent = 0;
        if (!WriteFile(th_handle_of(fd), parts[i].base, size_of(parts[i].size), &sent, NULL)) {
            error = GetLastError();
            break;
        }
        total += sent;
        if (!place || sent < parts[i].size) {
            break;
        }
    }
    leave(place);
    return total || !error ? total : -th_nt_errno(error);
}

/* ---- what others share ---- */

int64_t th_os_io_readv_shared(int fd, th_os_kind kind, const th_os_part parts[], unsigned n) {
    return th_os_io_readv(fd, kind, parts, n);
}

int64_t th_os_io_writev_shared(int fd, th_os_kind kind, const th_os_part parts[], unsigned n) {
    return th_os_io_writev(fd, kind, parts, n);
}

static int duplicate_socket(int fd) {
    WSAPROTOCOL_INFOW info;
    if (WSADuplicateSocketW(th_socket_of(fd), GetCurrentProcessId(), &info)) {
        return th_winsock_code();
    }
    SOCKET s = WSASocketW(FROM_PROTOCOL_INFO, FROM_PROTOCOL_INFO, FROM_PROTOCOL_INFO, &info, 0,
                          WSA_FLAG_OVERLAPPED | WSA_FLAG_NO_HANDLE_INHERIT);
    return s == INVALID_SOCKET ? th_winsock_code() : th_fd_of_fresh(s);
}

int th_os_io_duplicate(int fd) {
    HANDLE own = GetCurrentProcess();
    HANDLE other = NULL;
    if (th_os_fails(TH_OS_FAULT_DUPLICATE)) {
        return -EMFILE;
    }
    bool reads;
    SOCKET signal;
    int saved = th_os_errno_get();
    int code;
    if (th_pipe_signal(fd, &reads, &signal) || th_file_watch_is(fd)) {
        code = -EOPNOTSUPP; /* the bytes that were read already, or events, are this one's */
    } else if (th_is_socket(fd)) {
        code = duplicate_socket(fd);
    } else if (DuplicateHandle(own, th_handle_of(fd), own, &other, 0, FALSE,
                               DUPLICATE_SAME_ACCESS)) {
        code = th_fd_of_handle(other);
    } else {
        code = -th_nt_errno(GetLastError());
    }
    th_os_errno_set(saved);
    return code;
}

int th_os_io_unread(int fd, size_t n) {
    const LARGE_INTEGER back = {.QuadPart = -(int64_t)n};
    if (th_os_fails(TH_OS_FAULT_UNREAD)) {
        return -ESPIPE;
    }
    return SetFilePointerEx(th_handle_of(fd), back, NULL, FILE_CURRENT) ? 0 : -ESPIPE;
}
