/*
 * batch.h: a few pieces of work that the owner has taken from its ring in one exchange, to run them
 * one by one. They lie behind the asymmetric fence, so that they can be rescued from an owner that
 * does not come back to its loop.
 *
 * Words:      xplace is filled by the owner when all places are empty (in an outbox, one place
 *             after the other); the owner and rescuers empty them. next, count and at are the
 *             owner's alone.
 * Invariant:  the places below `next` are empty.
 */
#ifndef TH_BATCH_H
#define TH_BATCH_H

#include <stdalign.h>

#include "queue/asymmetric_fence.h"
#include "queue/ring.h"

#define TH_BATCH TH_LIMIT(8u, 2u)

typedef struct th_batch {
    alignas(TH_CACHE_LINE) th_work *xplace[TH_BATCH];
    uint32_t next;  /* the first place that may hold work */
    uint32_t count; /* the number of places that were filled */
    uint64_t at;    /* the ring's position of place 0 */
} th_batch;

/* Owner only. True when work is left, or was left until a rescuer took it. */
static inline bool th_batch_any(const th_batch *batch) {
    return batch->next < batch->count;
}

/* Owner only. The position of the work that it takes next, from the batch or from the ring. */
static inline uint64_t th_batch_head(const th_batch *batch, const th_ring *ring) {
    return th_batch_any(batch) ? batch->at + batch->next : th_ring_head(ring);
}

/* Owner only. Takes the oldest work; NULL when there is none. */
static inline th_work *th_batch_take(th_batch *batch, th_afence *fence) {
    while (th_batch_any(batch)) {
        th_work *work = th_afence_take(fence, &batch->xplace[batch->next++]);
        if (th_likely(work)) {
            return work;
        }
    }
    return NULL;
}

/* Owner only, when the batch is empty. Keeps the taken work except the first, which it returns. */
static inline th_work *th_batch_keep(th_batch *batch, th_work *const *taken, uint64_t n) {
    for (uint64_t i = 1; i < n; i++) {
        /* pairs: th_afence_rescue; publishes the work */
        th_store_release(&batch->xplace[i], th_work_kept(&taken[i]));
    }
    batch->next = 1;
    batch->count = (uint32_t)n;
    return n ? th_work_kept(&taken[0]) : NULL;
}

/*
 * Owner only, when the batch is empty. Takes from the ring, and returns the oldest. It takes more
 * than one only when the ring holds two batches, since work in a batch cannot be stolen.
 */
static inline th_work *th_batch_fill(th_batch *batch, th_ring *ring, bool several) {
    if (!several || th_ring_size(ring) < 2 * TH_BATCH) {
        return th_ring_pop(ring);
    }
    th_work *taken[TH_BATCH];
    uint64_t n = th_ring_pop_many(ring, taken, TH_BATCH, &batch->at);
    return th_batch_keep(batch, taken, n);
}

/*
 * The same places used the other way round, as an outbox: the owner puts one work behind those
 * already there, and later takes them all. False when all places are filled.
 */
static inline bool th_batch_put(th_batch *batch, th_work *work) {
    if (batch->count == TH_BATCH) {
        return false;
    }
    /* pairs: th_afence_rescue; publishes the work */
    th_store_release(&batch->xplace[batch->count++], work);
    return true;
}

static inline th_chain th_batch_take_all(th_batch *batch, th_afence *fence) {
    th_chain chain = {0};
    for (th_work *work; (work = th_batch_take(batch, fence));) {
        th_chain_append(&chain, work);
    }
    batch->next = 0;
    batch->count = 0;
    return chain;
}

/* Rescuers only, between th_afence_rescue_begin and _end. Takes all work; returns how many. */
static inline uint64_t th_batch_rescue(th_batch *batch, th_work **out) {
    uint64_t n = 0;
    for (unsigned i = 0; i < TH_BATCH; i++) {
        th_work *work = th_afence_rescue(&batch->xplace[i]);
        if (work) {
            out[n++] = work;
        }
    }
    return n;
}

/* Any thread. Whether there seems to be work. */
static inline bool th_batch_seen(const th_batch *batch) {
    for (unsigned i = 0; i < TH_BATCH; i++) {
        if (th_load_relaxed(&batch->xplace[i])) { /* relaxed: a guess */
            return true;
        }
    }
    return false;
}

#endif
