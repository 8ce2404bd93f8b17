/*
 * fiber_state.h: a fiber, which is a stack with saved registers.
 *
 * The control block is at the top of its own stack, so that a blocked fiber costs one page. A fiber
 * runs a worker's loop until a task that it started blocks; then it belongs to that task until the
 * task ends.
 */
#ifndef TH_FIBER_STATE_H
#define TH_FIBER_STATE_H

#include "base/random.h"
#include "core/state/key.h"
#include "core/basis/stack_state.h"
#include "core/state/thread.h"
#include "platform/context/context.h"
#include "queue/work.h"
#include "thrum/sched.h"
#include "thrum/spawn.h"
#include "thrum/task.h"

typedef struct th_worker th_worker;

/* Whether a run makes a delegated call for a task that can be cancelled (delegated.h). */
typedef enum {
    TH_DELEGATED_NONE,
    TH_DELEGATED_UNLISTED, /* the run has not waited yet, so a cancel does not have to find it */
    TH_DELEGATED_LISTED
} th_delegated_state;

/* The context that a delegated call inherits from the task that it is made for (delegated.h). */
typedef struct th_inherited {
    thrum_handle *handle; /* the spawned task whose cancel counts for the call, or NULL */
    int64_t deadline;     /* the deadline of the task's waits (thrum_deadline) */
    uint32_t shields;     /* the number of shields against cancels that are in force */
} th_inherited;

/* A body without a function to name: a bound thread's own code, a strand of a graph. */
#define TH_BODY_OTHER ((uintptr_t)1)

typedef struct th_fiber {
    /* A yield needs these fields only: one cache line, since many fibers share a small cache. */
    th_work work;       /* kind TH_WORK_FIBER; worker: where it must run, or -1 */
    th_context context; /* valid while it is switched away */
    th_worker *worker;  /* the worker that runs it: written at each switch to it; read by itself,
                           and by snapshots (snapshot.c), like the next field */
    uintptr_t body;     /* the function of the task that it runs, TH_BODY_OTHER, or 0: none */
    bool canary;        /* constant: its stack has no other guard */
    bool single;        /* constant: runs one task and is then freed (another stack size; tsan) */
    bool ran;           /* a body ran on it since its stack was last trimmed */
    bool dirty;         /* something of the present run is left to undo at its end */
    bool root;          /* constant: a bound thread's own stack (bound.h); no run of a task */
    bool repost;        /* the body posted its own task, with the next field as the hint */
    uint8_t repost_hint;
    uint8_t ready_calls; /* calls on descriptors in a row that did not wait (io/call.c) */

    thrum_sched *sched;           /* constant */
    struct th_waiter *xblocked;   /* its present wait, or NULL (cancel.h, snapshot.h) */
    uint64_t xblocked_tick;       /* its worker's xtick when the wait began; valid with xblocked */
    struct th_scope *xscopes;     /* scopes that the present run has opened, the innermost first */
    th_inherited inherited;       /* the context that the present run inherited, or made itself */
    th_delegated_state delegated; /* whether the present run is a delegated call */
    struct th_fiber *delegated_next; /* the handle's list of them; under the handle's lock */
    struct th_fiber *delegated_prev;
    struct th_fiber *next; /* in a list of idle fibers */
    th_stack stack;        /* constant; its record is the fiber's entry in timers (th_timed) */
    uint64_t run_id;       /* the present run's id, as the owner of locks; unique in the process */
    th_random random;      /* random numbers for the task on it; state 0: not seeded yet */

    /* The present run's state; undone at its end when `dirty`. */
    thrum_sched *repost_sched;
    int64_t repost_deadline;
    bool repost_waits;
    bool examined;    /* the end of a run looks at the canary, and at what the run holds */
    thrum_task *task; /* the intrusive task whose body runs, or NULL */
    th_key_values key_values;
    uint64_t held_run;   /* the run to which the next two belong (self_id.h) */
    uint64_t held_count; /* the mutexes that it holds */
    uintptr_t held;      /* their addresses, combined by exclusive or: of one, its address */
    char name[THRUM_NAME_MAX + 1];
    uintptr_t traced_fn; /* the function of the run traced_run (trace_notes.h) */
    uint64_t traced_run;

    /* For the sanitizers and valgrind (base/annotate.h). */
    void *tsan;
    void *asan_fake;
    unsigned valgrind;
} th_fiber;

/* The function of the task that the fiber runs; 0: it runs none, or one without a function. */
static TH_INLINE_NO_TSAN uintptr_t th_fiber_function(const th_fiber *fiber) {
    /* relaxed: inspectors read it as of some moment */
    const uintptr_t fn = th_load_relaxed(&fiber->body);
    return fn == TH_BODY_OTHER ? 0 : fn;
}

static inline th_fiber *th_fiber_of(th_work *work) {
    return th_container(work, th_fiber, work);
}

/*
 * Work left to do for a fiber once the worker is off its stack. The next code on the worker does it
 * before anything else.
 */
typedef enum {
    TH_COMMIT_NONE,
    TH_COMMIT_WAIT,    /* its waiter may now be woken from elsewhere */
    TH_COMMIT_UNLOCK,  /* the same, and the lock of its list is released */
    TH_COMMIT_YIELD,   /* it is queued behind all other work */
    TH_COMMIT_ROOT,    /* a bound thread's own stack: the thread's loop knows when it goes on */
    TH_COMMIT_IDLE,    /* it becomes a spare loop of the worker */
    TH_COMMIT_RECLAIM, /* runs `then`; afterwards the worker looks for memory to give back */
    TH_COMMIT_RETIRE   /* it is freed */
} th_commit_kind;

#endif
