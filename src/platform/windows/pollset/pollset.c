/*
 * pollset.c: sets of descriptors by the system's driver for sockets (afd.h), and their wake-ups.
 *
 * STATES. A member has two questions: whether it can be read, and written. Each of them is
 *
 *     idle     nothing is to be reported: nobody has made a call since the last report
 *     wanted   it is to be asked; the member is in set->wanted
 *     asked    the request is the system's, which answers it once
 *     stale    asked, and a call was made meanwhile: the answer may be from before it
 *     ready    answered; the member is in set->ready until a wait takes the report
 *
 * A set has a port, to which its answers come, and a *seat*: the one thread that sleeps at the
 * port. A thread that sleeps has a *place* in each set for which it does; it sits at the seat of
 * one of them, or else sleeps on a word of its own.
 *
 * PROTOCOL.
 * 1. A member is wanted when it is added, and a direction of it again when a call has been made
 *    that may have found nothing left (unix/io/edge.h): a caller that waits for an event has made
 *    one. A pending report of that direction is dropped; its question is stale.
 * 2. Each wait asks the wanted questions, so calls that come one behind the other cost a single
 *    question. If a thread sleeps for the set, a call that makes a question wanted asks it at once;
 *    but a read that was not short may have left something, and nobody waits before another read.
 * 3. An answer to a stale question is dropped, and the question asked anew, unless the answer is
 *    that the socket was closed. Any other answer is reported, once.
 * 4. A wait checks its sets, and if there is nothing sits down, takes its places, and checks again;
 *    then it sleeps. A thread that finds, or leaves, something in a set that is not for itself
 *    *kicks* all that have a place there: by a nudge to the port where they sit, or by their word.
 * 5. While there is a thread on the seat it alone takes from the port. It gets up with what has
 *    come; without one, each look takes the packets there (th_set_drain).
 * 6. If a question is asked and nobody sits, threads with a place look each millisecond. A thread
 *    that gets up kicks the others that have a place there, so that one of them sits down.
 *
 * ARGUMENT. *No event is lost.* The system reports states: any state that holds when a question is
 * asked, or begins to hold, is answered. Between a call that found nothing, which makes its
 * direction wanted or stale, and the event lies a question from after that call. *None is slept
 * over.* A thread has its places, with the sets' locks, before it looks for the last time; a member
 * becomes ready or wanted later with the lock of a set in which the thread has a place, and kicks
 * it. A packet at the port wakes the thread that sits there; if nobody does, step 6 holds. A nudge
 * is not taken by others, by step 5. A nudge that finds nobody, since its thread has woken by
 * itself, causes one spurious wake of the next one.
 *
 * *Memory.* The system writes to a request until its completion was taken. So a member that is
 * removed while something of it is asked is an *orphan*, in no list: it is cancelled, and freed
 * when the last of its requests has come (th_set_settle). The end of a set waits for all of them,
 * ten seconds at most; requests that have not come by then keep their memory. A thread that ends
 * may take its questions with it; these are answered with nothing, and asked anew.
 *
 * *Numbers.* Windows reports a socket that is closed behind the library's back, if it is being
 * asked about then; the member is *gone*, and another socket may be added under its number.
 *
 * REJECTED. One question for both directions, as others have it: each call would cancel the one
 * before, and the end of a side would be reported to a writer without end. Waiting for several
 * ports at once: wine can do it; Windows does not document it, and might lose packets. A single
 * port for all sets: a thread would wake for those of others. A thread that takes from all ports,
 * or the system's pool: one switch more for each event. An event beside the port, since a thread
 * can wait for several of these: each request that is made takes it back.
 */
#include "platform/windows/pollset/pollset.h"

#include <errno.h>
#include <stdlib.h>

#include "base/atomic.h"
#include "platform/faults.h"
#include "platform/unix/io/polled.h"
#include "platform/windows/pollset/calls.h"
#include "platform/windows/pollset/pollset_slot.h"
#include "platform/windows/winsock/own.h"

#define S_NS INT64_C(1000000000)
#define END_NS (10 * S_NS) /* memory that the system has not given back by then is left to it */

/* ---- sets ---- */

static th_set *set_new(int number) {
    th_set *set = calloc(1, sizeof *set);
    if (!set || !(set->port = th_afd_port())) {
        free(set);
        return NULL;
    }
    InitializeSRWLock(&set->lock);
    set->number = number;
    th_link_init(&set->members);
    th_link_init(&set->devices);
    th_link_init(&set->wanted);
    th_link_init(&set->ready);
    th_link_init(&set->places);
    return set;
}

static void set_free(th_set *set) {
    for (th_nested *n = set->nested, *next; n; n = next) {
        next = n->next;
        free(n);
    }
    while (!th_link_alone(&set->devices)) {
        th_device *device = TH_LINK_OF(set->devices.next, th_device, in_set);
        th_link_leave(&device->in_set);
        th_afd_close(&device->afd);
        free(device);
    }
    CloseHandle(set->port);
    free(set);
}

