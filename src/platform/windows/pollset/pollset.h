/*
 * pollset.h: sets of descriptors; pollset.c has the protocol.
 */
#ifndef TH_WINDOWS_POLLSET_H
#define TH_WINDOWS_POLLSET_H

#include <stddef.h>

#include "platform/windows/pollset/afd.h"

/* ---- rings: lists whose parts leave them without a search ---- */

typedef struct th_link {
    struct th_link *next; /* itself: it is in no ring, or the ring is empty */
    struct th_link *prev;
} th_link;

static inline void th_link_init(th_link *link) {
    link->next = link->prev = link;
}

static inline bool th_link_alone(const th_link *link) {
    return link->next == link;
}

static inline void th_link_leave(th_link *link) {
    link->next->prev = link->prev;
    link->prev->next = link->next;
    th_link_init(link);
}

/* Last in the ring, unless it is in it already. */
static inline void th_link_join(th_link *link, th_link *ring) {
    if (th_link_alone(link)) {
        link->next = ring;
        link->prev = ring->prev;
        ring->prev->next = link;
        ring->prev = link;
    }
}

#define TH_LINK_OF(link, type, name) ((type *)(void *)((char *)(link)-offsetof(type, name)))

/* ---- the parts of a set; all with the set's lock ---- */

typedef struct th_set th_set;
typedef struct th_member th_member;

/* Whether a member is ready in one direction. */
typedef struct th_question {
    th_afd_request request; /* the system's while it is `asked` */
    th_member *member;
    uint32_t bit; /* TH_OS_IN or TH_OS_OUT */
    bool wanted;  /* it is to be asked */
    bool asked;
    bool stale; /* a call was made since it was asked: the answer may be out of date */
} th_question;

/* The driver, for so many members at most (TH_AFD_SHARE). It is closed with the set. */
typedef struct th_device {
    th_link in_set; /* set->devices: those with room come first */
    th_afd afd;
    unsigned members; /* that are not freed */
} th_device;

/* A descriptor in a set. */
struct th_member {
    th_question questions[2]; /* in, out */
    int fd;
    SOCKET base;       /* for which the system is asked, */
    th_device *device; /* by this one */
    uint32_t signals;  /* the bit of a pipe that `base`, its signal, reports; 0: it is a socket */
    bool urgent;       /* urgent data was reported, and nothing came since */
    uint32_t ready;    /* bits to be reported */
    bool gone;         /* it was closed behind the library's back: nothing is asked any longer */
    bool dropped;      /* it is in no set any longer, and freed when nothing of it is asked */
    uint64_t key;
    th_os_identity identity;
    th_set *set;           /* constant */
    th_link in_set;        /* set->members */
    th_link in_wanted;     /* set->wanted: something of it is */
    th_link in_ready;      /* set->ready: `ready` is not 0 */
    th_member *next_of_fd; /* with the lock of its slot */
};

/* A set in a set: ready while it has events. It is closed after that one. */
typedef struct th_nested {
    struct th_nested *next;
    th_set *set;
    uint64_t key;
} th_nested;

#define TH_SET_ALARMS 4u

/* An alarm in a set (pollset_alarm.c). */
typedef struct th_alarmed {
    th_set *set;
    struct th_alarm_timer *alarm; /* NULL: there is none */
    th_link in_alarm;             /* with the lock of all alarms */
} th_alarmed;

/* A thread that sleeps (pollset_wait.c). */
typedef struct th_sleeper {
    th_set *seat;     /* at whose port; NULL: at xkicked. Constant while others see it */
    uint32_t xkicked; /* 1: it wakes, or does not fall asleep */
    uint32_t xpolls;  /* 1: it looks anew soon in any case */
} th_sleeper;

/* One of the sets for which it sleeps. */
typedef struct th_place {
    th_link in_set; /* set->places */
    th_sleeper *sleeper;
} th_place;

struct th_set {
    SRWLOCK lock;
    int number;  /* constant: a socket of its own, to be read while something was sent to it */
    HANDLE port; /* constant */
    th_link devices;
    th_link members;
    th_link wanted;   /* members */
    th_link ready;    /* members */
    unsigned asked;   /* questions that are the system's */
    unsigned orphans; /* of these, those of dropped members */
    unsigned users;   /* threads that wait for that to be none */
    th_sleeper *seat; /* the sleeper at its port, which alone takes from there */
    th_link places;   /* of all that sleep for it */
    th_nested *nested;
    th_alarmed alarms[TH_SET_ALARMS];
    bool woken;    /* the wake-up is set */
    bool told;     /* and a byte was sent to its socket */
    unsigned sent; /* bytes that are in it, or on their way */
};

/* With the lock: takes the contents of its socket. */
void th_set_take_sent(th_set *set);

/* The set of this name, or NULL. */
th_set *th_set_of(const th_os_pollset *named);

/* ---- questions (pollset_ask.c); with the lock of the set ---- */

/* A call was made on the descriptor, or it is new: asks anew which of these bits hold. */
void th_member_again(th_member *member, uint32_t bits);
/* Takes it out of its set. It is freed when nothing of it is the system's. */
void th_member_drop(th_member *member);
/* Asks all that is wanted. False: some of it was refused, and is to be asked later. */
bool th_set_ask(th_set *set);
/* The first of its devices has room for a member from now on. 0 or a code. */
int th_set_device(th_set *set);
/* A new member, and the device by which it is asked for. 0 or a code. */
int th_member_join(th_member *member);
/* For packets taken from its port. */
void th_set_settle(th_set *set, th_afd_request *const requests[], unsigned n);
/* Takes the packets at the port, unless another thread sleeps there. */
void th_set_drain(th_set *set);

/* ---- waking (pollset_kick.c); with the lock of the set ---- */

/* All that sleep for it look anew. */
void th_set_kick(th_set *set);
/* One of them; false: nobody sleeps. */
bool th_set_kick_one(th_set *set);
/* Wakes only threads that rely on others for this set. */
void th_set_kick_idle(const th_set *set);
/* Something is wanted since: a thread that sleeps does not ask it. */
void th_set_serve(th_set *set);

/* ---- alarms (pollset_alarm.c) ---- */

/* Whether one of the set's has gone off. With its lock. */
bool th_set_alarmed(const th_set *set);
/* Without it. */
void th_set_leave_alarms(th_set *set);

#endif
