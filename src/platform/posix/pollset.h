/*
 * pollset.h: sets of descriptors (pollset.c), the waits for them (pollset_wait.c), and the waiting
 * threads (pollset_sleepers.c). All of it is protected by the one lock.
 */
#ifndef TH_POSIX_POLLSET_H
#define TH_POSIX_POLLSET_H

#include "platform/posix/masked_lock.h"
#include "platform/unix/io/edge.h"
#include "platform/unix/io/polled.h"

#define ALARMS 4u

typedef struct set set;

/* A descriptor in a set. */
typedef struct member {
    int fd;
    uint32_t wanted;        /* TH_OS_IN, TH_OS_OUT: bits still to be reported */
    bool ended;             /* the peer's end has been reported */
    uint64_t read, written; /* the turn of the last wait that had begun when it was last tried */
    uint64_t key;
    uint64_t device; /* the object that it names */
    uint64_t inode;
    set *set;
    struct member *next; /* of the set */
    struct member *next_of_fd;
} member;

/* A set in a set: ready while it has events. It is closed after that one. */
typedef struct nested {
    struct nested *next;
    set *set;
    uint64_t key;
} nested;

struct set {
    int number;
    unsigned count;
    member *members;
    nested *nested;
    int alarms[ALARMS];
    unsigned alarms_count;
};

/* The record of a number. */
typedef struct slot {
    int xwrite; /* of a wake-up: its other end, plus 1; 0: none */
    set *set;   /* whose number it is */
    member *members;
    int64_t alarm; /* of an alarm: when it goes off */
} slot;

/* The subject of one of the system's answers. */
typedef struct asked {
    const set *set;
    uint64_t key; /* of the nested set, if `is_nested` */
    bool is_nested;
    bool is_wake;
    unsigned index; /* among the sets of the wait */
} asked;

/* A wait. */
typedef struct sleeper {
    struct sleeper *next;
    const th_os_pollset *const *sets;
    unsigned sets_count;
    int kick[2];
    bool kicked;
    uint64_t turn;  /* grows with each wait */
    th_pollfd *fds; /* the question, and the subject of each part of it */
    asked *asked;
    unsigned count;
    unsigned room;
} sleeper;

void th_pollset_lock(sigset_t *before);
void th_pollset_unlock(const sigset_t *before);
/* The lock is held for the rest of the block; `before_` has the thread's mask. */
#define TH_POLLSET_HELD(before_)                                                                   \
    sigset_t before_ __attribute__((unused, cleanup(th_pollset_unlock)));                          \
    th_pollset_lock(&before_)

/* Any thread, handlers too. NULL: nothing was ever known of the number. */
slot *th_pollset_slot(int fd);
/* With the lock. NULL: there is no memory. */
slot *th_pollset_slot_for(int fd);

/* With the lock. */
set *th_pollset_set(const th_os_pollset *named);
member *th_pollset_member(int fd, const set *of);
int64_t th_pollset_alarm(int alarm);

/* With the lock: pollset_sleepers.c. */
int th_pollset_comes(void);
void th_pollset_goes(void);
void th_pollset_kick(const set *of);
void th_pollset_await_askers(sigset_t *before);
uint64_t th_pollset_turn(void);
sleeper *th_pollset_sleeper(void);
void th_pollset_sleeps(sleeper *s);
void th_pollset_woke(sleeper *s);
void th_pollset_sleepers_forked(void);

#endif
