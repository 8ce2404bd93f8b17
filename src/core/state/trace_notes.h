/*
 * trace_notes.h: what each worker did when, kept in a trail of its own (queue/trail.h) while
 * tracing is on. TRACE.md has the argument.
 *
 * Words:      a *stretch* is a time that a worker spends on one fiber without leaving it. A *track*
 *             is a worker's trail, with what the worker itself must remember. A *trace* is what was
 *             seen from a start until the next stop.
 * Invariants: only the worker's own thread writes its track, while its flag is set or was a moment
 *             ago. The marks of a trace stand in a track in the order of their times, and but for
 *             the instants none overlap: at most one is open, the last of them.
 */
#ifndef TH_TRACE_NOTES_H
#define TH_TRACE_NOTES_H

#include "base/atomic.h"
#include "core/state/lock.h"
#include "queue/trail.h"
#include "queue/work.h"
#include "thrum/sched.h"

typedef struct th_fiber th_fiber;
typedef struct th_worker th_worker;

/* In a worker's `xextra`: what each run has to see to, beside running. */
#define TH_EXTRA_PIN_ALL 1u /* constant: a task stays on the worker that first ran it */
#define TH_EXTRA_TRACE 2u   /* a trace is on; its number stands above: */
#define TH_EXTRA_RECLAIM 4u /* something may have to be given back (reclaim.h) */
#define TH_EXTRA_NUMBER 8u  /* from this bit on, 1 to 255 */

/* Of a mark: what it is. Those from TH_TRACED_STOLE on are instants. */
typedef enum {
    TH_TRACED_BEGAN,    /* a stretch: a run's first, or a bound thread's own code */
    TH_TRACED_RESUMED,  /* ... a later one */
    TH_TRACED_RETURNED, /* ... the one after a blocking call */
    TH_TRACED_PARKED,   /* it slept */
    TH_TRACED_NAPPED,   /* it backed off from stealing */
    TH_TRACED_STOLE,    /* it took work from `object`, a worker's number + 1, or 0 */
    TH_TRACED_RESCUED,  /* it took work from one who did not come round */
    TH_TRACED_WOKE      /* it sent a wake to `object`, a worker's number + 1 */
} th_traced;

/* How a stretch ended: by waiting for a th_on, or */
#define TH_TRACED_YIELDED 253u
#define TH_TRACED_AWAITS 254u   /* a bound thread: for the scheduler */
#define TH_TRACED_FINISHED 255u /* the task, or the binding */

/* The words of a mark; the end and the how are the trail's. */
enum { TH_MARK_BEGIN = 2, TH_MARK_ID, TH_MARK_KIND /* above the function */, TH_MARK_NAME };
_Static_assert(TH_MARK_NAME + 4 == TH_TRAIL_WORDS, "a name has 32 bytes");

/* A small number above an address. */
#define TH_MARK_ABOVE TH_SHOWN_SHIFT
#define TH_MARK_ADDRESS (((uint64_t)1 << TH_MARK_ABOVE) - 1)

typedef struct th_track {
    th_trail trail;
    /* The owner's. */
    uint64_t now;        /* the time that it notes: it never goes back */
    unsigned number;     /* ... in which trace */
    uint64_t open;       /* the number of its open mark ... */
    uint64_t open_id;    /* ... of which run that is, a number of its own for sleep, or 0: none */
    uint64_t open_since; /* ... when it began */
    unsigned open_trace; /* ... in which trace */
    /* With the trace's lock. */
    uint64_t base;         /* marks that were there when the trace began */
    struct th_track *next; /* all of a scheduler's */
    uint64_t words[];
} th_track;

/* A scheduler's. */
typedef struct th_trace {
    th_lock lock;      /* protects all of it, with the bound threads' lock what says so */
    bool begun;        /* there was a trace */
    bool on;           /* ... also with bound_lock */
    uint64_t slots;    /* of a track; also with bound_lock */
    unsigned number;   /* which trace: 1 to 255, again and again */
    uint64_t since;    /* in ticks, when all flags were set */
    int64_t since_ns;  /* on the monotonic clock */
    uint64_t until;    /* in ticks, once it is off */
    th_track *tracks;  /* all that were ever made; also with bound_lock */
    uint64_t untraced; /* bound threads without memory for a track; with bound_lock */
} th_trace;

/* ---- the worker's side; its own thread, in its context, while its flag is set ---- */

/* The fiber begins to run a task; has ended it. */
void th_trace_begins(th_worker *worker, th_fiber *fiber, const th_work *work);
void th_trace_finishes(th_worker *worker, const th_fiber *fiber);
/* From one fiber to another: what was left, `worker->left`, tells why. */
void th_trace_switches(th_worker *worker, const th_fiber *from, const th_fiber *to);
/* The fiber's name has changed. */
void th_trace_renames(th_worker *worker, const th_fiber *fiber);
/* It goes to sleep, and has slept. */
void th_trace_parks(th_worker *worker);
void th_trace_unparks(th_worker *worker);
/* An instant. */
void th_trace_notes(th_worker *worker, th_traced kind, uintptr_t object);

/* ---- the thread's side ---- */

/* A thread is bound: the worker's flag is set if need be; with bound_lock, before others see it. */
void th_trace_joins(thrum_sched *sched, th_worker *worker);
/* ... and, from then until it leaves, runs its own code. On the thread. */
void th_trace_enters(th_worker *worker);
void th_trace_leaves(th_worker *worker);

/* ---- for trace.h, and a thread that is bound ---- */

/* With the locks of who turns it on and off; number 0: off. */
void th_trace_flag(th_worker *worker, unsigned number);

/* With the trace's lock, or bound_lock for a bound thread's: a track of `slots`, if need be. */
bool th_trace_give_track(thrum_sched *sched, th_worker *worker, uint64_t slots);

/* For the scheduler's end: nobody traces any more. */
void th_trace_free(thrum_sched *sched);

#endif
