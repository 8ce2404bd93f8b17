/*
 * file_bytes.c: reads and writes of files at a given place.
 *
 * Such a transfer moves the handle's own position, from which others go on. It is put back, and
 * until then nobody else transfers.
 */
#include "platform/windows/file/file.h"

#include <errno.h>

#include "platform/faults.h"

#define LOCKS 1024u /* handles whose numbers are as far apart, times four, wait for each other */
#define MOST (1u << 30)
#define AT_THE_END UINT64_MAX /* of a write, as the system has it */

static SRWLOCK locks[LOCKS]; /* all zero: nobody has them */

SRWLOCK *th_file_position(int fd) {
    return &locks[((unsigned)fd >> 2) % LOCKS];
}

/* A fault that tests order: transfers move a single byte. */
static DWORD size_of(const th_file_request *r) {
    const bool is_short = r->size > 1 && th_os_fails(TH_OS_FAULT_FILE_SHORT);
    return is_short ? 1 : r->size < MOST ? (DWORD)r->size : MOST;
}

/* With the handle's lock. ERROR_SUCCESS, or the error. */
static DWORD transfer(HANDLE file, bool write, void *bytes, DWORD size, uint64_t offset,
                      DWORD *moved) {
    OVERLAPPED place = {.hEvent = NULL};
    place.Offset = (DWORD)offset;
    place.OffsetHigh = (DWORD)(offset >> 32);
    BOOL done = write ? WriteFile(file, bytes, size, moved, &place)
                      : ReadFile(file, bytes, size, moved, &place);
    if (!done && GetLastError() == ERROR_IO_PENDING) { /* the program has opened it so */
        done = GetOverlappedResult(file, &place, moved, TRUE);
    }
    return done ? ERROR_SUCCESS : GetLastError();
}

static int64_t code_of(HANDLE file, DWORD error) {
    if (error == ERROR_HANDLE_EOF) {
        return 0;
    }
    if (th_file_attributes(file) & FILE_ATTRIBUTE_DIRECTORY) {
        return -EISDIR;
    }
    return error == ERROR_ACCESS_DENIED ? -EBADF : -th_nt_errno(error);
}

static int64_t move(int fd, bool write, void *bytes, DWORD size, uint64_t offset) {
    HANDLE file = th_nt_handle(fd);
    const LARGE_INTEGER nowhere = {.QuadPart = 0};
    LARGE_INTEGER position;
    DWORD moved = 0;
    if (GetFileType(file) != FILE_TYPE_DISK) {
        return -ESPIPE;
    }
    TH_HOLDS(th_file_position(fd));
    const bool has = SetFilePointerEx(file, nowhere, &position, FILE_CURRENT);
    const DWORD error = transfer(file, write, bytes, size, offset, &moved);
    if (has) {
        (void)SetFilePointerEx(file, position, NULL, FILE_BEGIN);
    }
    return error ? code_of(file, error) : (int64_t)moved;
}

int64_t th_file_read(th_file_request *r) {
    return move(r->fd, false, r->bytes, size_of(r), (uint64_t)r->offset);
}

int64_t th_file_write(th_file_request *r) {
    return move(r->fd, true, r->bytes, size_of(r), (uint64_t)r->offset);
}

int64_t th_file_add(th_file_request *r) {
    return move(r->fd, true, r->bytes, size_of(r), AT_THE_END);
}

int64_t th_file_copy(th_file_request *r) {
    const size_t size = r->length < r->size ? (size_t)r->length : r->size;
    const int64_t got = move(r->fd, false, r->bytes, (DWORD)size, (uint64_t)r->offset);
    int64_t put = 0;
    while (put < got) {
        const int64_t n = move(r->to, true, (char *)r->bytes + put, (DWORD)(got - put),
                               (uint64_t)(r->to_offset + put));
        if (n <= 0) {
            return put ? put : n;
        }
        put += n;
    }
    return got < 0 ? got : put;
}