/* A set's number is a descriptor that a foreign loop can wait for (th_os_pollset_wake). */
static int number_open(void) {
    int ends[2];
    if (th_os_fails(TH_OS_FAULT_POLLSET) || th_os_fails(TH_OS_FAULT_EVENTFD)) {
        return -EMFILE;
    }
    TH_KEEPS_ERRNO;
    const int code = th_poll_pair(ends);
    return code ? code : th_fd_of_fresh(th_socket_of(ends[0]));
}

static void number_close(int number) {
    TH_KEEPS_ERRNO;
    th_closing(number);
    th_poll_pair_close((int[2]){number, number});
}

int th_os_pollset_open(th_os_pollset *out) {
    *out = (th_os_pollset){-1, -1};
    const int number = number_open();
    if (number < 0) {
        return number;
    }
    th_set *set = set_new(number);
    th_slot *slot = set ? th_slot_for(number) : NULL;
    const int code = slot ? th_set_device(set) : -ENOMEM;
    if (code) {
        if (set) {
            set_free(set);
        }
        number_close(number);
        return code;
    }
    th_store_release(&slot->xset, set); /* pairs: th_set_of; the set */
    *out = (th_os_pollset){number, number};
    return 0;
}

/* One of its members, or -1. */
static int any_member(th_set *set) {
    AcquireSRWLockShared(&set->lock);
    const th_link *first = set->members.next;
    const int fd = first == &set->members ? -1 : TH_LINK_OF(first, th_member, in_set)->fd;
    ReleaseSRWLockShared(&set->lock);
    return fd;
}

/* Whether the system has given all back by the deadline, and nobody waits for that. */
static bool is_over(th_set *set, int64_t deadline) {
    bool over = false;
    bool late = false;
    while (!over && !late) {
        late = th_os_now() >= deadline;
        AcquireSRWLockExclusive(&set->lock);
        th_set_drain(set);
        over = !set->asked && !set->users;
        ReleaseSRWLockExclusive(&set->lock);
        if (!over) {
            SwitchToThread();
        }
    }
    return over;
}

void th_os_pollset_close(th_os_pollset *named) {
    th_set *set = th_set_of(named);
    if (set) {
        for (int fd = any_member(set); fd >= 0; fd = any_member(set)) {
            (void)th_os_pollset_remove(named, fd);
        }
        th_set_leave_alarms(set);
        /* pairs: th_set_of; later callers find none */
        th_store_release(&th_slot_at(named->set)->xset, (th_set *)NULL);
        if (is_over(set, th_os_now() + END_NS)) {
            set_free(set);
        }
    }
    if (named->set >= 0) {
        number_close(named->set);
    }
    *named = (th_os_pollset){-1, -1};
}

int th_os_pollset_add_set(const th_os_pollset *named, const th_os_pollset *other, uint64_t key) {
    th_set *set = th_set_of(named);
    th_set *inner = th_set_of(other);
    th_nested *n = calloc(1, sizeof *n);
    if (!n || !set || !inner) {
        free(n);
        return set && inner ? -ENOMEM : -EBADF;
    }
    TH_HOLDS(&set->lock);
    *n = (th_nested){.set = inner, .key = key, .next = set->nested};
    set->nested = n;
    th_set_kick(set);
    return 0;
}

/* ---- their wake-ups ---- */

/*
 * Kicks the threads that sleep for the set. If none does, its socket signals it to a foreign loop
 * that waits for that (thrum/poll.h).
 */
int th_os_pollset_wake(const th_os_pollset *named) {
    th_set *set = th_set_of(named);
    if (!set) {
        return -EBADF;
    }
    TH_KEEPS_ERRNO;
    TH_HOLDS(&set->lock);
    set->woken = true;
    th_set_kick(set);
    if (th_link_alone(&set->places) && !set->told) {
        th_poll_send(set->number);
        set->told = true;
        set->sent++;
    }
    return 0;
}

void th_os_pollset_wake_take(const th_os_pollset *named) {
    th_set *set = th_set_of(named);
    if (!set) {
        return;
    }
    TH_HOLDS(&set->lock);
    set->woken = set->told = false;
    th_set_take_sent(set);
}

/* ---- members ---- */

/* With the lock of the slot. */
static th_member **find(th_slot *slot, const th_set *set) {
    th_member **at = &slot->xmembers;
    while (*at && (*at)->set != set) {
        at = &(*at)->next_of_fd;
    }
    return at;
}

/* With the lock of its slot, and the set's. */
static void take_out(th_member **at) {
    th_member *m = *at;
    th_store_relaxed(at, m->next_of_fd); /* relaxed: see look_again */
    th_member_drop(m);
}

static th_member *member_new(th_set *set, int fd, uint64_t key, const th_os_identity *identity) {
    th_member *m = calloc(1, sizeof *m);
    if (!m) {
        return NULL;
    }
    m->set = set;
    m->fd = fd;
    m->key = key;
    m->identity = *identity;
    bool reads;
    if (th_pipe_signal(fd, &reads, &m->base)) {
        m->signals = reads ? TH_OS_IN : TH_OS_OUT;
    } else {
        m->base = th_afd_base(th_socket_of(fd));
    }
    m->questions[0].bit = TH_OS_IN;
    m->questions[1].bit = TH_OS_OUT;
    m->questions[0].member = m->questions[1].member = m;
    th_link_init(&m->in_set);
    th_link_init(&m->in_wanted);
    th_link_init(&m->in_ready);
    return m;
}

