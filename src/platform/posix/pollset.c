/*
 * pollset.c: sets of descriptors by poll(), and the wake-ups in them (wakeup.c).
 *
 * poll() reports a state, again and again; the contract wants changes. So each member of a set has
 * bits that are *wanted*. A wait polls for these alone, and a reported bit is no longer wanted,
 * until a call on the descriptor has been made that may have found nothing left (unix/io/edge.h): a
 * caller that waits for an event has made one. The end of the peer is reported once more,
 * regardless of the wanted bits. A bit that is wanted once too often costs a spurious event. An
 * answer to a poll from before such a call may be out of date, so it is dropped: poll() reports a
 * lasting state again.
 *
 * A set is named by the reading end of its wake-up. The data of a number, as a set's, an alarm's or
 * a member's, is in its slot. One lock protects all of it; handlers of signals take it, too
 * (masked_lock.h). A thread that sleeps in poll() does not hold it (pollset_sleepers.c).
 */
#include "platform/posix/pollset.h"

#include <errno.h>
#include <stdlib.h>

#include "base/atomic.h"
#include "platform/faults.h"

/* ---- forks ---- */

static sigset_t forks_mask; /* of the thread that forks; with the lock */

static void before_fork(void) {
    sigset_t before;
    th_pollset_lock(&before);
    forks_mask = before;
}

static void in_parent(void) {
    const sigset_t before = forks_mask;
    th_pollset_unlock(&before);
}

static void in_child(void) {
    th_pollset_sleepers_forked();
    in_parent();
}

__attribute__((constructor(101))) static void set_up(void) {
    (void)pthread_atfork(before_fork, in_parent, in_child);
}

/* ---- wake-ups ---- */

int th_os_wakeup_open(void) {
    int ends[2];
    sigset_t before;
    TH_OS_MAY_FAIL(TH_OS_FAULT_EVENTFD, -EMFILE);
    TH_KEEPS_ERRNO;
    int code = th_poll_pair(ends);
    if (!code) {
        th_pollset_lock(&before);
        slot *s = th_pollset_slot_for(ends[0]);
        if (s) {
            /* relaxed: the caller hands the number on */
            th_store_relaxed(&s->xwrite, ends[1] + 1);
        }
        code = s ? ends[0] : -ENOMEM;
        th_pollset_unlock(&before);
        if (!s) {
            th_poll_pair_close(ends);
        }
    }
    return code;
}

/* A wake-up has a second descriptor, and is closed like any other: it has a record. */
static void close_other_end(slot *s) {
    /* relaxed: nobody sets it any longer */
    const int end = th_load_relaxed(&s->xwrite) ? th_xchg_relaxed(&s->xwrite, 0) - 1 : -1;
    if (end >= 0) {
        th_poll_pair_close((int[2]){end, end});
    }
}

void th_os_wakeup_close(int wakeup) {
    TH_KEEPS_ERRNO;
    if (th_pollset_slot(wakeup)) {
        th_pollset_forget(wakeup);
        th_poll_pair_close((int[2]){wakeup, wakeup});
    }
}

static int set_wakeup(int wakeup) {
    slot *s = th_pollset_slot(wakeup);
    const int end = s ? th_load_relaxed(&s->xwrite) - 1 : -1; /* relaxed: as it was handed on */
    if (end < 0) {
        return -EBADF;
    }
    TH_KEEPS_ERRNO;
    th_os_errno_set(0);
    th_poll_send(end);
    const int code = th_os_errno_get() == EBADF ? -EBADF : 0; /* the program has closed it */
    th_pollset_look_again(wakeup, TH_OS_IN);                  /* each setting is an event */
    return code;
}

void th_os_wakeup_set(int wakeup) {
    (void)set_wakeup(wakeup);
}

void th_os_wakeup_take(int wakeup) {
    TH_KEEPS_ERRNO;
    (void)th_poll_take_all(wakeup);
}

/* ---- sets ---- */

int th_os_pollset_open(th_os_pollset *out) {
    sigset_t before;
    *out = (th_os_pollset){-1, -1};
    int wakeup = th_os_fails(TH_OS_FAULT_POLLSET) ? -EMFILE : th_os_wakeup_open();
    set *s = wakeup < 0 ? NULL : calloc(1, sizeof *s);
    if (!s) {
        if (wakeup >= 0) {
            th_os_wakeup_close(wakeup);
        }
        return wakeup < 0 ? wakeup : -ENOMEM;
    }
    s->number = wakeup;
    th_pollset_lock(&before);
    const int code = th_pollset_comes();
    th_pollset_slot(wakeup)->set = code ? NULL : s;
    th_pollset_unlock(&before);
    if (code) {
        th_os_wakeup_close(wakeup);
        free(s);
        return code;
    }
    *out = (th_os_pollset){wakeup, wakeup};
    return 0;
}

/* With the lock: takes a member out of its set and its slot. */
static void drop_member(member *m) {
    (void)TH_UNLINK(&th_pollset_slot(m->fd)->members, m, next_of_fd);
    (void)TH_UNLINK(&m->set->members, m, next);
    m->set->count--;
    free(m);
}

