/*
 * pollset_wait.c: waiting for sets of descriptors; see pollset.c.
 */
#include "platform/windows/pollset/pollset.h"

#include <errno.h>

#include "base/atomic.h"
#include "platform/unix/io/answers.h"
#include "platform/unix/io/polled.h"

#define FEW 16u
#define COVERED (2 * TH_OS_SETS_MAX) /* sets for which a thread sleeps */
#define POLL_NS 1000000              /* between two looks at a port where nobody sleeps */

/* ---- wake-ups ---- */

/*
 * A sent byte may come a moment later. A byte that is not there yet is taken by a later look, so
 * that the socket does not stay readable.
 */
void th_set_take_sent(th_set *set) {
    if (set->sent) {
        TH_KEEPS_ERRNO;
        const unsigned n = th_poll_take_all(set->number);
        set->sent -= n < set->sent ? n : set->sent;
    }
}

/* ---- the answers ---- */

/* With the lock: whether a wait for it would find something. */
static bool has_any(const th_set *set) {
    return !th_link_alone(&set->ready) || set->woken || th_set_alarmed(set);
}

/* With the lock: takes the answers, and asks the wanted questions. */
static void refresh(th_set *set) {
    if (th_link_alone(&set->ready)) {
        th_set_drain(set);
    }
    (void)th_set_ask(set);
}

/* With the lock of the set that it is in. */
static bool nested_has_any(const th_nested *n) {
    TH_HOLDS(&n->set->lock);
    refresh(n->set);
    const bool has = has_any(n->set);
    if (has) {
        th_set_kick(n->set);
    }
    return has;
}

/* With the lock. */
static void tell_members(th_set *set, answers *a, unsigned index) {
    if (!a->events && !th_link_alone(&set->ready) && a->count < a->max) {
        tell(a, index, 0, 0);
    }
    while (a->events && !th_link_alone(&set->ready) && a->count < a->max) {
        th_member *m = TH_LINK_OF(set->ready.next, th_member, in_ready);
        th_link_leave(&m->in_ready);
        tell(a, index, m->key, m->ready);
        m->ready = 0;
    }
}

static void look(th_set *set, answers *a, unsigned index, bool takes) {
    TH_HOLDS(&set->lock);
    if (takes) {
        refresh(set);
    } else {
        (void)th_set_ask(set);
    }
    if (!set->woken) {
        th_set_take_sent(set);
    }
    if (set->woken && a->count < a->max) {
        tell(a, index, TH_OS_WAKE, TH_OS_IN);
    }
    if (a->count < a->max && th_set_alarmed(set)) {
        tell(a, index, TH_OS_ALARM, TH_OS_IN);
    }
    for (const th_nested *n = set->nested; n && a->count < a->max; n = n->next) {
        if (nested_has_any(n)) {
            tell(a, index, n->key, TH_OS_IN);
        }
    }
    tell_members(set, a, index);
    if (!th_link_alone(&set->ready)) {
        th_set_kick(set); /* it is for others */
    }
}

/* ---- sleeping ---- */

/* A thread that sleeps, and for which sets: its own first. */
typedef struct sleeping {
    th_sleeper sleeper;
    unsigned count;
    th_set *sets[COVERED];
    th_place places[COVERED];
} sleeping;

static void cover(sleeping *s, th_set *set) {
    if (s->count < COVERED) {
        s->sets[s->count++] = set;
    } else {
        th_store_relaxed(&s->sleeper.xpolls, 1u); /* relaxed: nobody else sees it yet */
    }
}

static void cover_all(sleeping *s, th_set *const sets[], unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        cover(s, sets[i]);
    }
    for (unsigned i = 0; i < n; i++) {
        AcquireSRWLockShared(&sets[i]->lock);
        for (const th_nested *in = sets[i]->nested; in; in = in->next) {
            cover(s, in->set);
        }
        ReleaseSRWLockShared(&sets[i]->lock);
    }
}

