/*
 * pipe.c: pipes to started processes.
 *
 * Windows does not report when a pipe is ready. So the library's end has one transfer under way,
 * into or out of its own buffer: a read of incoming bytes, or the write of the last bytes given to
 * it. A call on the end only copies; when the transfer ends, a thread of the system's notifies by a
 * *signal*, a datagram socket that is connected to itself, which sets poll instead of the pipe
 * (winsock.c). The signal can be read exactly while the end is ready.
 *
 * The other end is the program's, which waits in its calls as it does on any pipe.
 *
 * An end belongs to its descriptor until that is closed. If a transfer is under way then, its end
 * frees the memory: a read is cancelled, a write goes on until the reader has taken it or has gone.
 */
#include "platform/windows/io/pipe.h"

#include <stdio.h>
#include <string.h>

#include "base/atomic.h"
#include "platform/faults.h"
#include "platform/windows/pollset/calls.h"
#include "platform/windows/winsock/own.h"
#include "platform/unix/io/polled.h"

#define ROOM 65536u

typedef struct end {
    th_own own;
    HANDLE handle;
    SRWLOCK lock; /* for the following */
    bool busy;    /* a transfer is under way */
    bool told;    /* the signal can be read */
    bool closed;
    bool over; /* nothing comes, or goes, any longer: */
    int error; /* the cause, or 0: the end of the data */
    DWORD at;  /* bytes read and not taken: from here, up to `size` */
    DWORD size;
    OVERLAPPED overlapped;
    char bytes[ROOM];
} end;

static end *find(int fd) {
    th_own *own = th_own_find(fd);
    return own && own->kind != TH_OWN_WATCHER ? (end *)own : NULL;
}

/* ---- transfers, with the lock ---- */

static bool reads(const end *e) {
    return e->own.kind == TH_OWN_READS;
}

static bool is_ready(const end *e) {
    return e->over || (reads(e) ? e->at < e->size : !e->busy);
}

/* Sets the signal to the present state. */
static void tell(end *e) {
    const bool ready = is_ready(e);
    if (ready && !e->told) {
        th_poll_send(e->own.signal[1]);
    } else if (!ready) {
        (void)th_poll_take_all(e->own.signal[0]);
    }
    e->told = ready;
}

/* A transfer has ended. */
static void take_result(end *e, DWORD error, DWORD n) {
    e->busy = false;
    if (!error) {
        e->at = 0;
        e->size = reads(e) ? n : 0;
        return;
    }
    const bool gone = error == ERROR_BROKEN_PIPE || error == ERROR_PIPE_NOT_CONNECTED ||
                      error == ERROR_NO_DATA || error == ERROR_HANDLE_EOF;
    e->over = true;
    e->error = gone ? (reads(e) ? 0 : EPIPE) : th_nt_errno(error);
}

/* Begins one, of `size` bytes if it is a write. If it ends at once, nobody else is notified. */
static void begin(end *e, DWORD size) {
    DWORD n = 0;
    e->busy = true;
    e->overlapped = (OVERLAPPED){.hEvent = NULL};
    const BOOL done = reads(e) ? ReadFile(e->handle, e->bytes, ROOM, &n, &e->overlapped)
                               : WriteFile(e->handle, e->bytes, size, &n, &e->overlapped);
    const DWORD error = done ? ERROR_SUCCESS : GetLastError();
    if (error != ERROR_IO_PENDING) {
        take_result(e, error, n);
    }
}

/* Reads on, if nothing is left. A write of no bytes, which a program may make, is no end. */
static void read_on(end *e) {
    while (reads(e) && !e->busy && !e->over && e->at == e->size) {
        begin(e, 0);
    }
}

/* ---- its beginning and its end ---- */

static void end_free(end *e) {
    CloseHandle(e->handle);
    th_poll_pair_close(e->own.signal);
    th_os_free(e);
}

/*
 * By a thread of the system's: a transfer that was under way has ended. Its argument is a status of
 * the system's, or an error, since the documentation differs: so it queries the result.
 */
static void CALLBACK on_end(DWORD status, DWORD size, OVERLAPPED *overlapped) {
    end *e = (end *)(void *)((char *)overlapped - offsetof(end, overlapped));
    DWORD n = 0;
    (void)status, (void)size;
    AcquireSRWLockExclusive(&e->lock);
    const BOOL done = GetOverlappedResult(e->handle, overlapped, &n, FALSE);
    take_result(e, done ? ERROR_SUCCESS : GetLastError(), n);
    const bool closed = e->closed;
    if (!closed) {
        read_on(e);
        tell(e);
    }
    ReleaseSRWLockExclusive(&e->lock);
    if (closed) {
        end_free(e);
    }
}

