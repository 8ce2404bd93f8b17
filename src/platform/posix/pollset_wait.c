/*
 * pollset_wait.c: waiting for sets of descriptors; see pollset.c.
 */
#include "platform/posix/pollset.h"

#include <errno.h>
#include <stdlib.h>

#include "platform/unix/io/answers.h"

/* ---- the question ---- */

/* False: there is no memory. */
static bool ask(sleeper *s, int fd, short events, asked about) {
    if (s->count == s->room) {
        const unsigned room = s->room ? 2 * s->room : 16;
        th_pollfd *fds = realloc(s->fds, room * sizeof *fds);
        s->fds = fds ? fds : s->fds;
        asked *all = fds ? realloc(s->asked, room * sizeof *all) : NULL;
        if (!all) {
            return false;
        }
        s->asked = all;
        s->room = room;
    }
    s->fds[s->count] = (th_pollfd){.fd = fd, .events = events};
    s->asked[s->count++] = about;
    return true;
}

static bool ask_set(sleeper *s, const set *of, asked about) {
    about.set = of;
    about.is_wake = true;
    bool fits = ask(s, of->number, POLLIN, about);
    about.is_wake = false;
    for (const member *m = of->members; m && fits; m = m->next) {
        const int events =
            (m->wanted & TH_OS_IN ? POLLIN | POLLPRI : 0) | (m->wanted & TH_OS_OUT ? POLLOUT : 0);
        fits = (!events && m->ended) || ask(s, m->fd, (short)events, about);
    }
    return fits;
}

/* Polls all sets of the wait, and the sets in them. */
static int ask_all(sleeper *s) {
    s->count = 0;
    bool fits = ask(s, s->kick[0], POLLIN, (asked){0});
    for (unsigned i = 0; i < s->sets_count && fits; i++) {
        const set *of = th_pollset_set(s->sets[i]);
        if (!of) {
            return -EBADF;
        }
        fits = ask_set(s, of, (asked){.index = i});
        for (const nested *n = of->nested; n && fits; n = n->next) {
            fits = ask_set(s, n->set, (asked){.index = i, .is_nested = true, .key = n->key});
        }
    }
    return fits ? 0 : -ENOMEM;
}

static int64_t first_alarm(const set *of) {
    int64_t first = TH_FOREVER;
    for (unsigned i = 0; of && i < of->alarms_count; i++) {
        const int64_t at = th_pollset_alarm(of->alarms[i]);
        first = at < first ? at : first;
    }
    return first;
}

static int64_t soonest(const sleeper *s, int64_t deadline) {
    for (unsigned i = 0; i < s->sets_count; i++) {
        const set *of = th_pollset_set(s->sets[i]);
        int64_t at = first_alarm(of);
        for (const nested *n = of ? of->nested : NULL; n; n = n->next) {
            const int64_t inner = first_alarm(n->set);
            at = inner < at ? inner : at;
        }
        deadline = at < deadline ? at : deadline;
    }
    return deadline;
}

/* ---- the answers ---- */

static uint32_t bits_of(int revents) {
    uint32_t bits = revents & POLLIN ? TH_OS_IN : 0;
    bits |= revents & POLLOUT ? TH_OS_OUT : 0;
    bits |= revents & POLLPRI ? TH_OS_IN | TH_OS_ODD : 0;
    bits |= revents & (POLLHUP | POLLERR) ? TH_OS_IN | TH_OS_OUT | TH_OS_ODD : 0;
    return bits;
}

/* The bits that are no older than the last call on the descriptor. */
static uint32_t fresh_bits(const sleeper *s, const member *m, uint32_t bits) {
    if (bits & TH_OS_ODD) {
        return bits; /* an end stays */
    }
    return bits &
           ~((s->turn <= m->read ? TH_OS_IN : 0u) | (s->turn <= m->written ? TH_OS_OUT : 0u));
}

static void take_member(const sleeper *s, answers *a, const th_pollfd *fd, const asked *about) {
    member *m = th_pollset_member(fd->fd, about->set);
    if (!m) {
        return; /* it was removed meanwhile */
    }
    if (fd->revents & POLLNVAL) {
        m->ended = true;
        m->wanted = 0; /* it was closed behind the library's back */
        return;
    }
    const uint32_t bits = fresh_bits(s, m, bits_of(fd->revents));
    const bool ends = (bits & TH_OS_ODD) && !m->ended; /* reported although it was not polled for */
    if (bits & m->wanted || ends) {
        tell(a, about->index, m->key, bits);
        m->wanted &= a->events ? ~bits : ~0u;
        m->ended = m->ended || (a->events && ends);
    }
}

static bool was_told(const answers *a, uint64_t key) {
    for (unsigned i = 0; a->events && i < a->count; i++) {
        if (a->events[i].key == key) {
            return true;
        }
    }
    return false;
}

static void take_alarms(const sleeper *s, answers *a) {
    const int64_t now = th_os_now();
    for (unsigned i = 0; i < s->sets_count && a->count < a->max; i++) {
        const set *of = th_pollset_set(s->sets[i]);
        if (first_alarm(of) <= now) {
            tell(a, i, TH_OS_ALARM, TH_OS_IN);
        }
        for (const nested *n = of ? of->nested : NULL; n && a->count < a->max; n = n->next) {
            if (first_alarm(n->set) <= now && !was_told(a, n->key)) {
                tell(a, i, n->key, TH_OS_IN);
            }
        }
    }
}

/* With the lock. Descriptors closed while it slept no longer have a set. */
static void take_all(const sleeper *s, answers *a) {
    for (unsigned i = 1; i < s->count && a->count < a->max; i++) {
        const asked *about = &s->asked[i];
        const th_pollfd *fd = &s->fds[i];
        if (!fd->revents) {
            continue;
        }
        if (about->is_nested) {
            if (!was_told(a, about->key)) {
                tell(a, about->index, about->key, TH_OS_IN);
            }
        } else if (about->is_wake) {
            tell(a, about->index, TH_OS_WAKE, TH_OS_IN);
        } else {
            take_member(s, a, fd, about);
        }
    }
    take_alarms(s, a);
}

/* ---- waiting ---- */

/* One question: 0 with any answer, or a code. */
static int wait_once(const th_os_pollset *const sets[], unsigned n, int64_t deadline, answers *a) {
    sigset_t before;
    th_pollset_lock(&before);
    sleeper *s = th_pollset_sleeper();
    if (!s) {
        th_pollset_unlock(&before);
        return -ENOMEM;
    }
    s->sets = sets;
    s->sets_count = n;
    int code = ask_all(s);
    const int64_t until = code ? 0 : soonest(s, deadline);
    th_pollset_sleeps(s);
    th_pollset_unlock(&before);

    int found = code ? 0 : th_system_poll(s->fds, s->count, until);
    code = found < 0 ? -th_os_errno_get() : code;

    th_pollset_lock(&before);
    if (!code) {
        take_all(s, a);
    }
    th_pollset_woke(s);
    th_pollset_unlock(&before);
    return code;
}

static int wait_until(const th_os_pollset *const sets[], unsigned n, int64_t deadline, answers *a) {
    TH_KEEPS_ERRNO;
    int code;
    do {
        code = wait_once(sets, n, deadline, a);
    } while (!code && !a->count && deadline && (deadline == TH_FOREVER || th_os_now() < deadline));
    return code;
}
