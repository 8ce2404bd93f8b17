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

int64_t th_handle_readv(int fd, const th_os_part parts[], unsigned n) {
    SRWLOCK *place = place_of(fd);
    int64_t total = 0;
    DWORD error = ERROR_SUCCESS;
    for (unsigned i = first_of(parts, n); i < n; i++) {
        DWORD got = 0;
        if (!ReadFile(th_nt_handle(fd), parts[i].base, size_of(parts[i].size), &got, NULL)) {
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
        if (!WriteFile(th_nt_handle(fd), parts[i].base, size_of(parts[i].size), &sent, NULL)) {
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
