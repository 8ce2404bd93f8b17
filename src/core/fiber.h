/*
 * fiber.h: a stack with saved registers, and switching between them.
 *
 * The control block lies at the top of its own stack, so that a blocked fiber costs one page. A
 * fiber is a worker's loop until a task that it started blocks; then it is that task's until the
 * task ends.
 */
#ifndef TH_FIBER_H
#define TH_FIBER_H

#include "base/random.h"
#include "core/local.h"
#include "core/stack.h"
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

/* Makes one, about to begin with `sched->fiber_main`; NULL: no stack. */
th_fiber *th_fiber_new(thrum_sched *sched, unsigned stack_class, bool single);
void th_fiber_free(th_fiber *fiber);

/* The fiber that lies on a stack that is in use, or NULL. Any thread. */
th_fiber *th_fiber_on(const th_stack *stack);

/* The upper half of the ids of a fiber's next 2^32 runs. */
uint64_t th_fiber_fresh_id(void);

/* Stops the program when the stack has overflowed, as far as a canary can tell. */
void th_fiber_check_canary(const th_fiber *fiber);

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

/*
 * Gives the worker up until somebody makes this fiber ready (core/WAITING.md). Returns on whatever
 * worker it is by then: fiber->worker. Worker's context.
 */
void th_suspend(th_fiber *fiber, th_commit_kind commit, void *arg);

/*
 * Queues a fiber that has been woken. th_ready: from any thread and context; th_ready_on: from a
 * worker of its scheduler, in the worker's context, with a hint (thrum_hint).
 */
void th_ready(th_fiber *fiber);
void th_ready_on(th_worker *worker, th_fiber *fiber, unsigned hint);

/* The commit of a wait: from now on whoever wakes the waiter queues the fiber. */
void th_wait_commit(th_worker *worker, th_fiber *fiber, void *waiter);

/* The commit of a wait with the list's lock held. */
void th_wait_commit_unlock(void *commit);

/* Switches from the running fiber to another; the commit is set already. Worker's context. */
void th_switch_to(th_worker *worker, th_fiber *from, th_fiber *to);

/* The first thing after arriving on a stack. */
void th_commit(th_worker *worker);

/* The first thing that a fresh fiber does: as if it came back from a switch. */
void th_fiber_begins(th_fiber *fiber);

/* How deep its stack went since it was last asked, 0 when nothing ran on it: a system call. */
size_t th_fiber_measure(th_worker *worker, th_fiber *fiber);

/* Keeps idle fibers: a worker's own, then its scheduler's. */
void th_idle_put(th_worker *worker, th_fiber *fiber);
th_fiber *th_idle_take(th_worker *worker);
bool th_idle_refill(th_worker *worker); /* at least one afterwards, or false */
void th_idle_give(th_worker *worker);   /* one of its own, for whoever refills first */

/*
 * Before parking: gives back what deep tasks used, as long as nothing better is to be done: that is
 * `is_wanted`.
 */
void th_idle_trim(th_worker *worker, bool (*is_wanted)(th_worker *worker));

/*
 * For reclaim.c. A period begins: how many lay unused in the one before, beyond those that are
 * kept, and whether pages of deep ones are to be given back. False: there is neither.
 */
bool th_idle_period(thrum_sched *sched, unsigned *unused, bool *deep);
/* Frees a few of the scheduler's, `most` at most, and no more than are beyond those that are kept;
 * how many. */
unsigned th_idle_reclaim(th_worker *worker, unsigned most);
/* Gives back the pages of a few deep ones that are kept; true while there are more. */
bool th_idle_trim_some(th_worker *worker);

#endif
