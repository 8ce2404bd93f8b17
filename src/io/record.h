/*
 * record.h: the library's records of descriptors that it has taken over, by number.
 *
 * The table is never unmapped and records never move, so a stale thrum_io, and a late event, find a
 * record: `xturn` shows whether it is still theirs.
 */
#ifndef TH_RECORD_H
#define TH_RECORD_H

#include "io/direction.h"
#include "platform/platform.h"
#include "thrum/io.h"

typedef struct th_poller th_poller;

/* How transfers of a file are made (file/bytes.c). */
typedef enum th_file_way {
    TH_FILE_WAITS,  /* by a thread that waits for the device */
    TH_FILE_BEGINS, /* they are begun, and the system goes on by itself */
    TH_FILE_TRIES   /* data in the page cache at once; the rest in one of these ways */
} th_file_way;

/* A scheduler whose fibers are notified of the descriptor's readiness. */
typedef struct th_joined {
    struct th_joined *next;
    th_poller *poller;
} th_joined;

typedef struct th_record {
    th_direction directions[2]; /* reading, writing */

    uint32_t xturn;      /* odd: taken over, by this turn; even: not. Written with the lock */
    uint32_t xparent;    /* the turn in the parent of a fork, or 0 */
    uint32_t xuses;      /* see th_record_use */
    thrum_sched *xsched; /* the scheduler of `joined`, or NULL. Written with the lock */
    th_lock lock;        /* protects the following, which is constant while a call is inside */
    int fd;
    th_os_kind kind;
    bool xfresh;      /* nothing but a fork has duplicated it: then a close is enough. It ends,
                         with the lock, when the descriptor is lent (thrum_io_fd) */
    bool nonblocking; /* O_NONBLOCK was set here, and is taken back */
    bool shared;      /* others use the description: nothing of it is changed */
    bool pooled;      /* its calls may wait, so they are made on the blocking pool (shared.h) */
    uint8_t way;      /* of a file: a th_file_way */
    bool locking;     /* an operation is at its lock (file/lock.c), */
    uint8_t locked;   /* which is this one, a TH_OS_FILE_LOCK_... */
    bool known;       /* `identity` is */
    uint32_t forks;   /* the number of forks when it was taken over */
    th_os_identity identity;
    bool placed; /* events go to the worker `home`, and not to the first that waits */
    unsigned home;
    void *xserved;    /* the connection that a server has made of it (net/serve.c), or NULL */
    th_joined joined; /* the first scheduler; the others are allocated */
} th_record;

/* The record that a thrum_io names, or NULL: there was never one. */
th_record *th_record_at(int fd);

/* The code for a thrum_io that is not the record's: -EBADF, -ESHUTDOWN in the child of a fork. */
int th_record_refusal(const th_record *record, uint32_t turn);

/*
 * Takes a descriptor over. `fresh`: the system has just made it for the library. Errors as for
 * thrum_io_adopt.
 */
int th_record_adopt(thrum_io *out, int fd, th_os_kind kind, bool fresh);

/* Makes a wake-up, and takes it over. */
int th_record_wakeup(thrum_io *out);

/*
 * Takes over a duplicate that the library has just made of a descriptor which others share, too.
 * `pooled`: calls on it may wait.
 */
int th_record_adopt_duplicate(thrum_io *out, int fd, th_os_kind kind, bool pooled);

/*
 * The same for a file that the library has just opened; or, if it has an identity, for a file that
 * the program has opened and may have given to the library before.
 */
int th_record_adopt_file(thrum_io *out, int fd, const th_os_identity *identity, th_file_way way);

/*
 * Uses belong to calls that nothing waits for: operations on files. A close leaves the descriptor
 * to the last use, which closes it, so its number is no other one's until then. The record is the
 * one that `io` names, or NULL with the code.
 */
th_record *th_record_use(thrum_io io, int *code);
void th_record_unuse(th_record *record);

/* Closes the descriptor of a record that has ended, or leaves it to the last use. */
int th_record_give_up(th_record *record, int fd);
/* The same for a descriptor that is given back: returns its number, a duplicate's, or a code. */
int th_record_hand_over(th_record *record, int fd);

/*
 * By a caller on a fiber: has its scheduler notified of the descriptor's readiness, as long as the
 * turn lasts. 0, -EBADF (it is over), or a code of the system's.
 */
int th_record_join(th_record *record, uint32_t turn, thrum_sched *sched);

/* Waits for descriptors can begin from now on, also when none is left. 0, or a code. */
int th_record_prepare(thrum_sched *sched);

/*
 * Adds a descriptor that is in no record, that of a ring (file/ring.c), to the set of a worker: its
 * events go to the function, the same in all calls, with the number.
 */
typedef void (*th_ring_event)(th_worker *by, uint32_t number);
uint64_t th_record_ring_key(uint32_t number);
int th_record_add_ring(thrum_sched *sched, unsigned worker, int fd, uint32_t number,
                       th_ring_event on_event);

/*
 * With the lock, and both directions held for good: no scheduler is notified any longer, and the
 * turn is over. `remains`: the descriptor is not closed next.
 */
void th_record_end(th_record *record, bool remains);

#endif
