/*
 * fork_state.h: forks, and a worker's storage for them. src/parallel/README.md has the argument.
 *
 * Words:      a *fork* is a record in its owner's frame. *Private*: it is in the array of the
 *             worker that its owner runs on, and the owner makes the call itself unless another
 *             thread takes it. *Offered*: it is in the worker's slot, from which any thief may take
 *             it. *Given*: it is work like any other, a thief's or a queue's; its owner waits.
 * Invariants: a worker's forks belong to the fiber that is on it: a fiber that suspends gives them
 *             all first, so neither a private nor an offered fork ever changes its worker. The
 *             private ones are xprivate[xhead, xtail), oldest first; the offered one is older than
 *             them, the given ones are older than that. A fork leaves the array at the tail by its
 *             owner alone, at the head under the lock.
 * Progress:   a fork does not depend on this to be called: its owner calls it. An offer that no
 *             thief sees costs time only. A given fork is queued, and so never forgotten.
 */
#ifndef TH_FORK_STATE_H
#define TH_FORK_STATE_H

#include <stdalign.h>
#include "base/atomic.h"
#include "core/state/fiber_state.h"
#include "core/basis/lock.h"
#include "queue/work.h"
#include "thrum/base.h"

/* The private forks of a worker at most; before it gets more, it gives the older half. A power of
 * two. */
#define TH_FORKS TH_LIMIT(256u, 2u)

typedef struct th_fork {
    th_call call; /* set and used once it is offered or given */
    thrum_fn fn;
    void *arg;
    th_worker *xworker;     /* the worker whose array holds it; NULL: it is no longer private */
    uint64_t index;         /* its place there, or TH_FORK_OVER; the owner's */
    uintptr_t xend;         /* TH_FORK_OPEN, the waiter that joins it, or TH_FORK_DONE */
    th_inherited inherited; /* the context that it inherits from its owner */
    int32_t result;         /* written before DONE */
} th_fork;
_Static_assert(sizeof(void *) != 8 || sizeof(th_fork) == 96, "the public thrum_fork");

#define TH_FORK_OPEN ((uintptr_t)0)
#define TH_FORK_DONE ((uintptr_t)1)

/* The index of a fork that another thread could have had, once it is joined or taken back. */
#define TH_FORK_OVER UINT64_MAX

/* A slot without a fork. Zeroed memory is a slot in which no thief looks. */
#define TH_FORK_CLOSED ((uintptr_t)0)
#define TH_FORK_EMPTY ((uintptr_t)1)

typedef struct th_forks {
    /*
     * Written by the owner, which alone also reads the first two: they are atomics because the
     * thread sanitizer takes each task of a worker for a thread.
     */
    alignas(TH_CACHE_LINE) uint64_t head_seen; /* an earlier value of xhead: never beyond it */
    th_fork *offered;            /* the fork put into the slot, unless its theft has been noticed */
    uint64_t xtaken_back;        /* offers taken back: each counts as ended, and never began */
    uint64_t xtail;              /* the next one's place; rescuers read it */
    th_fork *xprivate[TH_FORKS]; /* read by rescuers */

    alignas(TH_CACHE_LINE) uintptr_t xslot; /* CLOSED, EMPTY, or a fork: the owner fills it */
    uint64_t xhead; /* the oldest private one; under the lock, read by the owner without */
    th_lock lock;
} th_forks;

#endif
