/*
 * sharded_steal.c: see sharded_steal.h.
 */
#include "core/policy/sharded_steal.h"

#include "core/policy/local_queue.h"
#include "core/policy/pick.h"
#include "core/policy/steal_backoff.h"
#include "core/ready/wake.h"
#include "platform/asymmetric.h"

#define SEARCHES_PER_LOOK TH_LIMIT(64, 4) /* searches between two tries to rescue */
#define PROBE_MAX 8 /* the most that a thief takes that backs off and probes whether it should */

/* A rescue takes the slot and two batches. */
_Static_assert(1 + 2 * TH_BATCH <= TH_STEAL_MAX, "a rescue fits into what a theft does");

/* ---- stealing ---- */

static void note_victim(th_worker *worker, th_worker *victim) {
    if (worker->backoff.victim != victim) {
        worker->backoff.victim = victim;
        worker->backoff.at = 0; /* the present measurement is of another victim */
    }
}

/*
 * Returns the first of the taken work and puts the rest into the own queue, as far as there is
 * room, and the remainder into the inject queue.
 */
static th_work *keep(th_worker *worker, th_worker *victim, th_work *const taken[], uint64_t n) {
    note_victim(worker, victim);
    for (uint64_t i = 1 + th_local_push_many(worker, taken + 1, n - 1); i < n; i++) {
        th_inject_push(&worker->sched->inject, taken[i], 1);
    }
    return taken[0];
}

/* The same for ready fibers. */
static th_work *keep_ready(th_worker *worker, th_worker *victim, th_work *const taken[],
                           uint64_t n) {
    note_victim(worker, victim);
    for (uint64_t i = 1; i < n; i++) {
        if (!th_ring_push(&worker->ready, taken[i])) {
            th_inject_push(&worker->sched->ready, taken[i], 1);
        }
    }
    th_store_relaxed(&worker->xready, 1u); /* relaxed: a hint */
    return taken[0];
}

/* Steals from one queue of the victim. */
static th_work *steal_from(th_worker *worker, th_worker *victim, th_ring *ring) {
    th_work **taken = worker->stolen;
    uint64_t most = th_ring_capacity(&worker->ring) / 2 + 1;
    most = most < TH_STEAL_MAX ? most : TH_STEAL_MAX;
    most = worker->backoff.last_ns && most > PROBE_MAX ? PROBE_MAX : most;
    uint64_t n = th_local_steal(victim, ring, taken, most);
    if (!n) {
        return NULL;
    }
    th_count(&worker->counters.xstolen, n);
    return ring == &victim->ready ? keep_ready(worker, victim, taken, n)
                                  : keep(worker, victim, taken, n);
}

static th_work *rescue_any(th_worker *worker, bool *unsure);

/* Steals from one of this victim's queues, unless another thief measures it. */
static inline th_work *steal_any(th_worker *worker, th_worker *victim) {
    bool ready = th_ring_size(&victim->ready) != 0;
    bool ring = th_ring_size(&victim->ring) != 0;
    if (victim == worker || (!ready && !ring && !th_ring_size(&victim->yields))) {
        return NULL;
    }
    int64_t alone_ns = th_left_alone_ns(victim);
    if (alone_ns) {
        worker->backoff.ns = alone_ns;
        return NULL;
    }
    th_work *work = ready ? steal_from(worker, victim, &victim->ready) : NULL;
    if (!work && ring) {
        work = steal_from(worker, victim, &victim->ring);
    }
    if (!work && th_ring_size(&victim->yields)) {
        work = steal_from(worker, victim, &victim->yields);
    }
    return work;
}

th_work *th_sharded_steal(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    unsigned n = sched->workers_regular;
    th_work *rescued;
    /* While thieves always find something in the rings, no worker is the sentinel. */
    if (++worker->sharded.searches % SEARCHES_PER_LOOK == 0 &&
        (rescued = rescue_any(worker, &worker->look_unsure))) {
        return rescued;
    }
    unsigned at = th_random_below(&worker->random, n);
    unsigned stride = sched->strides[th_random_below(&worker->random, sched->strides_count)];
    th_work *work = NULL;
    for (unsigned i = 0; i < n && !work; i++, at = (at + stride) % n) {
        work = steal_any(worker, &sched->workers[at]);
    }
    for (unsigned i = n; i < th_workers_end(sched) && !work; i++) {
        work = steal_any(worker, &sched->workers[i]); /* spares */
    }
    return work;
}

/* ---- work that no worker comes for ---- */

bool th_sharded_pending(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    /* A worker that has a shared queue's turn looks after it and wakes when it gives that up. */
    if ((!th_inject_is_empty(&sched->ready) && !th_inject_is_taken(&sched->ready)) ||
        (!th_inject_is_empty(&sched->inject) && !th_inject_is_taken(&sched->inject)) ||
        !th_inject_is_empty(&worker->inbox) || th_priority_pending(worker)) {
        return true;
    }
    for (unsigned i = 0; i < th_workers_end(sched); i++) {
        const th_worker *w = &sched->workers[i];
        if ((th_ring_size_parking(&w->ready) >= TH_BACKLOG ||
             th_ring_size_parking(&w->ring) >= TH_BACKLOG ||
             th_ring_size_parking(&w->yields) >= TH_BACKLOG) &&
            !(worker->backing_off &&
              th_left_alone_ns(w))) { /* after a back-off it comes back by itself */
            return true;
        }
    }
    return false;
}

