/*
 * poll_state.h: the descriptors whose readiness a worker waits for (core/due/poll.h).
 */
#ifndef TH_POLL_STATE_H
#define TH_POLL_STATE_H

#include <stdalign.h>

#include "base/cc.h"
#include "core/basis/lock.h"
#include "platform/platform.h"

typedef struct th_worker th_worker;
typedef struct thrum_sched thrum_sched;

/* Events that are fetched at a time. */
#define TH_POLL_EVENTS TH_LIMIT(64u, 2u)

/*
 * Called for a ready descriptor, with the key under which it was added; puts the work that becomes
 * runnable into by->due, or queues it elsewhere. In the worker's context. Without bits: for the
 * event put off until now under this key (th_poll_put_off).
 */
typedef void (*th_poll_fn)(th_worker *by, uint64_t key, uint32_t bits);

/* A worker's set of descriptors, or that of all bound threads of a scheduler without workers. */
typedef struct th_poller {
    /* Written at the first use, under the lock. */
    alignas(TH_CACHE_LINE) uint32_t xopen; /* 1: the set is there; never taken back */
    th_lock lock;
    th_os_pollset set; /* constant once open, and closed with the scheduler */
    th_poll_fn event;  /* constant likewise */
    thrum_sched *sched;
    th_worker *owner; /* NULL: any bound thread waits for it */
    bool nested;      /* a bound thread's: the shared set is in it, and nothing else */

    alignas(TH_CACHE_LINE) uint32_t xmembers; /* descriptors in the set, about */
    uint64_t xlooked_at;                      /* the time of the last look at it, in ticks */
    uint64_t xstill_at;     /* when its owner was last seen not to look for a while, in ticks */
    uint64_t xrefused_tick; /* the owner's xtick when a look found nothing of its kind */
    uint64_t xput_off;      /* the key of the event put off until the next look; 0: none */

    /* The owner's, from its sleep until it has gone on, or in a look at whichever set. */
    unsigned got;
    unsigned got_others; /* as the sentinel: bit i, there is something in the set of watched[i] */
    th_worker *watched[TH_OS_SETS_MAX];
    unsigned found; /* events of its last look, at whichever set */
    th_os_event events[TH_POLL_EVENTS];
} th_poller;

/* Wakes a worker that sleeps in its set later (core/ready/alarm.h). */
#define TH_ALARM_NONE INT32_MIN
typedef struct th_alarm {
    th_lock lock;
    int fd;             /* TH_ALARM_NONE: not opened yet; a code: refused */
    unsigned sets;      /* that it is in */
    uint32_t xready;    /* 1: it is in the sets of all regular workers */
    int64_t at;         /* when it goes off; TH_FOREVER: it is off */
    uint64_t xrequests; /* so many so far */
} th_alarm;

#endif
