/*
 * trace_state.h: the data of a trace in a worker and in a scheduler; core/trace/trace_notes.h
 * explains the terms.
 */
#ifndef TH_TRACE_STATE_H
#define TH_TRACE_STATE_H

#include "core/basis/lock.h"
#include "queue/trace_ring.h"

/* Flags of a worker's `xextra`: extra duties of each run. */
#define TH_EXTRA_PIN_ALL 1u   /* constant: a task stays on the worker that first ran it */
#define TH_EXTRA_TRACE 2u     /* a trace is on; its number begins at TH_EXTRA_NUMBER */
#define TH_EXTRA_RECLAIM 4u   /* memory may have to be given back (reclaim.h) */
#define TH_EXTRA_SERIES 8u    /* with TRACE: short runs may share a mark (trace_series.h) */
#define TH_EXTRA_PRIORITY 16u /* the work in hand has a high or a low priority (priority.h) */
#define TH_EXTRA_NUMBER 8u    /* the lowest bit of the trace's number, 1 to 255 */

typedef struct th_trace_buffer {
    th_trace_ring ring;
    /* The owner's. */
    uint64_t now;     /* the time for the next mark: it never goes back */
    unsigned number;  /* the trace of the next mark */
    uint64_t open;    /* the number of the open mark */
    uint64_t open_id; /* the run that the open mark belongs to, PARKED for sleep, 0: none is open */
    uint64_t open_since; /* the time at which the open mark began */
    unsigned open_trace; /* the trace of the open mark */
    uint64_t first;      /* the run with which the open mark began */
    uint64_t look_at;    /* the time of the last look at the clock for a series */
    uint64_t look_run;   /* the run that began then */
    uint32_t pace;       /* runs from one such look to the next */
    uintptr_t pace_fn;   /* the function for which that holds */
    /* With the trace's lock. */
    uint64_t base;                /* the number of marks that were there when the trace began */
    struct th_trace_buffer *next; /* the list of all trace buffers of the scheduler */
    uint64_t words[];
} th_trace_buffer;

/* A worker's series; its own. */
typedef struct th_trace_series {
    uint32_t extra; /* the worker's xextra when the series began; 0: there is none */
    uint32_t left;  /* the run that makes this 0 looks at the clock; 0 where there is no series */
} th_trace_series;

/* A scheduler's present or last trace. */
typedef struct th_trace {
    th_lock lock;             /* protects all fields; some need bound_lock as well */
    bool begun;               /* there is or was a trace */
    bool on;                  /* a trace is on; also with bound_lock */
    bool series;              /* short runs may share a mark; also with bound_lock */
    uint64_t slots;           /* marks that a trace buffer holds; also with bound_lock */
    unsigned number;          /* the trace's number: 1 to 255, again and again */
    uint64_t since;           /* the time, in ticks, when all flags were set */
    int64_t since_ns;         /* the same on the monotonic clock */
    uint64_t until;           /* the time, in ticks, when it was turned off */
    th_trace_buffer *buffers; /* all trace buffers that were ever made; also with bound_lock */
    uint64_t untraced;        /* bound threads without memory for a trace buffer; with bound_lock */
} th_trace;

#endif
