/*
 * pollset_ask.c: the questions about a set's members, and their answers; see pollset.c.
 */
#include "platform/windows/pollset/pollset.h"

#include <errno.h>
#include <stdlib.h>

#define FEW 16u

/* ---- a question in the driver's words ---- */

static ULONG events_of(const th_question *q) {
    const th_member *m = q->member;
    const ULONG always = TH_AFD_CLOSED | TH_AFD_ABORT | TH_AFD_REFUSED;
    return m->signals            ? TH_AFD_CLOSED | TH_AFD_RECEIVE
           : q->bit == TH_OS_OUT ? always | TH_AFD_SEND
                                 : always | TH_AFD_RECEIVE | TH_AFD_ACCEPT | TH_AFD_DISCONNECT |
                                       (m->urgent ? 0u : (ULONG)TH_AFD_EXPEDITED);
}

static uint32_t bits_of(const th_question *q, ULONG events) {
    uint32_t bits = events & (TH_AFD_RECEIVE | TH_AFD_ACCEPT) ? TH_OS_IN : 0;
    bits |= events & TH_AFD_SEND ? TH_OS_OUT : 0;
    bits |= events & (TH_AFD_EXPEDITED | TH_AFD_DISCONNECT) ? TH_OS_IN | TH_OS_ODD : 0;
    bits |= events & (TH_AFD_ABORT | TH_AFD_REFUSED) ? TH_OS_IN | TH_OS_OUT | TH_OS_ODD : 0;
    return q->member->signals ? q->member->signals : bits;
}

/* ---- a member ---- */

static void want(th_question *q) {
    th_member *m = q->member;
    const bool has = !m->signals || m->signals == q->bit; /* a pipe has one direction */
    if (!m->gone && has) {
        q->wanted = true;
        th_link_join(&m->in_wanted, &m->set->wanted);
    }
}

void th_member_again(th_member *m, uint32_t bits) {
    for (unsigned i = 0; i < 2; i++) {
        th_question *q = &m->questions[i];
        if (q->bit & bits) {
            m->ready &= ~q->bit;
            if (q->asked) {
                q->stale = true;
            } else {
                want(q);
            }
        }
    }
    if (!(m->ready & (TH_OS_IN | TH_OS_OUT))) {
        m->ready = 0; /* an end stays, and is reported again */
        th_link_leave(&m->in_ready);
    }
}

int th_set_device(th_set *set) {
    const th_device *first = TH_LINK_OF(set->devices.next, th_device, in_set);
    if (!th_link_alone(&set->devices) && first->members < TH_AFD_SHARE) {
        return 0;
    }
    th_device *device = calloc(1, sizeof *device);
    const int code = device ? th_afd_open(&device->afd, set->port) : -ENOMEM;
    if (code) {
        free(device);
        return code;
    }
    th_link_init(&device->in_set);
    th_link_join(&device->in_set, set->devices.next);
    return 0;
}

int th_member_join(th_member *m) {
    const int code = th_set_device(m->set);
    if (!code) {
        m->device = TH_LINK_OF(m->set->devices.next, th_device, in_set);
        if (++m->device->members == TH_AFD_SHARE) {
            th_link_leave(&m->device->in_set);
            th_link_join(&m->device->in_set, &m->set->devices);
        }
    }
    return code;
}

/* When it was dropped, and nothing of it is the system's. */
static void free_at_last(th_member *m) {
    if (m->questions[0].asked || m->questions[1].asked) {
        return;
    }
    m->device->members--;
    th_link_leave(&m->device->in_set);
    th_link_join(&m->device->in_set, m->set->devices.next);
    free(m);
}

void th_member_drop(th_member *m) {
    th_link_leave(&m->in_set);
    th_link_leave(&m->in_wanted);
    th_link_leave(&m->in_ready);
    m->dropped = true;
    for (unsigned i = 0; i < 2; i++) {
        if (m->questions[i].asked) {
            m->set->orphans++;
            th_afd_cancel(&m->device->afd, &m->questions[i].request);
        }
    }
    free_at_last(m);
}

/* Nothing more is known of it. */
static void lose(th_member *m) {
    m->gone = true;
    m->questions[0].wanted = m->questions[1].wanted = false;
    th_link_leave(&m->in_wanted);
}

/* The system has answered, and does not write to it any longer. */
static void take_answer(th_question *q) {
    th_member *m = q->member;
    const ULONG events = th_afd_answer(&q->request);
    const bool stale = q->stale;
    q->stale = false;
    if (events & TH_AFD_CLOSED) {
        lose(m);
    } else if (stale || !events) {
        want(q); /* a state that still holds is reported again */
    } else {
        m->urgent = events & TH_AFD_EXPEDITED || (m->urgent && !(events & TH_AFD_RECEIVE));
        m->ready |= bits_of(q, events);
        th_link_join(&m->in_ready, &m->set->ready);
    }
}

/* ---- a set ---- */

/* It stays wanted if it was refused, or nothing was reported at once. */
static void ask(th_question *q) {
    th_set *set = q->member->set;
    const int code =
        th_afd_ask(&q->member->device->afd, &q->request, q->member->base, events_of(q));
    if (code == -EBADF) {
        lose(q->member);
    }
    if (code >= 0) {
        q->wanted = false;
        q->asked = code == 1;
        set->asked += q->asked;
    }
    if (code == 0) {
        take_answer(q);
    }
}

/* Both of its questions, if they are wanted. False: one of them is wanted still. */
static bool ask_both(th_member *m) {
    for (unsigned i = 0; i < 2; i++) {
        if (m->questions[i].wanted) {
            ask(&m->questions[i]);
        }
    }
    th_link_leave(&m->in_wanted);
    return !m->questions[0].wanted && !m->questions[1].wanted;
}

/* A refused question does not keep the others from being asked. */
bool th_set_ask(th_set *set) {
    th_link refused;
    th_link_init(&refused);
    while (!th_link_alone(&set->wanted)) {
        th_member *m = TH_LINK_OF(set->wanted.next, th_member, in_wanted);
        if (!ask_both(m)) {
            th_link_join(&m->in_wanted, &refused);
        }
    }
    const bool all = th_link_alone(&refused);
    while (!th_link_alone(&refused)) {
        th_link *first = refused.next;
        th_link_leave(first);
        th_link_join(first, &set->wanted);
    }
    return all;
}

void th_set_settle(th_set *set, th_afd_request *const requests[], unsigned n) {
    for (unsigned i = 0; i < n; i++) {
        if (!requests[i]) {
            continue; /* a nudge, perhaps for a thread that has woken before it came */
        }
        th_question *q = TH_LINK_OF(requests[i], th_question, request);
        th_member *m = q->member;
        q->asked = false;
        set->asked--;
        if (!m->dropped) {
            take_answer(q);
            continue;
        }
        set->orphans--;
        free_at_last(m);
    }
}

void th_set_drain(th_set *set) {
    th_afd_request *got[FEW];
    unsigned n = set->seat || !set->asked ? 0 : FEW;
    while (n == FEW) {
        n = th_afd_take(set->port, got, FEW, 0);
        th_set_settle(set, got, n);
    }
}
