/*
 * thread.h: what the library keeps of each operating-system thread, worker or not.
 */
#ifndef TH_THREAD_H
#define TH_THREAD_H

#include "base/random.h"
#include "core/state/local.h"
#include "platform/platform.h"

typedef struct th_fiber th_fiber;
typedef struct th_worker th_worker;
typedef struct th_outside th_outside;

/* What hangs on a thread and goes with it, in this order. */
typedef enum { TH_EXIT_OUTSIDE, TH_EXIT_LOCALS, TH_EXITS } th_exit;

typedef struct th_thread {
    th_worker *worker;            /* the worker that this thread is, else NULL */
    uint64_t id;                  /* a plain thread's, as the owner of locks; 0: not asked yet */
    th_random random;             /* a plain thread's own; state 0: not seeded yet */
    th_outside *outside;          /* its records with schedulers whose worker it is not */
    th_locals locals;             /* its values under keys */
    struct thrum_sched *acts_for; /* makes a call for a task of it, which waits (blocking_pool.c) */
    void (*at_exit[TH_EXITS])(struct th_thread *thread); /* called by th_thread_ends, or NULL */
    bool exit_registered;                                /* th_thread_ends will be called */
    bool serves; /* a thread of the library's that makes calls for tasks (io/) */
    bool orphan; /* in the child of a fork: what it was doing, it did for the parent's scheduler */
    bool alone;  /* an orphan, and no scheduler was started since the fork: waits fail at once */
    uint64_t xwaits; /* what a plain thread waits for: a th_on above the object's address; or 0 */
} th_thread;

#define TH_SHOWN_SHIFT 56 /* addresses of programs have fewer bits */

/* Constant for the thread; in storage of its own, never NULL. */
static inline th_thread *th_thread_self(void) {
    return th_os_self_storage();
}

/* The worker that runs the caller, or NULL: ask again after anything that may switch. */
/* (Not shown to the thread sanitizer: a thread's storage was made before the task's context knew of
 * it.) */
static TH_INLINE_NO_TSAN th_worker *th_here(void) {
    return th_thread_self()->worker;
}

/* Whether the caller makes a blocking call for a task of the scheduler. Not shown likewise. */
static TH_INLINE_NO_TSAN bool th_acts_for(const struct thrum_sched *sched) {
    return th_thread_self()->acts_for == sched;
}

/*
 * In the child of a fork, the thread that forked on a worker, bound, or in the blocking pool: it is
 * a plain thread now. Why what takes a task's thread cannot be done: -ESHUTDOWN there, else
 * -ESRCH.
 */
int th_thread_refusal(void);

/* For an orphan whose body has returned: the end of the process. */
TH_NORETURN TH_COLD void th_thread_body_ends(int status);

/* A scheduler was started: an orphan's waits may find a waker again. */
void th_thread_accompanied(void);

/* The fiber whose body is calling, or NULL: on a plain thread, in a hook. */
th_fiber *th_fiber_self(void);

/*
 * Who the caller is, as the owner of a lock: one number for each run of a task and for each plain
 * thread, never 0, never used again.
 */
uint64_t th_self_id(void);

/* A random number of the caller's own, for being fair; not for anything secret. */
uint32_t th_self_random(void);

/* One step of waiting for a short lock that somebody holds: relax, soon give the time slice away.
 */
void th_backoff(unsigned *spins);

#endif
