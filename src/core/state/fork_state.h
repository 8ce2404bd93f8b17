/*
 * fork_state.h: what a fork is, and what a worker has of them. src/parallel/README.md has the
 * argument.
 *
 * Words:      a *fork* is a record in its owner's frame. *Private*: it stands in the array of the
 *             worker that its owner runs on, and the owner makes the call itself unless somebody
 *             takes it. *Offered*: it stands in the worker's slot, from which any thief may take
 *             it. *Given*: it is work like any other, the thief's or a queue's; its owner waits.
 * Invariants: a worker's forks belong to the fiber that is on it: one that suspends gives them all
 *             first, so neither a private nor an offered fork ever changes its worker. The private
 *             ones are xprivate[xhead, xtail), oldest first; the offered one is older than them,
 *             the given ones are older than that. A fork leaves the array at the tail by its
 *             owner alone, at the head under the lock.
 * Progress:   nothing here is needed for a fork to be called: its owner does that. What is offered
 *             and never seen costs time only. What is given is queued, and so never forgotten.
 */
#ifndef TH_FORK_STATE_H
#define TH_FORK_STATE_H

#include <stdalign.h>
#include "base/atomic.h"
#include "core/state/fiber_state.h"
#include "core/state/lock.h"
#include "queue/work.h"
#include "thrum/base.h"

/* Private forks of a worker; with more the older half is given. A power of two. */
#define TH_FORKS TH_LIMIT(256u, 2u)

typedef struct th_fork {
    th_call call; /* set and used once it is offered or given */
    thrum_fn fn;
    void *arg;
    th_worker *xworker;   /* whose array it stands in; NULL: it is private no more */
    uint64_t index;       /* where; the owner's */
    uintptr_t xend;       /* TH_FORK_OPEN, the waiter who joins it, or TH_FORK_DONE */
    th_heritage heritage; /* what its owner was given, or is, as it forked */
    int32_t result;       /* written before DONE */
} th_fork;
_Static_assert(sizeof(th_fork) == 96, "fits into the public thrum_fork");

#define TH_FORK_OPEN ((uintptr_t)0)
#define TH_FORK_DONE ((uintptr_t)1)

/* A slot without a fork. Zeroed memory is a slot in which nobody looks. */
#define TH_FORK_CLOSED ((uintptr_t)0)
#define TH_FORK_EMPTY ((uintptr_t)1)

typedef struct th_forks {
    /*
     * Written by the owner. The next two it alone reads as well; atomics since to the thread
     * sanitizer each task of a worker is a thread.
     */
    alignas(TH_CACHE_LINE) uint64_t head_seen; /* xhead, or what it was: not beyond it */
    th_fork *offered;            /* what it has put into the slot and not missed yet */
    uint64_t xtaken_back;        /* of those offered: each counts as ended, and never began */
    uint64_t xtail;              /* where the next one goes; rescuers read it */
    th_fork *xprivate[TH_FORKS]; /* read by rescuers */

    alignas(TH_CACHE_LINE) uintptr_t xslot; /* CLOSED, EMPTY, or a fork: the owner fills it */
    uint64_t xhead; /* the oldest private one; under the lock, read by the owner without */
    th_lock lock;
} th_forks;

#endif
