/*
 * priority_state.h: queues for work of high and of low priority (core/ready/priority.h).
 */
#ifndef TH_PRIORITY_STATE_H
#define TH_PRIORITY_STATE_H

#include <stdbool.h>

#include "core/basis/lock.h"
#include "queue/work.h"

/* The bit of a queue that is not empty: TH_HIGH and TH_LOW serve as such. */
#define TH_PRIORITIES_SHARED ((uint32_t)TH_HIGH | (uint32_t)TH_LOW)
#define TH_PRIORITIES_TIED 4u /* some worker has such work that is pinned to it */

/* The work of one priority, under the scheduler's lock. */
typedef struct th_priority_queue {
    th_chain ready;  /* fibers that were woken, or whose deadline has passed: they come first */
    th_chain rest;   /* tasks that have not begun, and fibers that yielded */
    unsigned passed; /* takes since `ready` has come before `rest` */
} th_priority_queue;

/* A scheduler's. */
typedef struct th_priorities {
    th_lock lock;
    unsigned tied;               /* the length of all queues of workers */
    th_priority_queue shared[2]; /* high and low, for all workers */
} th_priorities;

/* A worker's; used by the owner alone. */
typedef struct th_priority_picks {
    uint64_t tick;  /* the pick that took some of it last */
    unsigned row;   /* how many in a row took high work */
    unsigned low;   /* picks since it took low work, while there was some */
    bool low_first; /* at the last pick, low work came first */
    bool tied_last; /* it took pinned work last */
} th_priority_picks;

#endif
