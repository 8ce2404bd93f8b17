/*
 * mpsc.h: a stack that many threads push onto and one takes as a whole: the front of the inject
 * queue and of the fifo policy.
 *
 * Producers push one work or a whole chain with one compare-exchange. The drainer (the callers see
 * to it that there is only one at a time) takes the whole stack and reverses it.
 *
 * Order:     of two pushes, the one whose exchange came first comes out first.
 * Progress:  push is lock-free, drain is wait-free except for the reversal, which is linear.
 * ABA:       harmless: only the whole stack is ever popped, and a producer never dereferences its
 *            `old` (queue/README.md, "inject and inbox").
 */
#ifndef TH_MPSC_H
#define TH_MPSC_H

#include <stdalign.h>

#include "base/atomic.h"
#include "platform/platform.h"
#include "queue/work.h"

#define TH_MPSC_PAUSE_MAX TH_LIMIT(32u, 1u) /* about a microsecond */

typedef struct th_mpsc {
    alignas(TH_CACHE_LINE) th_work *xtop; /* the newest work; each links to the next older one */
} th_mpsc;

/*
 * Any thread. Appends `count` works, linked from `first`; returns whether the stack was empty. The
 * push is a seq_cst access, so the caller may then read by a seq_cst load whether a worker sleeps.
 */
static inline bool th_mpsc_push(th_mpsc *stack, th_work *first, size_t count) {
    /*
     * On the stack the newest comes first, so the chain's links are reversed. In the common case, a
     * single work, there is nothing to do.
     */
    th_work *bottom = first;
    th_work *top = bottom;
    th_work *work = count > 1 ? th_work_next(bottom) : NULL;
    for (size_t i = 1; i < count; i++) {
        th_work *next = th_work_next(work);
        th_work_link(work, top);
        top = work;
        work = next;
    }
    unsigned pause = 1;
    th_work *old = th_load_relaxed(&stack->xtop); /* relaxed: the exchange decides */
    for (;;) {
        th_work_link(bottom, old);
        /* lock-free: it fails only when another producer or the drainer succeeded */
        /* pairs: th_mpsc_drain; publishes the work and its links */
        /* seq: pushed before the park word is read; th_park announces, then looks */
        if (th_likely(th_cas_seq(&stack->xtop, &old, top))) {
            return old == NULL;
        }
        /* If many push at once, each would make all others fail, and fetch the line anew. */
        for (unsigned i = 0; i < pause; i++) {
            th_os_relax();
        }
        pause = pause < TH_MPSC_PAUSE_MAX ? 2 * pause : pause;
        old = th_load_relaxed(&stack->xtop); /* relaxed: the exchange decides */
    }
}

/* Any thread. After a full fence it is exact enough to park on. */
static inline bool th_mpsc_is_empty(const th_mpsc *stack) {
    return th_load_relaxed(&stack->xtop) == NULL; /* relaxed: a guess, or ordered by the fence */
}

/* One thread at a time. Takes everything, oldest first. */
static inline th_chain th_mpsc_drain(th_mpsc *stack) {
    th_chain pushed = {0};
    if (th_mpsc_is_empty(stack)) {
        return pushed; /* spares the exchange */
    }
    /* pairs: th_mpsc_push; the whole stack, each push of it released */
    th_work *work = th_xchg_acquire(&stack->xtop, NULL);
    pushed.last = work;
    while (work) {
        th_work *next = th_work_next(work);
        th_work_link(work, pushed.first);
        pushed.first = work;
        pushed.count++;
        work = next;
    }
    return pushed;
}

#endif
