/*
 * thread.h: the library's record of each operating-system thread, worker or not.
 */
#ifndef TH_THREAD_H
#define TH_THREAD_H

#include "base/random.h"
#include "core/state/key.h"
#include "platform/platform.h"

typedef struct th_fiber th_fiber;
typedef struct th_worker th_worker;
typedef struct th_external th_external;

/* Parts of a thread's record that are freed when the thread ends, in this order. */
typedef enum { TH_EXIT_EXTERNAL, TH_EXIT_KEYS, TH_EXITS } th_exit;

typedef struct th_thread {
    th_worker *worker;            /* the worker that this thread is, else NULL */
    th_worker *uncounted;         /* the same; NULL: it counts what its tasks hold (self_id.h) */
    uint64_t xid;                 /* a plain thread's id, as the owner of locks; 0: none yet */
    th_random random;             /* a plain thread's random numbers; state 0: not seeded yet */
    th_external *external;        /* its records with schedulers to which it is external */
    th_key_values key_values;     /* its values under keys */
    struct thrum_sched *acts_for; /* the scheduler for whose task it makes a blocking call */
    void (*at_exit[TH_EXITS])(struct th_thread *thread); /* called by th_thread_ends, or NULL */
    struct thrum_sched *watches; /* the scheduler for which it calls hooks, and nothing else */
    bool exit_registered;        /* th_thread_ends will be called */
    bool serves;                 /* the thread is the library's and makes calls for tasks (io/) */
    bool orphan; /* in the child of a fork: it was working for the parent's scheduler */
    bool alone;  /* an orphan, and no scheduler was started since the fork: waits fail at once */
    uint64_t xwaits;      /* a plain thread's wait: a th_on above the object's address; or 0 */
    uint32_t xwaits_turn; /* of a wait for a descriptor: its turn */
    const struct th_waiter *xwaiter; /* a plain thread's wait, on its stack; NULL: none */
    uint64_t xwaits_count;           /* waits that the thread has shown */
} th_thread;

#define TH_ID_THREAD ((uint64_t)1 << 63) /* in ids of threads: fibers' have not got it */
#define TH_ID_TASK (TH_ID_THREAD - 1)    /* the owner: some intrusive task */

#define TH_SHOWN_SHIFT 56 /* addresses of programs have fewer bits */

/* The calling thread's record: always the same one, in the thread's own storage, never NULL. */
static inline th_thread *th_thread_self(void) {
    return th_os_self_storage();
}

/*
 * The worker that runs the caller, or NULL: ask again after anything that may switch. Not shown to
 * the thread sanitizer: a task's context does not know that the thread's storage was made before.
 */
static TH_INLINE_NO_TSAN th_worker *th_here(void) {
    return th_thread_self()->worker;
}

/* Whether the caller makes a blocking call for a task of the scheduler. Not shown either. */
static TH_INLINE_NO_TSAN bool th_acts_for(const struct thrum_sched *sched) {
    return th_thread_self()->acts_for == sched;
}

/*
 * The code with which a call that needs a task is refused: -ESHUTDOWN on an orphan, else -ESRCH. An
 * orphan is the thread that forked on a worker, bound, or in the blocking pool: in the child it is
 * a plain thread.
 */
int th_thread_refusal(void);

/* Ends the process, when the body of an orphan's task has returned. */
TH_NORETURN TH_COLD void th_thread_body_ends(int status);

/* A scheduler was started: an orphan's waits may find a waker again. */
void th_thread_accompanied(void);

/* The fiber whose body is calling; NULL on a plain thread and in a hook. */
th_fiber *th_fiber_self(void);

/* The calling thread's own id, for th_self_id where the caller is no worker's (self_id.h). */
uint64_t th_thread_id(void);

/* A random number from the caller's own sequence, for fairness; not for anything secret. */
uint32_t th_self_random(void);

/* One step of waiting for a short lock: relaxes at first, soon gives the time slice away. */
void th_backoff_step(unsigned step);

/* The next step. The count stays the caller's own, seen by nobody else (base/annotate.h). */
static TH_ALWAYS_INLINE void th_backoff(unsigned *spins) {
    th_backoff_step(++*spins);
}

#endif
