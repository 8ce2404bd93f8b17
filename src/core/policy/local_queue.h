/*
 * local_queue.h: moving work between a worker's local queue and other places, and how much at a
 * time (docs/policies.md). The build of the study has its own file of this name, with a lock around
 * each use and other amounts (bench/study).
 */
#ifndef TH_LOCAL_QUEUE_H
#define TH_LOCAL_QUEUE_H

#include "core/state/worker.h"

#define TH_GRAB_MAX 128 /* work that becomes due waits behind the grabbed work */

/* Owner only. False when the queue is full. */
static inline bool th_local_push(th_worker *worker, th_work *work) {
    return th_ring_push(&worker->ring, work);
}

/* Owner only. Appends as many as fit; returns how many. */
static inline uint64_t th_local_push_many(th_worker *worker, th_work *const *work, uint64_t n) {
    uint64_t pushed = 0;
    while (pushed < n && th_ring_push(&worker->ring, work[pushed])) {
        pushed++;
    }
    return pushed;
}

/* Owner only. Appends as many of the chain as fit. */
static inline void th_local_push_chain(th_worker *worker, th_chain *chain) {
    th_ring_push_chain(&worker->ring, chain, chain->count);
}

/* Owner only, when the batch is empty. Takes the oldest; with `several` it may fill the batch. */
static inline th_work *th_local_take(th_worker *worker, th_batch *batch, th_ring *ring,
                                     bool several) {
    (void)worker;
    return th_batch_fill(batch, ring, several);
}

/* Owner only. Takes the older half of a full queue, which goes to the inject queue. */
static inline th_chain th_local_overflow(th_worker *worker) {
    return th_ring_spill(&worker->ring, th_ring_capacity(&worker->ring) / 2);
}

/* Any thread. Takes up to half, and at most `most`, from one of the victim's queues. */
static inline uint64_t th_local_steal(th_worker *victim, th_ring *ring, th_work **out,
                                      uint64_t most) {
    (void)victim;
    return th_ring_steal(ring, out, most);
}

/* The owner's share of a shared queue: one part of so many. */
static inline size_t th_local_parts(const th_worker *worker) {
    return worker->sched->workers_regular;
}

/* Owner only. How many more fit into one of its queues. */
static inline size_t th_local_room(th_worker *worker, th_ring *ring) {
    (void)worker;
    return (size_t)th_ring_free(ring);
}

/* The most that a worker takes from the inject queue at once. */
static inline size_t th_local_grab(const th_worker *worker) {
    size_t half = (size_t)th_ring_capacity(&worker->ring) / 2;
    return half < TH_GRAB_MAX ? half : TH_GRAB_MAX;
}

#endif
