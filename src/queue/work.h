/*
 * work.h: the entries of run queues.
 *
 * Work means either "start this task" or "resume this fiber". Both begin with the struct th_work,
 * so that every queue has one intrusive link. A public thrum_task begins with the same three
 * fields.
 */
#ifndef TH_WORK_H
#define TH_WORK_H

#include "base/cc.h"

typedef enum {
    TH_WORK_TASK = 1,  /* a user's thrum_task (the public initializer has 1) */
    TH_WORK_GO = 2,    /* a detached task from a worker's slab: function and argument only */
    TH_WORK_SPAWN = 3, /* a task with a handle or attributes */
    TH_WORK_FIBER = 4, /* a fiber that can go on */
    TH_WORK_WAIT = 5,  /* a wait with a deadline: only in timers (core/due/timer.h) */
    TH_WORK_CALL = 6,  /* a th_call */
    TH_WORK_SERIAL = 7 /* a thrum_task whose runs never overlap (core/task/TASKS.md) */
} th_work_kind;

typedef struct th_work {
    struct th_work *next; /* the link of the queue that it is in; unused outside queues */
    uint32_t kind;        /* th_work_kind; constant while it is queued */
    int32_t worker;       /* its place (th_place_of): -1 for most; constant while it is queued */
} th_work;

/* The priorities that work may have. Normal is 0, so that most places are a number or -1. */
typedef enum { TH_NORMAL = 0, TH_HIGH = 1, TH_LOW = 2 } th_priority;

#define TH_PLACE_BITS 24
#define TH_PLACE_WORKER ((1 << TH_PLACE_BITS) - 1)

/*
 * The place of work: a priority, and the number of the worker that it is pinned to, or -1. If the
 * priority is normal, the place is just the number. So work that is neither pinned nor of another
 * priority has a negative place, and needs one test.
 */
static inline int32_t th_place_of(th_priority priority, int32_t worker) {
    return priority ? (int32_t)priority << TH_PLACE_BITS | (worker & TH_PLACE_WORKER) : worker;
}

static inline th_priority th_place_priority(int32_t place) {
    return place < 0 ? TH_NORMAL : (th_priority)(place >> TH_PLACE_BITS);
}

/* The worker that it is pinned to, or -1. */
static inline int32_t th_place_worker(int32_t place) {
    return (place & TH_PLACE_WORKER) == TH_PLACE_WORKER ? -1 : place & TH_PLACE_WORKER;
}

/* Work that lives in an object of its user's, and may be freed once `fn` was called. */
typedef struct th_call {
    th_work work; /* kind TH_WORK_CALL */
    void (*fn)(struct th_call *self);
} th_call;

/*
 * The enqueuing thread writes the link, the dequeuing one reads it, and the queue orders the two.
 * The body that then runs may free the object in a context of its own, which the thread sanitizer
 * does not see ordered after the scheduler's (base/annotate.h), so these accesses are hidden from
 * it.
 */
#if TH_TSAN && !defined(TH_SIM)
#define TH_WORK_LINK TH_NO_TSAN TH_NOINLINE TH_UNUSED
#else
#define TH_WORK_LINK inline
#endif

static TH_WORK_LINK th_work *th_work_next(const th_work *work) {
    return work->next;
}

static TH_WORK_LINK void th_work_link(th_work *work, th_work *next) {
    work->next = next;
}

/*
 * Accesses to a place in an array on the caller's stack, which the worker's context and a task's
 * use in turn (base/annotate.h): hidden from the thread sanitizer, too.
 */
static TH_WORK_LINK void th_work_keep(th_work **place, th_work *work) {
    *place = work;
}

static TH_WORK_LINK th_work *th_work_kept(th_work *const *place) {
    return *place;
}

/*
 * A chain of work, first to last, that one thread owns alone. It may lie on the caller's stack as
 * such an array does. So its functions are inlined always: then the thread sanitizer sees their
 * accesses if it sees those of the caller.
 */
typedef struct th_chain {
    th_work *first;
    th_work *last;
    size_t count;
} th_chain;

static TH_ALWAYS_INLINE void th_chain_append(th_chain *chain, th_work *work) {
    th_work_link(work, NULL);
    if (chain->last) {
        th_work_link(chain->last, work);
    } else {
        chain->first = work;
    }
    chain->last = work;
    chain->count++;
}

/* Appends all of `more`, whose last link is NULL. */
static TH_ALWAYS_INLINE void th_chain_join(th_chain *chain, th_chain more) {
    if (!more.first) {
        return;
    }
    if (chain->last) {
        th_work_link(chain->last, more.first);
        chain->last = more.last;
        chain->count += more.count;
    } else {
        *chain = more;
    }
}

static TH_ALWAYS_INLINE th_work *th_chain_take(th_chain *chain) {
    th_work *work = chain->first;
    if (work) {
        chain->first = th_work_next(work);
        if (!chain->first) {
            chain->last = NULL;
        }
        chain->count--;
    }
    return work;
}

#endif
