/*
 * mcsp.h: the ready queue: one producer at a time, many consumers, first in, first out.
 *
 * It is a ring (ring.h), one bounded block of pointers that is used again and again. Consumers move
 * its head by an exchange; its tail is the producer's alone. The producer is the combiner
 * (combiner.h): its place is the lock, and it is taken once for a block, not once for each work.
 * Work that does not fit stays in the producer's own chain: so publishing never fails and never
 * allocates, and nothing has to be freed.
 *
 * Order:     takes, in the order of their exchanges, return work in the order of its publication.
 * Progress:  publishing is wait-free; a take fails only when another take succeeded.
 * Lifetimes: consumers copy pointers out of slots, and read no link: the work may have been run and
 *            freed before the exchange decides which consumer has it.
 * Bound:     any capacity that is a power of two, 1 included.
 *
 * The argument is the ring's (queue/README.md), the owner being the combiner.
 */
#ifndef TH_MCSP_H
#define TH_MCSP_H

#include "queue/ring.h"

typedef struct th_mcsp {
    th_ring ring;
} th_mcsp;

static inline void th_mcsp_init(th_mcsp *queue, th_work **slots, uint64_t capacity) {
    th_ring_init(&queue->ring, slots, capacity);
}

/* Any thread. How much is in it: a guess, but after a full fence exact enough to park on. */
static inline uint64_t th_mcsp_size(const th_mcsp *queue) {
    return th_ring_size(&queue->ring);
}

/* Producer only. Publishes as much of the chain as fits, oldest first; returns how many. */
static inline uint64_t th_mcsp_publish(th_mcsp *queue, th_chain *chain) {
    return chain->first ? th_ring_push_chain(&queue->ring, chain, chain->count) : 0;
}

/* Any thread. Takes up to `want` of the oldest, at most half, into `out`; returns how many. */
static inline uint64_t th_mcsp_take_many(th_mcsp *queue, th_work **out, uint64_t want) {
    return th_ring_steal(&queue->ring, out, want);
}

/* Any thread. Takes the oldest work; NULL when there is none. */
static inline th_work *th_mcsp_take(th_mcsp *queue) {
    th_work *work;
    return th_mcsp_take_many(queue, &work, 1) ? th_work_kept(&work) : NULL;
}

#endif
