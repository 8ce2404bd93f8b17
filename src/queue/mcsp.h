/*
 * mcsp.h: the ready queue: one producer at a time, many consumers, first in, first out.
 *
 * It is one bounded block of pointers that is used again and again: the ring, with a head for the
 * consumers that they exchange, and a tail that is the producer's alone. The producer is whoever
 * has the role (role.h), so the role is the lock, and it is taken once a block, not once a piece of
 * work. What does not fit stays with the producer, in its own chain: so publishing never fails and
 * never allocates, and nothing has to be freed.
 *
 * Order:     takes, in the order of their exchanges, give what was published, in its order.
 * Progress:  publishing is wait-free; a take fails only when another take succeeded.
 * Lifetimes: consumers copy pointers out of slots, and read no link: what they point at may have
 * been run and freed before the exchange tells who has it.
 * Bound:     any capacity that is a power of two, 1 included.
 *
 * The argument is the ring's (queue/README.md), the owner being whoever has the role.
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

/* Any thread: how much is in it: a guess; after a full fence it is exact enough to park on. */
static inline uint64_t th_mcsp_size(const th_mcsp *queue) {
    return th_ring_size(&queue->ring);
}

/* The producer: as much of the chain as fits, oldest first; returns how many. */
static inline uint64_t th_mcsp_publish(th_mcsp *queue, th_chain *chain) {
    return chain->first ? th_ring_push_chain(&queue->ring, chain, chain->count) : 0;
}

/* Any thread: up to `want` of the oldest, but no more than half, into `out`; returns how many. */
static inline uint64_t th_mcsp_take_many(th_mcsp *queue, th_work **out, uint64_t want) {
    return th_ring_steal(&queue->ring, out, want);
}

/* Any thread: the oldest, or NULL. */
static inline th_work *th_mcsp_take(th_mcsp *queue) {
    th_work *work;
    return th_mcsp_take_many(queue, &work, 1) ? th_work_kept(&work) : NULL;
}

#endif
