/*
 * own.c: see own.h.
 */
#include "platform/windows/winsock/own.h"

#include "base/atomic.h"

#define PLACES 256u

static SRWLOCK owns_lock = SRWLOCK_INIT;
static th_own *owns[PLACES]; /* by their descriptors; with the lock */
static uint32_t xcount;      /* how many there are; written with the lock */

static th_own **place_of(int fd) {
    return &owns[(unsigned)fd / 4 % PLACES]; /* handles are multiples of 4 */
}

/* With the lock: the link to the descriptor's record, or to NULL. */
static th_own **find(int fd) {
    th_own **at = place_of(fd);
    while (*at && (*at)->fd != fd) {
        at = &(*at)->next;
    }
    return at;
}

void th_own_add(th_own *own) {
    TH_HOLDS(&owns_lock);
    th_own **at = place_of(own->fd);
    own->next = *at;
    *at = own;
    th_store_relaxed(&xcount, xcount + 1); /* relaxed: as in th_own_hold */
}

th_own *th_own_hold(int fd, void (*hold)(th_own *own)) {
    if (!th_load_relaxed(&xcount)) { /* relaxed: the owner of the number has seen it */
        return NULL;
    }
    AcquireSRWLockShared(&owns_lock);
    th_own *own = *find(fd);
    if (own && hold) {
        hold(own);
    }
    ReleaseSRWLockShared(&owns_lock);
    return own;
}

th_own *th_own_find(int fd) {
    return th_own_hold(fd, NULL);
}

th_own *th_own_take(int fd, bool watcher) {
    th_own *own = th_own_find(fd);
    if (!own) {
        return NULL;
    }
    TH_HOLDS(&owns_lock);
    th_own **at = find(fd);
    own = *at && ((*at)->kind == TH_OWN_WATCHER) == watcher ? *at : NULL;
    if (own) {
        *at = own->next;
        th_store_relaxed(&xcount, xcount - 1); /* relaxed: as in th_own_hold */
    }
    return own;
}

/*
 * A copy, made with the lock: the caller that closes the descriptor may free the record
 * afterwards.
 */
static bool look(int fd, th_own *out) {
    if (!th_load_relaxed(&xcount)) { /* relaxed: as in th_own_hold */
        return false;
    }
    AcquireSRWLockShared(&owns_lock);
    const th_own *own = *find(fd);
    if (own) {
        *out = *own;
    }
    ReleaseSRWLockShared(&owns_lock);
    return own;
}

bool th_own_is_watcher(int fd) {
    th_own own;
    return look(fd, &own) && own.kind == TH_OWN_WATCHER;
}

bool th_pipe_signal(int fd, bool *reads, SOCKET *signal) {
    th_own own;
    if (!look(fd, &own) || own.kind == TH_OWN_WATCHER) {
        return false;
    }
    *reads = own.kind == TH_OWN_READS;
    *signal = th_socket_of(own.signal[0]);
    return true;
}
