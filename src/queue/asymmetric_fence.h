/*
 * asymmetric_fence.h: places of a worker's own from which it takes without a locked instruction,
 * although other threads, the rescuers, may now and then take from them too.
 *
 * The owner stores that it takes, and then loads whether a rescuer does; it is the light side of an
 * asymmetric fence (platform/asymmetric.h), and a rescuer, with its words the other way round, the
 * heavy side. queue/README.md, "the asymmetric fence", has the rest of the argument.
 *
 * Words:      xtaking is written by the owner. xrevoked is written by rescuers, one at a time; it
 *             is TH_AFENCE_SHUT for ever where the system cannot order processors: then the owner
 *             takes by an exchange, as a rescuer does.
 * Invariant:  the owner takes by plain accesses only while no rescuer takes.
 * Progress:   wait-free for the owner. A rescuer gives up when the owner is just taking, or when
 *             the system cannot order processors at that moment.
 */
#ifndef TH_ASYMMETRIC_FENCE_H
#define TH_ASYMMETRIC_FENCE_H

#include "platform/asymmetric.h"
#include "queue/work.h"

#define TH_AFENCE_OPEN 0u
#define TH_AFENCE_REVOKED 1u
#define TH_AFENCE_SHUT 2u

typedef struct th_afence {
    uint32_t xtaking;
    uint32_t xrevoked;
} th_afence;

/* Owner only. Empties the place, and returns the work in it; NULL when it was empty. */
static inline th_work *th_afence_take(th_afence *fence, th_work **xplace) {
    th_work *work;
    /* relaxed: spares the rest when it is empty: other threads never fill it */
    if (!th_load_relaxed(xplace)) {
        return NULL;
    }
    /* relaxed: before the next load for the compiler; for the processor by the rescuer's barrier */
    th_store_relaxed(&fence->xtaking, 1u);
    th_fence_light();
    /* pairs: th_afence_rescue_end; places that the rescuer emptied are seen to be empty */
    if (th_likely(th_load_acquire(&fence->xrevoked) == TH_AFENCE_OPEN)) {
        work = th_load_relaxed(xplace); /* relaxed: the owner wrote it, or a rescuer emptied it */
        th_store_relaxed(xplace, NULL); /* relaxed: published by the end of the taking */
    } else {
        /*
         * relaxed: the owner itself wrote the work that it gets, and no thread concludes anything
         * from a NULL; of two exchanges one gets the work
         */
        work = th_xchg_relaxed(xplace, NULL);
    }
    /* pairs: th_afence_rescue_begin; the place is empty */
    th_store_release(&fence->xtaking, 0u);
    return work;
}

/*
 * Rescuers only. False when it cannot take now. Otherwise it calls th_afence_rescue for each place,
 * and then th_afence_rescue_end. `barrier` returns whether it could order the processors.
 */
static inline bool th_afence_rescue_begin(th_afence *fence, bool (*barrier)(void)) {
    uint32_t state = TH_AFENCE_OPEN;
    /* pairs: th_afence_rescue_end; one rescuer at a time */
    if (!th_cas_acquire(&fence->xrevoked, &state, TH_AFENCE_REVOKED)) {
        return state == TH_AFENCE_SHUT; /* there all threads exchange */
    }
    /* pairs: th_afence_take; the places that the owner has emptied */
    if (!barrier() || th_load_acquire(&fence->xtaking)) {
        /* pairs: th_afence_take; the places that the rescuer before this one has emptied, whose
         * release sequence this store ends */
        th_store_release(&fence->xrevoked, TH_AFENCE_OPEN);
        return false;
    }
    return true;
}

static inline th_work *th_afence_rescue(th_work **xplace) {
    /* relaxed: spares the exchange when there is nothing */
    if (!th_load_relaxed(xplace)) {
        return NULL;
    }
    /* pairs: th_batch_fill, submit_next; the work. It needs no release: that the place is empty is
     * published by th_afence_rescue_end */
    return th_xchg_acquire(xplace, NULL);
}

static inline void th_afence_rescue_end(th_afence *fence) {
    /* relaxed: SHUT never changes, and REVOKED was stored by this thread */
    if (th_load_relaxed(&fence->xrevoked) == TH_AFENCE_REVOKED) {
        /* pairs: th_afence_take; the places that are empty now */
        th_store_release(&fence->xrevoked, TH_AFENCE_OPEN);
    }
}

#endif
