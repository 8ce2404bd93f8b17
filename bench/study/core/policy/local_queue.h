/*
 * local_queue.h: the local queue of the study's build, in place of src/core/policy/local_queue.h:
 * the same functions, each with its variant. A spare hands its own queue over without the lock,
 * which is safe: only its owner fills a queue or lets it grow.
 */
#ifndef TH_LOCAL_QUEUE_H
#define TH_LOCAL_QUEUE_H

#include "core/state/worker.h"
#include "study.h"

#define TH_GRAB_MAX 128

/* One for each worker's number; workers of several schedulers share them. */
typedef struct th_study_lock {
    _Alignas(TH_CACHE_LINE) th_lock lock;
} th_study_lock;

extern th_study_lock th_study_locks[THRUM_WORKERS_MAX];

static inline void th_local_lock(const th_worker *worker) {
    if (th_study_variant.mutex) {
        th_lock_acquire(&th_study_locks[worker->index % THRUM_WORKERS_MAX].lock);
    }
}

static inline void th_local_unlock(const th_worker *worker) {
    if (th_study_variant.mutex) {
        th_lock_release(&th_study_locks[worker->index % THRUM_WORKERS_MAX].lock);
    }
}

/* Owner only, with the lock. Makes room for so many more, unless the system refuses the memory. */
void th_study_grow(th_worker *worker, uint64_t more);

static inline void th_local_reserve(th_worker *worker, uint64_t count) {
    if (th_study_variant.unbounded && th_ring_free(&worker->ring) < count) {
        th_study_grow(worker, count);
    }
}

static inline bool th_local_push(th_worker *worker, th_work *work) {
    th_local_lock(worker);
    th_local_reserve(worker, 1);
    bool pushed = th_ring_push(&worker->ring, work);
    th_local_unlock(worker);
    return pushed;
}

static inline uint64_t th_local_push_many(th_worker *worker, th_work *const *work, uint64_t n) {
    uint64_t pushed = 0;
    th_local_lock(worker);
    th_local_reserve(worker, n);
    while (pushed < n && th_ring_push(&worker->ring, work[pushed])) {
        pushed++;
    }
    th_local_unlock(worker);
    return pushed;
}

static inline void th_local_push_chain(th_worker *worker, th_chain *chain) {
    th_local_lock(worker);
    th_local_reserve(worker, chain->count);
    th_ring_push_chain(&worker->ring, chain, chain->count);
    th_local_unlock(worker);
}

/* With the lock one at a time; the queue of fibers that yielded has none. */
static inline th_work *th_local_take(th_worker *worker, th_batch *batch, th_ring *ring,
                                     bool several) {
    if (!th_study_variant.mutex || ring != &worker->ring) {
        return th_batch_fill(batch, ring, several);
    }
    th_local_lock(worker);
    th_work *work = th_ring_pop(ring);
    th_local_unlock(worker);
    return work;
}

static inline th_chain th_local_overflow(th_worker *worker) {
    if (th_study_variant.overflow_one) {
        return (th_chain){0};
    }
    th_local_lock(worker);
    th_chain chain = th_ring_spill(&worker->ring, th_ring_capacity(&worker->ring) / 2);
    th_local_unlock(worker);
    return chain;
}

static inline uint64_t th_local_steal(th_worker *victim, th_ring *ring, th_work **out,
                                      uint64_t most) {
    th_local_lock(victim);
    uint64_t n = th_ring_steal(ring, out, th_study_variant.steal_one ? 1 : most);
    th_local_unlock(victim);
    return n;
}

static inline size_t th_local_parts(const th_worker *worker) {
    return th_study_variant.take_all ? 1 : worker->sched->workers_regular;
}

static inline size_t th_local_room(th_worker *worker, th_ring *ring) {
    const bool grows = th_study_variant.unbounded && ring == &worker->ring;
    return grows ? SIZE_MAX / 2 : (size_t)th_ring_free(ring);
}

static inline size_t th_local_grab(const th_worker *worker) {
    if (th_study_variant.grab_one) {
        return 1;
    }
    if (th_study_variant.take_all) {
        return SIZE_MAX;
    }
    size_t half = (size_t)th_ring_capacity(&worker->ring) / 2;
    return half < TH_GRAB_MAX ? half : TH_GRAB_MAX;
}

#endif
