/*
 * thread.h: what the library keeps of each operating-system thread, worker or not.
 */
#ifndef TH_THREAD_H
#define TH_THREAD_H

#include "base/random.h"
#include "core/local.h"
#include "platform/platform.h"

typedef struct th_worker th_worker;
typedef struct th_outside th_outside;

typedef struct th_thread {
    th_worker *worker;    /* the worker that this thread is, else NULL */
    uint32_t number;      /* as the favourite of locks (sync/biased.h); 0: never so far */
    uint64_t id;          /* who a plain thread is as the owner of locks; 0: not asked yet */
    th_random random;     /* a plain thread's own; state 0: not seeded yet */
    th_outside *outside;  /* its records with schedulers whose worker it is not */
    th_locals locals;     /* its values under keys */
    bool exit_registered; /* th_thread_ends will be called */
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

/* The calling thread's number as the favourite of locks, or 0. Not shown likewise. */
static TH_INLINE_NO_TSAN uint32_t th_here_number(void) {
    return th_thread_self()->number;
}

/* Sees to it that what hangs on the record is freed when the thread ends. */
void th_thread_keep(th_thread *thread);

/* For a worker's thread, as it ends: the same at once. */
void th_thread_ends(void *thread);

#endif