/* Our end, which waits for nobody, and the program's. 0 or a code. */
static int make_pipe(HANDLE *own, HANDLE *other, bool reads) {
    static uint32_t xlast;
    wchar_t name[80];
    /* relaxed: only that no two are the same */
    const uint32_t number = th_add_relaxed(&xlast, 1u);
    (void)swprintf(name, sizeof name / sizeof *name, L"\\\\.\\pipe\\thrum-%lx-%x-%llx",
                   GetCurrentProcessId(), number, (unsigned long long)th_os_now());
    *own = CreateNamedPipeW(name,
                            (DWORD)(reads ? PIPE_ACCESS_INBOUND : PIPE_ACCESS_OUTBOUND) |
                                FILE_FLAG_OVERLAPPED | FILE_FLAG_FIRST_PIPE_INSTANCE,
                            PIPE_TYPE_BYTE | PIPE_WAIT | PIPE_REJECT_REMOTE_CLIENTS, 1, ROOM, ROOM,
                            0, NULL);
    if (*own == INVALID_HANDLE_VALUE) {
        return -th_nt_errno(GetLastError());
    }
    /* A program may query the kind of its pipe. */
    *other = CreateFileW(
        name, reads ? GENERIC_WRITE | FILE_READ_ATTRIBUTES : GENERIC_READ | FILE_WRITE_ATTRIBUTES,
        0, NULL, OPEN_EXISTING, 0, NULL);
    if (*other == INVALID_HANDLE_VALUE) {
        const int code = -th_nt_errno(GetLastError());
        CloseHandle(*own);
        return code;
    }
    return 0;
}

/* 0 or a code, with the handle still the caller's. */
static int end_new(HANDLE handle, bool is_read) {
    end *e = th_os_alloc(sizeof *e);
    if (!e) {
        return -ENOMEM;
    }
    memset(e, 0, offsetof(end, bytes));
    e->handle = handle;
    e->own.kind = is_read ? TH_OWN_READS : TH_OWN_WRITES;
    e->own.fd = th_fd_of_handle(handle);
    InitializeSRWLock(&e->lock);
    int code = th_poll_pair(e->own.signal);
    if (!code &&
        !(SetFileCompletionNotificationModes(handle, FILE_SKIP_COMPLETION_PORT_ON_SUCCESS) &&
          BindIoCompletionCallback(handle, on_end, 0))) {
        code = -th_nt_errno(GetLastError());
        th_poll_pair_close(e->own.signal);
    }
    if (code) {
        th_os_free(e);
        return code;
    }
    th_closing(e->own.fd); /* the sets' record of the number was of another one */
    AcquireSRWLockExclusive(&e->lock);
    read_on(e);
    tell(e);
    ReleaseSRWLockExclusive(&e->lock);
    th_own_add(&e->own);
    return 0;
}

int th_os_pipe(int pair[2], unsigned theirs) {
    HANDLE own;
    HANDLE other;
    const int fault = th_os_fails_with(TH_OS_FAULT_PIPE);
    if (fault) {
        return fault;
    }
    const bool reads = theirs == 1;
    TH_KEEPS_ERRNO;
    int code = th_winsock_begin();
    code = code ? code : make_pipe(&own, &other, reads);
    if (!code) {
        code = end_new(own, reads);
        if (code) {
            CloseHandle(own);
            CloseHandle(other);
        } else {
            pair[theirs] = th_fd_of_handle(other);
            pair[1 - theirs] = th_fd_of_handle(own);
            th_closing(pair[theirs]);
        }
    }
    return code;
}

bool th_pipe_close(int fd) {
    end *e = (end *)th_own_take(fd, false);
    if (!e) {
        return false;
    }
    AcquireSRWLockExclusive(&e->lock);
    const bool busy = e->busy;
    e->closed = true;
    if (busy && reads(e)) {
        (void)CancelIoEx(e->handle, &e->overlapped);
    }
    ReleaseSRWLockExclusive(&e->lock);
    if (!busy) {
        end_free(e);
    }
    return true;
}

/* ---- calls ---- */

static int64_t take(end *e, const th_os_part parts[], unsigned n) {
    DWORD taken = 0;
    for (unsigned i = 0; i < n && e->at < e->size; i++) {
        const DWORD left = e->size - e->at;
        const DWORD size = parts[i].size < left ? (DWORD)parts[i].size : left;
        memcpy(parts[i].base, e->bytes + e->at, size);
        e->at += size;
        taken += size;
    }
    return taken;
}

int64_t th_pipe_readv(int fd, const th_os_part parts[], unsigned n) {
    end *e = find(fd);
    if (!e || !reads(e)) {
        return -EBADF;
    }
    TH_HOLDS(&e->lock);
    int64_t result = -EAGAIN;
    if (e->at < e->size) {
        result = take(e, parts, n);
        read_on(e);
    } else if (e->over) {
        result = -e->error;
    }
    tell(e);
    return result;
}

static DWORD put(end *e, const th_os_part parts[], unsigned n) {
    DWORD size = 0;
    for (unsigned i = 0; i < n && size < ROOM; i++) {
        const DWORD left = ROOM - size;
        const DWORD piece = parts[i].size < left ? (DWORD)parts[i].size : left;
        memcpy(e->bytes + size, parts[i].base, piece);
        size += piece;
    }
    return size;
}

int64_t th_pipe_writev(int fd, const th_os_part parts[], unsigned n) {
    end *e = find(fd);
    if (!e || reads(e)) {
        return -EBADF;
    }
    TH_HOLDS(&e->lock);
    int64_t result = e->over ? -e->error : -EAGAIN;
    if (!e->over && !e->busy) {
        const DWORD size = put(e, parts, n);
        if (size) {
            begin(e, size);
        }
        result = e->over ? -e->error : (int64_t)size;
    }
    tell(e);
    return result;
}
