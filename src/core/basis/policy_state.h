/*
 * policy_state.h: the policies' state for a worker. All of it is the owner's alone, except the
 * places of fifo's outbox, which rescuers empty (queue/batch.h), and the queues of priorities.
 */
#ifndef TH_POLICY_STATE_H
#define TH_POLICY_STATE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/basis/lock.h"
#include "queue/batch.h"

/* If runs are long, work that may starve comes after this time. */
#define TH_FAIR_NS 50000

/* The state of a worker's picks, under any policy. */
typedef struct th_picks {
    unsigned until_inject;  /* picks until the inject queue comes first */
    unsigned fair_interval; /* the last start value of until_inject (th_fair_interval) */
    uint64_t fair_at;       /* the time at which that was set, in ticks */
    uint64_t left_at;       /* the time of its last look at work left by others, in ticks */
    bool fair_last;         /* the pick before was a fair one (an interval of 1) */
    bool brisk;             /* the last runs were short: it may take a batch at once */
    unsigned pinned_runs;   /* runs in a row through the pinned inbox */
    unsigned clock_skips;   /* takes until it looks at the clock again */
    uint64_t clock_at;      /* the time of its last look at the clock, in ticks */
    th_batch *quick;        /* the batch that comes next (th_find_in_batch), or NULL */
    size_t pinned_new;      /* tasks in the list of pinned work that have not begun */
    size_t marked_ready;    /* ready fibers in it from before the oldest pinned yield */
    size_t marked_new;      /* likewise tasks */
    uint64_t passed_tick; /* the pick at which ready fibers went before pinned tasks first, or 0 */
    uint64_t passed_at;   /* the time of that pick, in ticks */
} th_picks;

typedef struct th_sharded_worker {
    uint64_t yields_end;    /* ring position behind the work present when a pinned fiber yielded */
    uint64_t *yield_marks;  /* for each place in `yields`: the ring's tail at the yield */
    uint64_t inject_end;    /* ring position behind the last work that came from the inject queue */
    unsigned inject_streak; /* runs from the inject queue since the last yielded fiber */
    unsigned ready_streak;  /* ready fibers since the last look at the shared ones */
    unsigned lifo_runs;     /* runs in a row through the LIFO slot */
    unsigned polls;         /* resumes of fibers that yielded */
    unsigned searches;      /* searches for something to steal */
    bool yield_turn;        /* whether the turn is that of pinned fibers that yielded */
    bool inject_served;     /* something was taken since inject_end was set */
} th_sharded_worker;

typedef struct th_fifo_worker {
    uint64_t looked_at; /* the time of its last look at other workers, in ticks */
    bool look;          /* the next look at other workers is due */
    bool fired;         /* it has fired deadlines since its last pick */
    bool batch_ready;   /* its batch is of ready fibers */
    th_batch outbox;    /* work about to be posted in one exchange */
} th_fifo_worker;

/* ---- high and low priority (core/ready/priority.h) ---- */

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
    uint64_t tick;      /* the pick that took some of it last */
    unsigned row;       /* how many in a row took high work */
    unsigned low;       /* picks since it took low work, while there was some */
    bool low_first;     /* at the last pick, low work came first */
    uint32_t tied_last; /* the priorities of which it took pinned work last */
} th_priority_picks;

#endif
