/*
 * mpsc.h: a stack that many push onto and one takes as a whole: the front of the shared queue and
 * of the fifo policy.
 *
 * Producers push one work or a whole chain with one compare-exchange. Who drains it (the caller
 * sees to it that there is only one at a time) takes all there is and turns it round.
 *
 * Order:     of two pushes, the one whose exchange came first comes out first.
 * Progress:  push is lock-free, drain is wait-free but for the turning, which is linear.
 * ABA:       none that matters: nothing is popped from the stack but all of it, and a producer
 * never looks into what its `old` points at (queue/README.md, "inject and inbox").
 */
#ifndef TH_MPSC_H
#define TH_MPSC_H

#include <stdalign.h>

#include "base/atomic.h"
#include "queue/work.h"

typedef struct th_mpsc {
    alignas(TH_CACHE_LINE) th_work *xtop; /* newest first */
} th_mpsc;

/*
 * Any thread: appends `count` work, linked from `first`. Whether it found the stack empty. Also a
 * seq_cst access: who pushes may go on to read, by a seq_cst load, whether somebody sleeps.
 */
static inline bool th_mpsc_push(th_mpsc *stack, th_work *first, size_t count) {
    /*
     * On the stack the newest comes first, so the chain's links are turned: in the common case, one
     * work, that is nothing at all.
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
    th_work *old = th_load_relaxed(&stack->xtop); /* relaxed: the exchange decides */
    do {
        th_work_link(bottom, old);
        /* lock-free: it fails only when another producer or the drainer succeeded */
        /* pairs: th_mpsc_drain; publishes the work and its links */
        /* seq: pushed before the park word is read; th_park announces, then looks */
    } while (!th_cas_seq(&stack->xtop, &old, top));
    return old == NULL;
}

/* Any thread: after a full fence it is exact enough to park on. */
static inline bool th_mpsc_is_empty(const th_mpsc *stack) {
    return th_load_relaxed(&stack->xtop) == NULL; /* relaxed: a guess, or ordered by the fence */
}

/* One at a time: takes everything, oldest first. */
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
