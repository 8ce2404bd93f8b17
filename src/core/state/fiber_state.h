/*
 * fiber_state.h: what a fiber is: a stack with saved registers.
 *
 * The control block lies at the top of its own stack, so that a blocked fiber costs one page. A
 * fiber is a worker's loop until a task that it started blocks; then it is that task's until the
 * task ends.
 */
#ifndef TH_FIBER_STATE_H
#define TH_FIBER_STATE_H

#include "base/random.h"
#include "core/state/local.h"
#include "core/state/stack_state.h"
#include "core/state/thread.h"
#include "platform/context.h"
#include "queue/work.h"
#include "thrum/sched.h"
#include "thrum/spawn.h"
#include "thrum/task.h"

typedef struct th_worker th_worker;

/* Whether a run makes a call for a task that can be cancelled (helper.h). */
typedef enum {
    TH_HELP_NONE,
    TH_HELP_UNLISTED, /* it has not waited yet, so nobody has to find it */
    TH_HELP_LISTED
} th_help;

/* What a task hands on to those who make calls in its stead (helper.h). */
typedef struct th_heritage {
    thrum_handle *handle; /* the spawned task that is meant when it is cancelled, or NULL */
    int64_t deadline;     /* what it has to keep to (thrum_deadline) */
    uint32_t shields;     /* how often it wants not to be cancelled */
} th_heritage;

typedef struct th_fiber {
    /* One cache line, which is all that giving way needs: a crowd of fibers shares a small cache.
     */
    th_work work;       /* kind TH_WORK_FIBER; worker: where it must run, or -1 */
    th_context context; /* valid while it is switched away */
    th_worker *worker;  /* who runs it: written by whoever switches to it, read by itself, and by
                           who looks (look.c), as is ... */
    bool body;          /* ... whether a task's body is on it */
    bool canary;        /* constant: its stack has no other guard */
    bool single;        /* constant: runs one task and is then freed (another stack size; tsan) */
    bool ran;           /* a body ran on it since its stack was last trimmed */
    bool dirty;         /* something of the present run is left to undo at its end */
    bool root;          /* constant: a bound thread's own stack (bound.h); no run of a task */
    bool repost;        /* the body posted its own task, with this hint: */
    uint8_t repost_hint;

    thrum_sched *sched;           /* constant */
    struct th_waiter *xblocked;   /* what it waits for, or NULL (cancel.h, look.h) */
    uint64_t xblocked_tick;       /* its worker's xtick when it began to; comes with xblocked */
    struct th_family *xfamilies;  /* what the present run has opened, the innermost first */
    th_heritage heritage;         /* ... what it was given, or is by itself */
    th_help help;                 /* ... whether it helps that task */
    struct th_fiber *helper_next; /* ... the others who do; under the handle's lock */
    struct th_fiber *helper_prev;
    struct th_fiber *next; /* in a list of idle fibers */
    th_stack stack;        /* constant; its record is what it has in timers (th_timed) */
    uint64_t run_id;  /* who its present run is, as the owner of locks; unique in the process */
    th_random random; /* what runs on it draws from; state 0: not seeded yet */

    /* The present run's; undone at its end when `dirty`. */
    thrum_sched *repost_sched;
    int64_t repost_deadline;
    bool repost_waits;
    thrum_task *task; /* the intrusive task whose body runs, or NULL */
    th_locals locals;
    char name[THRUM_NAME_MAX + 1];
    uintptr_t traced_fn; /* the task's function, if that was noted (trace.h): of this run: */
    uint64_t traced_run;

    /* For the tools (base/annotate.h). */
    void *tsan;
    void *asan_fake;
    unsigned valgrind;
} th_fiber;

static inline th_fiber *th_fiber_of(th_work *work) {
    return th_container(work, th_fiber, work);
}

/*
 * What is left to do for a fiber once the worker is off its stack: done by whatever runs next on
 * the worker, first thing.
 */
typedef enum {
    TH_COMMIT_NONE,
    TH_COMMIT_WAIT,    /* its waiter may now be woken from elsewhere */
    TH_COMMIT_UNLOCK,  /* the same, and the lock of the list it stands on is given up */
    TH_COMMIT_YIELD,   /* it queues behind everybody */
    TH_COMMIT_ROOT,    /* a bound thread's own stack: its loop knows when it goes on */
    TH_COMMIT_IDLE,    /* it is a spare loop of the worker */
    TH_COMMIT_RECLAIM, /* what `then` says; and then the worker looks what to give back */
    TH_COMMIT_RETIRE   /* it is done for good */
} th_commit_kind;

#endif
