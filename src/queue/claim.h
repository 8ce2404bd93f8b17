/*
 * claim.h: a few pieces of work that the owner has taken from its ring in one exchange, to run them
 * one by one. They lie behind the gate, so that they can be rescued from an owner that does not
 * come back to its loop.
 *
 * Words:      xplace is filled by the owner when all places are empty; the owner and rescuers empty
 *             them. next, count and at are the owner's alone.
 * Invariant:  the places below `next` are empty.
 */
#ifndef TH_CLAIM_H
#define TH_CLAIM_H

#include <stdalign.h>

#include "queue/gate.h"
#include "queue/ring.h"

#define TH_CLAIM TH_LIMIT(8u, 2u)

typedef struct th_claim {
    alignas(TH_CACHE_LINE) th_work *xplace[TH_CLAIM];
    uint32_t next;  /* the first place that may hold work */
    uint32_t count; /* the number of places that were filled */
    uint64_t at;    /* the ring's position of place 0 */
} th_claim;

/* Owner only. True when work is left, or was left until a rescuer took it. */
static inline bool th_claim_any(const th_claim *claim) {
    return claim->next < claim->count;
}

/* Owner only. The position of the work that it takes next, out of the claim or out of the ring. */
static inline uint64_t th_claim_head(const th_claim *claim, const th_ring *ring) {
    return th_claim_any(claim) ? claim->at + claim->next : th_ring_head(ring);
}

/* Owner only. Takes the oldest work; NULL when there is none. */
static inline th_work *th_claim_take(th_claim *claim, th_gate *gate) {
    while (th_claim_any(claim)) {
        th_work *work = th_gate_take(gate, &claim->xplace[claim->next++]);
        if (th_likely(work)) {
            return work;
        }
    }
    return NULL;
}

/* Owner only, when nothing is claimed. Keeps what it has taken but the first, which it returns. */
static inline th_work *th_claim_keep(th_claim *claim, th_work *const *taken, uint64_t n) {
    for (uint64_t i = 1; i < n; i++) {
        /* pairs: th_gate_rescue; publishes the work */
        th_store_release(&claim->xplace[i], th_work_kept(&taken[i]));
    }
    claim->next = 1;
    claim->count = (uint32_t)n;
    return n ? th_work_kept(&taken[0]) : NULL;
}

/*
 * Owner only, when nothing is claimed. Takes from the ring, and returns the oldest. It takes more
 * than one only when the ring holds twice as many, since what is claimed cannot be stolen.
 */
static inline th_work *th_claim_fill(th_claim *claim, th_ring *ring, bool several) {
    if (!several || th_ring_size(ring) < 2 * TH_CLAIM) {
        return th_ring_pop(ring);
    }
    th_work *taken[TH_CLAIM];
    uint64_t n = th_ring_pop_many(ring, taken, TH_CLAIM, &claim->at);
    return th_claim_keep(claim, taken, n);
}

/*
 * The same places used the other way round, as an outbox: the owner puts one work behind those that
 * are there, and later takes them all. False when all places are filled.
 */
static inline bool th_claim_put(th_claim *claim, th_work *work) {
    if (claim->count == TH_CLAIM) {
        return false;
    }
    /* pairs: th_gate_rescue; publishes the work */
    th_store_release(&claim->xplace[claim->count++], work);
    return true;
}

static inline th_chain th_claim_take_all(th_claim *claim, th_gate *gate) {
    th_chain chain = {0};
    for (th_work *work; (work = th_claim_take(claim, gate));) {
        th_chain_append(&chain, work);
    }
    claim->next = 0;
    claim->count = 0;
    return chain;
}

/* Rescuers only, between th_gate_rescue_begin and _end. Takes all work; returns how many. */
static inline uint64_t th_claim_rescue(th_claim *claim, th_work **out) {
    uint64_t n = 0;
    for (unsigned i = 0; i < TH_CLAIM; i++) {
        th_work *work = th_gate_rescue(&claim->xplace[i]);
        if (work) {
            out[n++] = work;
        }
    }
    return n;
}

/* Any thread. Whether there seems to be work. */
static inline bool th_claim_seen(const th_claim *claim) {
    for (unsigned i = 0; i < TH_CLAIM; i++) {
        if (th_load_relaxed(&claim->xplace[i])) { /* relaxed: a guess */
            return true;
        }
    }
    return false;
}

#endif
