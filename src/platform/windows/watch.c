/*
 * watch.c: watchers: descriptors that tell of changes of files, and their events (watch.h).
 */
#include "platform/windows/watch.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "base/atomic.h"
#include "platform/faults.h"
#include "platform/unix/io/edge.h"
#include "platform/unix/io/polled.h"

/* An event, as it is read. Its name follows, if it has one: zeroes end it and fill it up. */
typedef struct event {
    int watch;
    uint32_t what;
    uint32_t pair;
    uint32_t length; /* of the name with its zeroes */
} event;

static SRWLOCK watchers_lock = SRWLOCK_INIT;
static th_file_watcher *watchers; /* with the lock */
static uint32_t xcount;           /* of them; written with the lock */

/* ---- events, with the watcher's lock ---- */

static void tell(th_file_watcher *r) {
    const bool ready = r->at < r->size;
    if (r->closed) {
        return;
    }
    if (ready && !r->told) {
        th_poll_send(r->signal[1]);
    } else if (!ready) {
        (void)th_poll_take_all(r->signal[0]);
    }
    r->told = ready;
}

/* Whether there is room for so much, and for one more event, which tells that there was none. */
static bool has_room(th_file_watcher *r, size_t size) {
    if (r->at) {
        memmove(r->bytes, r->bytes + r->at, r->size - r->at);
        r->newest = r->newest == SIZE_MAX || r->newest < r->at ? SIZE_MAX : r->newest - r->at;
        r->size -= r->at;
        r->at = 0;
    }
    return size + sizeof(event) <= TH_WATCH_ROOM - r->size;
}

/* An event like the last one, which nobody has read, tells nothing. */
static bool is_known(const th_file_watcher *r, const event *e, const char *name) {
    return r->newest != SIZE_MAX && r->newest >= r->at &&
           memcmp(r->bytes + r->newest, e, sizeof *e) == 0 &&
           memcmp(r->bytes + r->newest + sizeof *e, name, e->length) == 0;
}

void th_file_watcher_add(th_file_watcher *r, int number, uint32_t what, uint32_t pair,
                         const char *name) {
    const size_t length = strlen(name);
    event e = {number, what, pair, length ? (uint32_t)((length + 4) & ~(size_t)3) : 0};
    if (r->lost || is_known(r, &e, name)) {
        return;
    }
    if (!has_room(r, sizeof e + e.length)) {
        r->lost = true;
        e = (event){-1, TH_OS_WATCH_OVERFLOW, 0, 0};
    }
    r->newest = r->size;
    memcpy(r->bytes + r->size, &e, sizeof e);
    memcpy(r->bytes + r->size + sizeof e, name, e.length);
    r->size += sizeof e + e.length;
    tell(r);
}

/* ---- the descriptor ---- */

void th_file_watcher_leave(th_file_watcher *r) {
    const bool is_last = --r->users == 0;
    ReleaseSRWLockExclusive(&r->lock);
    if (is_last) {
        th_os_free(r);
    }
}

static th_file_watcher *find(int fd) {
    th_file_watcher *r = NULL;
    if (th_load_relaxed(&xcount)) { /* relaxed: whoever has the number has seen it */
        AcquireSRWLockShared(&watchers_lock);
        for (r = watchers; r && r->fd != fd; r = r->next) {
        }
        ReleaseSRWLockShared(&watchers_lock);
    }
    return r;
}

th_file_watcher *th_file_watcher_hold(int fd) {
    AcquireSRWLockShared(&watchers_lock);
    th_file_watcher *r = watchers;
    while (r && r->fd != fd) {
        r = r->next;
    }
    if (r) {
        AcquireSRWLockExclusive(&r->lock);
        r->users++;
        ReleaseSRWLockExclusive(&r->lock);
    }
    ReleaseSRWLockShared(&watchers_lock);
    return r;
}

bool th_file_watch_is(int fd) {
    return find(fd);
}

static int watcher_new(void) {
    int code = th_file_watch_begin();
    if (code) {
        return code;
    }
    th_file_watcher *r = th_os_alloc(sizeof *r);
    if (!r) {
        return -ENOMEM;
    }
    memset(r, 0, offsetof(th_file_watcher, bytes));
    code = th_poll_pair(r->signal);
    if (code) {
        th_os_free(r);
        return code;
    }
    InitializeSRWLock(&r->lock);
    InitializeSRWLock(&r->adding);
    r->fd = th_fd_of_fresh(th_socket_of(r->signal[0]));
    r->users = 1;
    r->newest = SIZE_MAX;
    AcquireSRWLockExclusive(&watchers_lock);
    r->next = watchers;
    watchers = r;
    th_store_relaxed(&xcount, xcount + 1); /* relaxed: as in find */
    ReleaseSRWLockExclusive(&watchers_lock);
    return r->fd;
}

int th_os_watch_open(void) {
    if (th_os_fails(TH_OS_FAULT_WATCH_OPEN)) {
        return -EMFILE;
    }
    const int saved = th_os_errno_get();
    const int fd = watcher_new();
    th_os_errno_set(saved);
    return fd;
}

bool th_file_watch_close(int fd) {
    th_file_watcher *r = NULL;
    if (!find(fd)) {
        return false;
    }
    AcquireSRWLockExclusive(&watchers_lock);
    for (th_file_watcher **at = &watchers; *at; at = &(*at)->next) {
        if ((*at)->fd == fd) {
            r = *at;
            *at = r->next;
            th_store_relaxed(&xcount, xcount - 1); /* relaxed: as in find */
            break;
        }
    }
    ReleaseSRWLockExclusive(&watchers_lock);
    if (!r) {
        return false;
    }
    AcquireSRWLockExclusive(&r->lock);
    r->closed = true;
    while (r->watches) {
        th_file_watch_drop(r->watches);
    }
    th_poll_pair_close(r->signal);
    th_file_watcher_leave(r);
    return true;
}

int64_t th_file_watch_readv(int fd, const th_os_part parts[], unsigned n) {
    th_file_watcher *r = find(fd);
    size_t taken = 0;
    unsigned i = 0;
    while (i + 1 < n && !parts[i].size) {
        i++;
    }
    if (!r || !n) {
        return r ? -EINVAL : -EBADF;
    }
    AcquireSRWLockExclusive(&r->lock);
    const bool none = r->at == r->size;
    while (r->at < r->size) {
        event e;
        memcpy(&e, r->bytes + r->at, sizeof e);
        const size_t size = sizeof e + e.length;
        if (size > parts[i].size - taken) {
            break;
        }
        memcpy((char *)parts[i].base + taken, r->bytes + r->at, size);
        taken += size;
        r->at += size;
    }
    r->lost = r->lost && r->at < r->size;
    tell(r);
    ReleaseSRWLockExclusive(&r->lock);
    return taken ? (int64_t)taken : none ? -EAGAIN : -EINVAL;
}

size_t th_os_watch_event_at(const void *bytes, size_t size, size_t at, th_os_watch_event *out) {
    const char *begin = (const char *)bytes + at;
    event e;
    if (size - at < sizeof e) {
        return 0;
    }
    memcpy(&e, begin, sizeof e);
    if (e.length > size - at - sizeof e || (e.length && begin[sizeof e + e.length - 1])) {
        return 0;
    }
    *out = (th_os_watch_event){e.watch, e.what, e.pair, e.length ? begin + sizeof e : ""};
    return at + sizeof e + e.length;
}
