/*
 * snapshot.h: a snapshot of all fibers of a scheduler while it goes on: which run, and the waits of
 * the others.
 *
 * There is no list of fibers: each is on its stack, and the stacks are visited one by one. A fiber
 * that waits is *held* while it is inspected, as by a canceller: it may be woken, but does not
 * return from its wait before the lock is given up, so the waiter and its object are there. Fibers
 * that do not wait are not held: their data is as of some recent moment. core/watch/DEADLOCK.md has
 * the argument.
 */
#ifndef TH_SNAPSHOT_H
#define TH_SNAPSHOT_H

#include "core/fiber/stack.h"
#include "core/inspect/backtrace.h"
#include "core/state/worker.h"

typedef enum {
    TH_SEEN_BLOCKED, /* waits, and has not been woken */
    TH_SEEN_READY,   /* is queued, or about to be: it was woken, or has yielded */
    TH_SEEN_RUNNING, /* runs on `worker` */
    TH_SEEN_AWAITS,  /* is a bound thread that waits for the scheduler (wait_idle, stop, unbind) */
    TH_SEEN_STATES
} th_seen_state;

#define TH_SEEN_TEXT 128u

typedef struct th_seen {
    uint64_t id; /* of its present run: the fiber's number above the run's */
    th_seen_state state;
    th_on on;           /* blocked or woken: the kind of thing that it waits, or waited, for */
    const void *object; /* of a wait: the thing; not to be dereferenced */
    uint64_t holder;    /* of a wait for a mutex, a rwlock or a once: its owner, as th_self_id, or
                           0: there is none, or not one alone */
    int64_t since;      /* of a wait: the time at which it began, or 0: unknown */
    bool since_least; /* it began before that: only for a mutex the time is known (tick_marks.h) */
    int64_t deadline; /* of a wait: its deadline, or TH_FOREVER */
    uint64_t tick;    /* of a wait: the tick of `worker` at which it began */
    uint64_t ticks;   /* of a wait: ticks of `worker` since then */
    unsigned worker;  /* the worker where it ran last */
    uintptr_t fn;     /* for a running or waiting fiber: the task's function, or 0 */
    int tied;         /* the worker that it is tied to, or -1 */
    bool root;        /* whether it is a bound thread itself */
    bool external;    /* a plain thread: only its number and its wait are reported */
    unsigned calls;   /* words of its backtrace, numbered by its index among those seen */
    bool held;        /* whether it waits: all its data was true at one moment */
    char name[THRUM_NAME_MAX + 1];
    char joined[TH_SEEN_TEXT]; /* of a wait for a task's end: the task's name; to dial: the address;
                                  for a name: that, all of them cut where they are long */
    uint32_t turn;    /* of a wait for a descriptor, whose direction is `object`: its turn */
    uint32_t note;    /* of a wait for readiness: see TH_NOTE_COUNT */
    uint64_t signals; /* of a wait for signals: a bit for each number */
} th_seen;

typedef struct th_snapshot {
    thrum_sched *sched;
    th_stack_cursor at;
    unsigned root; /* the number of the next bound thread */
    bool held;     /* false: the system refuses to hold fibers (th_os_barrier) */
    bool brief;    /* only the state is wanted of fibers that are not held */
    th_backtrace
        *backtrace; /* if set, takes words of the calls of fibers that wait or are blocked */
    bool stacks_seen;
} th_snapshot;

/*
 * From any thread and context, but not with th_cancel_lock, while the scheduler lives.
 * th_snapshot_end must follow.
 */
void th_snapshot_begin(th_snapshot *snapshot, thrum_sched *sched);
/*
 * The next fibers, up to max; 0: there are none left. With `backtrace` at most TH_BACKTRACE_FIBERS
 * at a time, and the i'th has number i there until the next call.
 */
unsigned th_snapshot_some(th_snapshot *snapshot, th_seen seen[], unsigned max);
/*
 * One fiber, or a bound thread's home, that has been seen to wait, as number 0; false: it is in
 * that no longer wait.
 */
bool th_snapshot_one(th_snapshot *snapshot, const th_fiber *fiber, const th_waiter *waiter,
                     th_seen *out);
void th_snapshot_end(th_snapshot *snapshot);

/*
 * Copies a name, as far as there is room. Not shown to the thread sanitizer, like all that is read
 * of a fiber that may run meanwhile.
 */
void th_snapshot_name(char *to, size_t size, const char *from);

#endif
