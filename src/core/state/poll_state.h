/*
 * poll_state.h: the descriptors whose readiness a worker waits for (core/ready/poll.h).
 */
#ifndef TH_POLL_STATE_H
#define TH_POLL_STATE_H

#include <stdalign.h>

#include "base/cc.h"
#include "core/state/lock.h"
#include "platform/platform.h"

typedef struct th_worker th_worker;
typedef struct thrum_sched thrum_sched;

/* Events that are fetched at a time. */
#define TH_POLL_EVENTS TH_LIMIT(64u, 2u)

/*
 * Is told of a ready descriptor, by the key under which it was added; puts what becomes runnable
 * into by->due, or queues it elsewhere. In the worker's context.
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

    /* The owner's, from its sleep until it has gone on. */
    unsigned got;
    th_os_event events[TH_POLL_EVENTS];
} th_poller;

void th_poller_init(th_poller *poller, thrum_sched *sched, th_worker *owner);
/* When no thread uses the scheduler any more: a late wake must not write into another file. */
void th_poller_close(th_poller *poller);
/* In the child of a fork: the scheduler's sets are the parent's; they are closed without a look. */
void th_pollers_abandon(thrum_sched *sched);

#endif