void th_os_pollset_close(th_os_pollset *named) {
    sigset_t before;
    th_pollset_lock(&before);
    set *s = th_pollset_set(named);
    if (s) {
        th_pollset_slot(named->set)->set = NULL;
        th_pollset_goes();
        while (s->members) {
            drop_member(s->members);
        }
        for (nested *n = s->nested, *next; n; n = next) {
            next = n->next;
            free(n);
        }
        free(s);
    }
    th_pollset_unlock(&before);
    if (named->set >= 0) {
        th_os_wakeup_close(named->set);
    }
    *named = (th_os_pollset){-1, -1};
}

/* Whether another file has got the number since it was added. */
static bool is_other(const member *m, const th_os_identity *identity) {
    return m->device != identity->device || m->inode != identity->inode;
}

/* With the lock. */
static int add(set *s, int fd, uint64_t key, const th_os_identity *identity) {
    slot *at = th_pollset_slot_for(fd);
    member *m = at ? at->members : NULL;
    while (m && m->set != s) {
        m = m->next_of_fd;
    }
    if (m && !is_other(m, identity)) {
        return -EEXIST;
    }
    if (m) {
        drop_member(m);
    }
    m = at ? calloc(1, sizeof *m) : NULL;
    if (!m) {
        return -ENOMEM;
    }
    *m = (member){.fd = fd, .key = key, .set = s, .next = s->members, .next_of_fd = at->members};
    m->wanted = TH_OS_IN | TH_OS_OUT;
    m->device = identity->device;
    m->inode = identity->inode;
    s->members = m;
    at->members = m;
    s->count++;
    th_pollset_kick(s);
    return 0;
}

int th_os_pollset_add(const th_os_pollset *named, int fd, uint64_t key) {
    th_os_identity identity;
    th_os_kind kind;
    TH_OS_MAY_FAIL(TH_OS_FAULT_POLLSET_ADD, -ENOMEM);
    TH_KEEPS_ERRNO;
    int code = th_os_io_kind(fd, &kind, &identity);
    if (code) {
        return code;
    }
    TH_POLLSET_HELD(before);
    set *s = th_pollset_set(named);
    return s ? add(s, fd, key, &identity) : -EBADF;
}

int th_os_pollset_add_set(const th_os_pollset *named, const th_os_pollset *other, uint64_t key) {
    TH_POLLSET_HELD(before);
    set *s = th_pollset_set(named);
    set *inner = th_pollset_set(other);
    nested *n = s && inner ? calloc(1, sizeof *n) : NULL;
    if (!n) {
        return s && inner ? -ENOMEM : -EBADF;
    }
    *n = (nested){.set = inner, .key = key, .next = s->nested};
    s->nested = n;
    th_pollset_kick(s);
    return 0;
}

int th_os_pollset_remove(const th_os_pollset *named, int fd) {
    TH_POLLSET_HELD(before);
    const slot *at = th_pollset_slot(fd);
    const set *s = th_pollset_set(named);
    for (member *m = at ? at->members : NULL; m; m = m->next_of_fd) {
        if (m->set == s) {
            th_pollset_kick(m->set);
            drop_member(m);
            th_pollset_await_askers(&before);
            return 0;
        }
    }
    return -ENOENT;
}

void th_pollset_forget(int fd) {
    slot *at = th_pollset_slot(fd);
    if (!at) {
        return;
    }
    close_other_end(at);
    TH_POLLSET_HELD(before);
    const bool any = at->members;
    while (at->members) {
        th_pollset_kick(at->members->set);
        drop_member(at->members);
    }
    if (any) {
        th_pollset_await_askers(&before);
    }
}

void th_pollset_look_again(int fd, uint32_t bits) {
    const slot *at = th_pollset_slot(fd);
    if (!at) {
        return;
    }
    TH_KEEPS_ERRNO;
    TH_POLLSET_HELD(before);
    const uint64_t last = th_pollset_turn();
    for (member *m = at->members; m; m = m->next_of_fd) {
        m->read = bits & TH_OS_IN ? last : m->read;
        m->written = bits & TH_OS_OUT ? last : m->written;
        if ((m->wanted & bits) != bits) {
            m->wanted |= bits;
            th_pollset_kick(m->set);
        }
    }
}

/* ---- alarms ---- */

int th_os_alarm_open(void) {
    int alarm = th_os_wakeup_open();
    if (alarm >= 0) {
        TH_POLLSET_HELD(before);
        th_pollset_slot(alarm)->alarm = TH_FOREVER;
    }
    return alarm;
}

void th_os_alarm_close(int alarm) {
    th_os_wakeup_close(alarm);
}

void th_os_alarm_set(int alarm, int64_t at) {
    TH_KEEPS_ERRNO;
    TH_POLLSET_HELD(before);
    slot *s = th_pollset_slot(alarm);
    if (s && at < s->alarm) {
        th_pollset_kick(NULL);
    }
    if (s) {
        s->alarm = at;
    }
}

int th_os_pollset_add_alarm(const th_os_pollset *named, int alarm) {
    TH_POLLSET_HELD(before);
    set *s = th_pollset_set(named);
    if (!s || s->alarms_count == ALARMS) {
        return s ? -ENOSPC : -EBADF;
    }
    s->alarms[s->alarms_count++] = alarm;
    th_pollset_kick(s);
    return 0;
}

int th_os_pollset_wake(const th_os_pollset *named) {
    return set_wakeup(named->wake);
}

void th_os_pollset_wake_take(const th_os_pollset *named) {
    th_os_wakeup_take(named->wake);
}

bool th_os_pollset_shows(void) {
    return false;
}
