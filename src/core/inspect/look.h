/*
 * look.h: looking at all fibers of a scheduler while it goes on: who runs, who waits for what.
 *
 * Nobody keeps a list of fibers: each lies on its stack, and the stacks are visited one by one. A
 * fiber that waits is *held* while it is looked at, as by who cancels: it may be woken, but does
 * not return from its wait before the lock is given up, so the waiter and what it waits for are
 * there. Fibers that do not wait are not held: what is said of them is as of some recent moment.
 * core/inspect/STUCK.md has the argument.
 */
#ifndef TH_LOOK_H
#define TH_LOOK_H

#include "core/inspect/backtrace.h"
#include "core/fiber/stack.h"
#include "core/state/worker.h"

typedef enum {
    TH_SEEN_BLOCKED, /* waits, and nobody has woken it */
    TH_SEEN_READY,   /* is queued, or about to be: it was woken, or has yielded */
    TH_SEEN_RUNNING, /* on `worker` */
    TH_SEEN_AWAITS,  /* a bound thread that waits for the scheduler (wait_idle, stop, unbind) */
    TH_SEEN_STATES
} th_seen_state;

typedef struct th_seen {
    uint64_t id; /* of its present run: the fiber's number above the run's */
    th_seen_state state;
    th_on on;           /* blocked, or woken: what it waits, or waited, for */
    const void *object; /* ... which one; never to be followed */
    uint64_t holder;    /* ... a mutex: who owns it, or 0; a number as th_self_id */
    int64_t deadline;   /* ... until when, or TH_FOREVER */
    uint64_t tick;      /* ... since which tick of `worker` */
    uint64_t ticks;     /* ... and how many it has picked since */
    unsigned worker;    /* where it ran last */
    int tied;           /* the worker that it is tied to, or -1 */
    bool root;          /* a bound thread itself */
    unsigned calls;     /* words of its backtrace: the fiber's place among those seen */
    bool held;          /* it waits; all that is said of it was so at one moment */
    char name[THRUM_NAME_MAX + 1];
    char joined[THRUM_NAME_MAX + 1]; /* ... a task's end: its name */
} th_seen;

typedef struct th_look {
    thrum_sched *sched;
    th_stack_cursor at;
    unsigned root;           /* the next bound thread, by number */
    bool held;               /* false: the system refuses what holds them (th_os_barrier) */
    bool brief;              /* of those that are not held no more than the state */
    th_backtrace *backtrace; /* if set: takes words of the calls of those that do not run */
    bool stacks_seen;
} th_look;

/* Any thread and context, not with th_cancel_lock; the scheduler lives. `end` must follow. */
void th_look_begin(th_look *look, thrum_sched *sched);
/*
 * The next ones, up to max; 0: that was all. With `backtrace` up to TH_BACKTRACE_FIBERS, and what
 * that has of the i'th one is its i'th: until the next call.
 */
unsigned th_look_some(th_look *look, th_seen seen[], unsigned max);
void th_look_end(th_look *look);

#endif
