/*
 * watcher.c: the events of a watcher, and its users (watch.h).
 */
#include "platform/windows/file/watch.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

#include "platform/unix/io/polled.h"

/* An event, as it is read. Its name follows, if it has one: zeroes end it and fill it up. */
typedef struct event {
    int watch;
    uint32_t what;
    uint32_t pair;
    uint32_t length; /* of the name with its zeroes */
} event;

/* ---- events, with the watcher's lock ---- */

static void tell(th_file_watcher *r) {
    const bool ready = r->at < r->size;
    if (r->closed) {
        return;
    }
    if (ready && !r->told) {
        th_poll_send(r->own.signal[1]);
    } else if (!ready) {
        (void)th_poll_take_all(r->own.signal[0]);
    }
    r->told = ready;
}

/* Whether there is room for so much, and for one more event, which reports an overflow. */
static bool has_room(th_file_watcher *r, size_t size) {
    if (r->at) {
        memmove(r->bytes, r->bytes + r->at, r->size - r->at);
        r->newest = r->newest == SIZE_MAX || r->newest < r->at ? SIZE_MAX : r->newest - r->at;
        r->size -= r->at;
        r->at = 0;
    }
    return size + sizeof(event) <= TH_WATCH_ROOM - r->size;
}

/* An event like the last one, which nobody has read, adds nothing. */
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

static void hold(th_own *own) {
    th_file_watcher *r = (th_file_watcher *)own;
    if (own->kind == TH_OWN_WATCHER) {
        TH_HOLDS(&r->lock);
        r->users++;
    }
}

th_file_watcher *th_file_watcher_hold(int fd) {
    th_own *own = th_own_hold(fd, hold);
    return own && own->kind == TH_OWN_WATCHER ? (th_file_watcher *)own : NULL;
}

int64_t th_file_watch_readv(int fd, const th_os_part parts[], unsigned n) {
    th_own *own = th_own_find(fd);
    th_file_watcher *r = own && own->kind == TH_OWN_WATCHER ? (th_file_watcher *)own : NULL;
    size_t taken = 0;
    unsigned i = 0;
    while (i + 1 < n && !parts[i].size) {
        i++;
    }
    if (!r || !n) {
        return r ? -EINVAL : -EBADF;
    }
    TH_HOLDS(&r->lock);
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
