/*
 * handle.c: reads and writes of handles that are not sockets.
 */
#include "platform/windows/io/handle.h"

#include "platform/windows/file/file.h"

#define MOST (1u << 30) /* bytes of a call */

static DWORD size_of(size_t size) {
    return size < MOST ? (DWORD)size : MOST;
}

/*
 * ---- transfers ----
 *
 * The system takes one part a call. If it is no file, only the first one is transferred: a second
 * call might wait although the first has not.
 */

static unsigned first_of(const th_os_part parts[], unsigned n) {
    unsigned i = 0;
    while (i + 1 < n && !parts[i].size) {
        i++;
    }
    return i;
}

/* A file's position is taken exclusively; on a pipe or a console a call may wait for any time. */
static SRWLOCK *place_of(int fd) {
    SRWLOCK *lock = GetFileType(th_nt_handle(fd)) == FILE_TYPE_DISK ? th_file_position(fd) : NULL;
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

/* Moves the parts until one is short: how many bytes, and the system's error. */
static int64_t move(int fd, const th_os_part parts[], unsigned n, bool write, DWORD *error) {
    const HANDLE handle = th_nt_handle(fd);
    SRWLOCK *place = place_of(fd);
    int64_t total = 0;
    *error = ERROR_SUCCESS;
    for (unsigned i = first_of(parts, n); i < n; i++) {
        const DWORD size = size_of(parts[i].size);
        DWORD moved = 0;
        if (!(write ? WriteFile(handle, parts[i].base, size, &moved, NULL)
                    : ReadFile(handle, parts[i].base, size, &moved, NULL))) {
            *error = GetLastError();
            break;
        }
        total += moved;
        if (!place || moved < parts[i].size) {
            break;
        }
    }
    leave(place);
    return total;
}

int64_t th_handle_readv(int fd, const th_os_part parts[], unsigned n) {
    DWORD error;
    const int64_t total = move(fd, parts, n, false, &error);
    const bool ended = error == ERROR_BROKEN_PIPE || error == ERROR_HANDLE_EOF;
    return total || !error || ended ? total : -th_nt_errno(error);
}

int64_t th_handle_writev(int fd, const th_os_part parts[], unsigned n) {
    DWORD error;
    const int64_t total = move(fd, parts, n, true, &error);
    return total || !error ? total : -th_nt_errno(error);
}