static bool sit(sleeping *s, th_set *set, bool if_asked) {
    TH_HOLDS(&set->lock);
    if (!set->seat && (set->asked || !if_asked)) {
        set->seat = &s->sleeper;
        s->sleeper.seat = set;
    }
    return s->sleeper.seat;
}

/* Where something is asked there is something to come; else where it is woken at the least cost. */
static void sit_down(sleeping *s) {
    for (unsigned i = 0; i < s->count; i++) {
        if (sit(s, s->sets[i], true)) {
            return;
        }
    }
    (void)sit(s, s->sets[0], false);
}

/* Others see it from now on. */
static void lie_down(sleeping *s) {
    for (unsigned i = 0; i < s->count; i++) {
        th_set *set = s->sets[i];
        TH_HOLDS(&set->lock);
        s->places[i].sleeper = &s->sleeper;
        th_link_init(&s->places[i].in_set);
        th_link_join(&s->places[i].in_set, &set->places);
        if (!th_set_ask(set) || (set->asked && !set->seat)) {
            th_store_relaxed(&s->sleeper.xpolls, 1u); /* relaxed: see th_set_kick_idle */
        }
        if (has_any(set)) {
            /* pairs: kick; it has no further effect */
            (void)th_xchg_acq_rel(&s->sleeper.xkicked, 1u);
        }
    }
}

/* Until it is kicked, something has come to the port, or the deadline. How much has come. */
static unsigned sleep_until(sleeping *s, int64_t deadline, th_afd_request *got[FEW]) {
    /* relaxed: its own */
    if (th_load_relaxed(&s->sleeper.xpolls)) {
        const int64_t soon = th_os_now() + POLL_NS;
        deadline = soon < deadline ? soon : deadline;
    }
    /* pairs: kick; the sets' locks publish the data for it */
    if (th_load_acquire(&s->sleeper.xkicked)) {
        return 0;
    }
    if (s->sleeper.seat) {
        return th_afd_take(s->sleeper.seat->port, got, FEW, deadline);
    }
    (void)th_os_futex_wait(&s->sleeper.xkicked, 0, deadline);
    return 0;
}

/* Nobody sees it any longer. Others that relied on it at a port find out anew. */
static void get_up(sleeping *s, th_afd_request *const got[], unsigned n) {
    for (unsigned i = 0; i < s->count; i++) {
        th_set *set = s->sets[i];
        TH_HOLDS(&set->lock);
        th_link_leave(&s->places[i].in_set);
        if (set->seat == &s->sleeper) {
            th_set_settle(set, got, n);
            set->seat = NULL;
            th_set_kick_idle(set);
        }
    }
}

static void sleep_once(th_set *const sets[], unsigned n, int64_t deadline) {
    th_afd_request *got[FEW];
    sleeping s;
    s.count = 0;
    s.sleeper = (th_sleeper){.seat = NULL};
    cover_all(&s, sets, n);
    sit_down(&s);
    lie_down(&s);
    const unsigned come = sleep_until(&s, deadline, got);
    get_up(&s, got, come);
}

/* ---- waiting ---- */

/* If the thread is about to sleep, it takes the packets there. */
static bool takes_at_once(const th_set *set, unsigned n, int64_t deadline) {
    return n > 1 || set->nested || !deadline;
}

static int wait_until(const th_os_pollset *const named[], unsigned n, int64_t deadline,
                      answers *a) {
    th_set *sets[TH_OS_SETS_MAX] = {NULL};
    for (unsigned i = 0; i < n; i++) {
        sets[i] = th_set_of(named[i]);
        if (!sets[i]) {
            return -EBADF;
        }
    }
    bool takes = takes_at_once(sets[0], n, deadline);
    bool over = !deadline;
    for (;;) {
        for (unsigned i = 0; i < n; i++) {
            look(sets[i], a, i, takes);
        }
        if (a->count || over) {
            return 0;
        }
        sleep_once(sets, n, deadline);
        over = deadline != TH_FOREVER && th_os_now() >= deadline;
        takes = true;
    }
}
