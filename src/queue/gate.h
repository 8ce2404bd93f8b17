/*
 * gate.h: what lets a worker take from places of its own without a locked instruction, although
 * others may take from them too, now and then.
 *
 * The owner says that it takes, and looks whether somebody else does; it orders the two for the
 * compiler only. A rescuer says that it takes, has the system order all the processors (a system
 * call), and then looks at what the owner says. queue/README.md, "the gate", has the argument.
 *
 * Words:      taking: the owner. revoked: rescuers, one at a time; TH_GATE_SHUT for ever where the
 *             system cannot order processors: then the owner exchanges, and so does a rescuer.
 * Invariant:  the owner takes by plain accesses only while no rescuer takes.
 * Progress:   wait-free for the owner. A rescuer goes away when the owner is just taking, or the
 *             system cannot order processors just now.
 */
#ifndef TH_GATE_H
#define TH_GATE_H

#include "base/atomic.h"
#include "queue/work.h"

#define TH_GATE_OPEN 0u
#define TH_GATE_REVOKED 1u
#define TH_GATE_SHUT 2u

typedef struct th_gate {
    uint32_t xtaking;
    uint32_t xrevoked;
} th_gate;

/* The owner: what is in the place, which is empty afterwards, or NULL. */
static inline th_work *th_gate_take(th_gate *gate, th_work **xplace) {
    th_work *work;
    /* relaxed: spares the rest when there is nothing: others only ever empty it */
    if (!th_load_relaxed(xplace)) {
        return NULL;
    }
    /* relaxed: before the next load for the compiler; for the processor by the rescuer's barrier */
    th_store_relaxed(&gate->xtaking, 1u);
    th_fence_compiler();
    /* pairs: th_gate_rescue_end; what the rescuer emptied is seen to be empty */
    if (th_likely(th_load_acquire(&gate->xrevoked) == TH_GATE_OPEN)) {
        work = th_load_relaxed(xplace); /* relaxed: the owner wrote it, or a rescuer emptied it */
        th_store_relaxed(xplace, NULL); /* relaxed: published by the end of the taking */
    } else {
        /* relaxed: the owner wrote what it gets, and nobody learns from a NULL; whoever exchanged
         * it for NULL has it */
        work = th_xchg_relaxed(xplace, NULL);
    }
    /* pairs: th_gate_rescue_begin; the place is empty */
    th_store_release(&gate->xtaking, 0u);
    return work;
}

/*
 * A rescuer: false when it must go away. Otherwise th_gate_rescue, and th_gate_rescue_end. The
 * barrier says whether it could order the processors.
 */
static inline bool th_gate_rescue_begin(th_gate *gate, bool (*barrier)(void)) {
    uint32_t state = TH_GATE_OPEN;
    /* pairs: th_gate_rescue_end; one rescuer at a time */
    if (!th_cas_acquire(&gate->xrevoked, &state, TH_GATE_REVOKED)) {
        return state == TH_GATE_SHUT; /* everybody exchanges */
    }
    /* pairs: th_gate_take; what it has emptied */
    if (!barrier() || th_load_acquire(&gate->xtaking)) {
        /* pairs: th_gate_take; nothing of our own, but what the rescuer before us has emptied: its
         * release ends with this store */
        th_store_release(&gate->xrevoked, TH_GATE_OPEN);
        return false;
    }
    return true;
}

static inline th_work *th_gate_rescue(th_work **xplace) {
    /* relaxed: spares the exchange when there is nothing */
    if (!th_load_relaxed(xplace)) {
        return NULL;
    }
    /* pairs: th_claim_fill, submit_next; the work. Whoever exchanged it for NULL has it; the NULL
     * itself tells nobody anything, th_gate_rescue_end does */
    return th_xchg_acquire(xplace, NULL);
}

static inline void th_gate_rescue_end(th_gate *gate) {
    /* relaxed: SHUT stays, and REVOKED is ours */
    if (th_load_relaxed(&gate->xrevoked) == TH_GATE_REVOKED) {
        /* pairs: th_gate_take; the places that are empty now */
        th_store_release(&gate->xrevoked, TH_GATE_OPEN);
    }
}

#endif
