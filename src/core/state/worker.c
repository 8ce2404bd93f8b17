/*
 * worker.c: see worker.h.
 */
#include "core/state/worker.h"

#include "base/annotate.h"
#include "core/state/thread.h"

/* TH_NO_TSAN: a snapshot (snapshot.c) has the lock, but the sanitizer does not see it there. */
TH_NO_TSAN th_worker *th_worker_at(thrum_sched *sched, int32_t index) {
    unsigned i = (unsigned)index;
    if (th_likely(i < sched->workers_count)) {
        return &sched->workers[i];
    }
    i -= sched->workers_count;
    /* relaxed: the caller has the number from work that was made after the thread was bound */
    th_worker **chunk = th_load_relaxed(&sched->xbound_chunks[i / TH_BOUND_CHUNK]);
    return th_load_relaxed(&chunk[i % TH_BOUND_CHUNK]); /* relaxed: as above */
}

uint64_t th_sched_stack_high_water(const thrum_sched *sched, int worker) {
    /* relaxed: a figure to look at */
    uint64_t most = worker < 0 ? th_load_relaxed(&sched->xbound_high_water) : 0;
    for (unsigned i = 0; i < sched->workers_count; i++) {
        if (worker < 0 || (unsigned)worker == i) {
            /* relaxed: a figure to look at */
            uint64_t seen = th_load_relaxed(&sched->workers[i].xstack_high_water);
            most = seen > most ? seen : most;
        }
    }
    return most;
}

#if TH_TSAN_CONTEXTS
/*
 * A caller that waited until the scheduler was idle sees the tasks' effects (th_quiesce_now). Tasks
 * tied to one worker are ordered by it, as by a thread: they may share data without a lock.
 */
TH_NO_TSAN void th_enter(th_worker *worker) {
    th_tsan_release(worker->sched);
    if (th_place_worker(worker->current->work.worker) >= 0) {
        th_tsan_release(worker);
    }
    th_tsan_to_worker(worker->tsan);
}

TH_NO_TSAN void th_leave(th_worker *worker) {
    th_tsan_to_task(worker->current->tsan);
    th_tsan_acquire(&worker->tsan); /* the thread's own variables, and its start hook's effects */
    if (th_place_worker(worker->current->work.worker) >= 0) {
        th_tsan_acquire(worker);
    }
}
#endif
