/*
 * trace_notes.h: a timed record of each worker's activity, kept in a trace ring of its own
 * (queue/trace_ring.h) while tracing is on. core/trace/TRACE.md has the argument.
 *
 * Words:      a *stretch* is a time that a worker spends on one fiber without leaving it. A *trace
 *             buffer* is a worker's trace ring, with the state that the worker itself needs. A
 *             *trace* is everything noted from a start until the next stop.
 * Invariants: only the worker's own thread writes its trace buffer, while its flag is set or was a
 *             moment ago. The marks of a trace are in a trace buffer in the order of their times,
 *             and except for the instants none overlap: at most one is open, the last of them.
 */
#ifndef TH_TRACE_NOTES_H
#define TH_TRACE_NOTES_H

#include "core/state/worker.h"

/* The kind of a mark. Those from TH_TRACED_STOLE on are instants. */
typedef enum {
    TH_TRACED_BEGAN,      /* a run's first stretch, or a stretch of a bound thread's own code */
    TH_TRACED_RESUMED,    /* a later stretch */
    TH_TRACED_RETURNED,   /* the stretch after a blocking call */
    TH_TRACED_PARKED,     /* the worker slept */
    TH_TRACED_BACKED_OFF, /* the worker backed off from stealing */
    TH_TRACED_STOLE,      /* the worker took work from `object`, a worker's number + 1, or 0 */
    TH_TRACED_RESCUED,    /* the worker took work from a worker that did not come round */
    TH_TRACED_WOKE,       /* the worker sent a wake to `object`, a worker's number + 1 */
    TH_TRACED_TAKES_OVER, /* a spare takes over for `object`, a worker's number + 1, or 0 */
    TH_TRACED_RETIRES,    /* a spare has retired */
    TH_TRACED_WAITED, /* the run's wait for the world outside, a th_on above `object`, is over */
    TH_TRACED_READ,   /* a call has read bytes, so many in place of a function, from a number + 1 */
    TH_TRACED_WROTE,  /* the same, it has written */
    TH_TRACED_POLLED  /* a look, or a sleep, has found `object` events of descriptors */
} th_traced;

/* The end of a stretch: the th_on that the fiber began to wait for, or one of these. */
#define TH_TRACED_YIELDED 253u
#define TH_TRACED_AWAITS 254u   /* a bound thread began to wait for the scheduler */
#define TH_TRACED_FINISHED 255u /* the task has ended, or the binding */

/* The words of a mark; TH_TRACE_RING_END and TH_TRACE_RING_HOW are the trace ring's. */
enum { TH_MARK_BEGIN = 2, TH_MARK_ID, TH_MARK_KIND /* above the function */, TH_MARK_NAME };
/* For a stretch without a name: the first run of a series, whose last one is TH_MARK_ID. */
#define TH_MARK_FIRST (TH_MARK_NAME + 1)
_Static_assert(TH_MARK_NAME + 4 == TH_TRACE_RING_WORDS, "a name has 32 bytes");

/* A small number above an address. */
#define TH_MARK_ABOVE TH_SHOWN_SHIFT
#define TH_MARK_ADDRESS (((uint64_t)1 << TH_MARK_ABOVE) - 1)

/* ---- for the worker: its own thread, in its context, while its flag is set ---- */

/* The fiber begins to run a task; the fiber has ended it. */
void th_trace_begins(th_worker *worker, th_fiber *fiber, const th_work *work);
void th_trace_finishes(th_worker *worker, const th_fiber *fiber);
/* The worker switches from one fiber to another; `worker->left` has the reason. */
void th_trace_switches(th_worker *worker, const th_fiber *from, const th_fiber *to);
/* The fiber's function has changed, before its run has waited. */
void th_trace_shows(th_worker *worker, const th_fiber *fiber);
/* The fiber's name has changed. */
void th_trace_renames(th_worker *worker, const th_fiber *fiber);
/* The worker goes to sleep; it has woken up. */
void th_trace_parks(th_worker *worker);
void th_trace_unparks(th_worker *worker);
/* An instant. */
void th_trace_notes(th_worker *worker, th_traced kind, uintptr_t object);
/* TH_TRACED_READ and _WROTE: the task that the worker runs has moved so many bytes. */
void th_trace_moves(th_worker *worker, th_traced kind, int number, uint64_t bytes);

/* ---- for a bound thread ---- */

/* A thread is bound: sets the worker's flag if a trace is on. With bound_lock, before other threads
 * see the worker. */
void th_trace_joins(thrum_sched *sched, th_worker *worker);
/* The thread begins to run its own code, until that finishes. On the thread. */
void th_trace_enters(th_worker *worker);

/* ---- for trace_control.h and for binding a thread ---- */

/* Sets the worker's flag and number; 0: no trace. With the locks that turning tracing on takes. */
void th_trace_flag(th_worker *worker, unsigned number);

/* Gives the worker a trace buffer of `slots` unless it has one; false: no memory. With the
 * trace's lock, or bound_lock for a bound thread's worker. */
bool th_trace_give_buffer(thrum_sched *sched, th_worker *worker, uint64_t slots);

/* Frees all trace buffers at the scheduler's end, when no thread traces any longer. */
void th_trace_free(thrum_sched *sched);

#endif