/* Whether another socket has got the number since it was added. */
static bool is_other(const th_member *m, const th_os_identity *identity) {
    return m->gone || m->identity.device != identity->device ||
           m->identity.inode != identity->inode;
}

static int add(th_set *set, th_member *m) {
    th_slot *slot = th_slot_for(m->fd);
    int code = slot ? 0 : -ENOMEM;
    TH_HOLDS(th_slot_lock(m->fd));
    AcquireSRWLockExclusive(&set->lock);
    th_member **at = slot ? find(slot, set) : NULL;
    if (at && *at) {
        th_set_drain(set); /* perhaps its end is reported there */
        code = is_other(*at, &m->identity) ? 0 : -EEXIST;
        if (!code) {
            take_out(at);
        }
    }
    code = code ? code : th_member_join(m);
    if (!code) {
        m->next_of_fd = slot->xmembers;
        th_store_relaxed(&slot->xmembers, m); /* relaxed: see look_again */
        th_link_join(&m->in_set, &set->members);
        th_member_again(m, TH_OS_IN | TH_OS_OUT);
        th_set_serve(set);
    }
    ReleaseSRWLockExclusive(&set->lock);
    return code;
}

int th_os_pollset_add(const th_os_pollset *named, int fd, uint64_t key) {
    th_os_identity identity;
    th_os_kind kind;
    TH_OS_MAY_FAIL(TH_OS_FAULT_POLLSET_ADD, -ENOMEM);
    TH_KEEPS_ERRNO;
    int code = th_os_io_kind(fd, &kind, &identity);
    th_set *set = code ? NULL : th_set_of(named);
    if (!set) {
        return code ? code : -EBADF;
    }
    th_member *m = member_new(set, fd, key, &identity);
    code = m ? add(set, m) : -ENOMEM;
    if (code) {
        free(m);
    }
    return code;
}

/*
 * A question keeps its socket open under wine, though not on Windows: a port would stay taken, and
 * the peer would not see that nobody reads any longer. So a call that takes a descriptor out of a
 * set waits there until the system has given back the questions, a second at most.
 */
static void await_orphans(th_set *set) {
    const int64_t deadline = th_os_now() + S_NS;
    bool any = true;
    while (any && th_os_now() < deadline) {
        AcquireSRWLockExclusive(&set->lock);
        th_set_drain(set);
        any = set->orphans;
        ReleaseSRWLockExclusive(&set->lock);
        if (any) {
            SwitchToThread();
        }
    }
    TH_HOLDS(&set->lock);
    set->users--;
}

/* Takes a member out of this set, or of any set that has it (NULL). False: there is none. */
static bool remove_one(th_set *set, int fd) {
    th_slot *slot = th_slot_at(fd);
    /* relaxed: see look_again */
    if (!slot || !th_load_relaxed(&slot->xmembers)) {
        return false;
    }
    AcquireSRWLockExclusive(th_slot_lock(fd));
    th_member **at = set ? find(slot, set) : &slot->xmembers;
    th_set *of = *at ? (*at)->set : NULL;
    bool waits = false;
    if (of) {
        TH_HOLDS(&of->lock);
        take_out(at);
        waits = of->orphans && th_nt()->is_wine;
        of->users += waits;
    }
    ReleaseSRWLockExclusive(th_slot_lock(fd));
    if (waits) {
        await_orphans(of);
    }
    return of;
}

int th_os_pollset_remove(const th_os_pollset *named, int fd) {
    th_set *set = th_set_of(named);
    return set && remove_one(set, fd) ? 0 : -ENOENT;
}

void th_pollset_forget(int fd) {
    while (remove_one(NULL, fd)) {
    }
}

int th_fd_of_fresh(SOCKET s) {
    th_closing(th_fd_of_socket(s));
    return th_fd_of_socket(s);
}

/*
 * A set that does not have the descriptor yet asks for it when it has, and so later than the call
 * that was made; so the number's members are looked for without the lock first.
 */
static void look_again(int fd, uint32_t bits, bool now) {
    th_slot *slot = th_slot_at(fd);
    if (!slot || !th_load_relaxed(&slot->xmembers)) { /* relaxed: as above */
        return;
    }
    TH_KEEPS_ERRNO;
    AcquireSRWLockShared(th_slot_lock(fd));
    for (th_member *m = slot->xmembers; m; m = m->next_of_fd) {
        TH_HOLDS(&m->set->lock);
        th_member_again(m, bits);
        if (now) {
            th_set_serve(m->set);
        }
    }
    ReleaseSRWLockShared(th_slot_lock(fd));
}

void th_pollset_look_again(int fd, uint32_t bits) {
    look_again(fd, bits, true);
}

void th_pollset_look_later(int fd, uint32_t bits) {
    look_again(fd, bits, false);
}

bool th_os_pollset_shows(void) {
    return false;
}