/* Whether the victim has work that can only be rescued. */
static bool has_private(const th_worker *victim) {
    /* relaxed: a guess; work is taken behind the asymmetric fence */
    return th_load_relaxed(&victim->xslot) || th_batch_seen(&victim->batch) ||
           th_batch_seen(&victim->yields_batch);
}

bool th_sharded_holds(const th_worker *victim) {
    return has_private(victim) || th_ring_size(&victim->ready) || th_ring_size(&victim->ring) ||
           th_ring_size(&victim->yields);
}

/* Takes the victim's LIFO slot, its batch and its batch of yielded fibers, in this order. */
static th_work *rescue_private(th_worker *worker, th_worker *victim) {
    th_work **taken = worker->stolen;
    if (!has_private(victim) || !th_afence_rescue_begin(&victim->fence, th_fence_heavy)) {
        return NULL;
    }
    uint64_t n = 0;
    taken[n] = th_afence_rescue(&victim->xslot); /* it may be ready: so it is what runs next */
    n += taken[n] != NULL;
    n += th_batch_rescue(&victim->batch, taken + n);
    n += th_batch_rescue(&victim->yields_batch, taken + n);
    th_afence_rescue_end(&victim->fence);
    th_count(&worker->counters.xstolen, n);
    return n ? keep(worker, victim, taken, n) : NULL;
}

/* Work behind the asymmetric fence is older than the ring: it comes first, or a thief that
 * always finds newer work in the ring would never come to it. */
static th_work *rescue_from(th_worker *worker, th_worker *victim) {
    th_work *work = rescue_private(worker, victim);
    work = work ? work : steal_from(worker, victim, &victim->ready);
    work = work ? work : steal_from(worker, victim, &victim->ring);
    return work ? work : steal_from(worker, victim, &victim->yields);
}

static th_work *rescue_any(th_worker *worker, bool *unsure) {
    return th_rescue_any(worker, unsure, th_sharded_holds, rescue_from);
}

th_work *th_sharded_rescue(th_worker *worker, bool *unsure) {
    th_work *work = rescue_any(worker, unsure);
    if (work) {
        th_count(&worker->counters.xruns_stolen, 1);
    }
    return work;
}

/* For a worker that polls: while all are busy there is no sentinel, so it does that one's work. */
th_work *th_sharded_look_around(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    if (th_ring_size(&worker->ring)) {
        return NULL;
    }
    th_work *work = th_sharded_rescue(worker, &worker->look_unsure);
    if (work &&
        (th_ring_size(&worker->ring) >= TH_BACKLOG || th_ring_size(&worker->ready) >= TH_BACKLOG)) {
        th_notify(worker, true); /* it is no searcher, so a wake is due for the work it keeps */
    }
    for (unsigned i = 0; i < th_workers_end(sched) && !work; i++) {
        th_worker *victim = &sched->workers[i];
        if (victim != worker && ((th_ring_size(&victim->ready) >= TH_BACKLOG &&
                                  (work = steal_from(worker, victim, &victim->ready))) ||
                                 (th_ring_size(&victim->ring) >= TH_BACKLOG &&
                                  (work = steal_from(worker, victim, &victim->ring))))) {
            th_count(&worker->counters.xruns_stolen, 1);
        }
    }
    return work;
}

static void hand_over(th_worker *worker, th_inject *inject, th_chain chain) {
    if (chain.first) {
        th_inject_push(inject, chain.first, chain.count);
        th_notify_shared(worker->sched, worker, TH_WAKE_CHAIN);
    }
}

/* A spare's own queues, oldest first, go to the shared queues. */
TH_NO_TSAN bool th_sharded_hand_over(th_worker *worker) {
    th_chain ready = th_ring_spill(&worker->ready, UINT64_MAX);
    th_chain chain = th_batch_take_all(&worker->batch, &worker->fence);
    th_work *slot = th_afence_take(&worker->fence, &worker->xslot);
    th_chain_join(&chain, th_ring_spill(&worker->ring, UINT64_MAX));
    if (slot) {
        th_chain_append(slot->kind == TH_WORK_FIBER ? &ready : &chain, slot);
    }
    th_chain_join(&chain, th_batch_take_all(&worker->yields_batch, &worker->fence));
    th_chain_join(&chain, th_ring_spill(&worker->yields, UINT64_MAX));
    worker->picks.quick = NULL;
    hand_over(worker, &worker->sched->ready, ready);
    hand_over(worker, &worker->sched->inject, chain);
    return true;
}

/* Takes one from a shared queue. */
static th_work *help_from(th_worker *worker, th_inject *inject) {
    if (th_inject_is_empty(inject) || !th_inject_turn_begin(inject)) {
        return NULL;
    }
    th_inject_take_into(inject, 1, 1, &worker->collected);
    th_inject_turn_end(inject);
    return th_chain_take(&worker->collected);
}

/* Takes one that is ready, else one from the inject queue, else from some worker's own. */
th_work *th_sharded_help(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    th_work *shared = help_from(worker, &sched->ready);
    for (unsigned i = 0; i < th_workers_end(sched) && !shared; i++) {
        th_work *work;
        shared = th_ring_steal(&sched->workers[i].ready, &work, 1) ? th_work_kept(&work) : NULL;
    }
    shared = shared ? shared : help_from(worker, &sched->inject);
    if (shared) {
        return shared;
    }
    for (unsigned i = 0; i < th_workers_end(sched); i++) {
        th_work *work;
        if (th_local_steal(&sched->workers[i], &sched->workers[i].ring, &work, 1)) {
            return th_work_kept(&work);
        }
    }
    return NULL;
}
