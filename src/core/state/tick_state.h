/*
 * tick_state.h: how many picks a worker had made at which times (core/trace/tick_marks.h).
 */
#ifndef TH_TICK_STATE_H
#define TH_TICK_STATE_H

#include <stdint.h>

#include "base/cc.h"
#include "core/basis/lock.h"

#define TH_TICK_MARKS TH_LIMIT(128u, 4u)

typedef struct th_tick_mark {
    uint64_t key;  /* twice the tick, one more if the worker slept */
    uint64_t tail; /* how much has been put in the worker's queue so far */
    int64_t at;    /* the time at which it was first seen so */
} th_tick_mark;

typedef struct th_tick_marks {
    th_lock lock;        /* protects the rest */
    unsigned count;      /* in order of keys, of tails, and of times */
    int64_t longest_ns;  /* the longest run that was seen */
    int64_t inbox_since; /* pinned work has waited at each look since then; 0: none waits */
    uint64_t inbox_tick; /* the tick at that time */
    th_tick_mark marks[TH_TICK_MARKS];
} th_tick_marks;

/* The present knowledge of the inject queue. */
typedef struct th_inject_marks {
    th_lock lock;
    int64_t since;  /* it has had work, and nothing was taken, since then; 0: it was empty */
    uint64_t taken; /* the number taken at that time */
} th_inject_marks;

#endif
