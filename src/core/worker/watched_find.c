/*
 * watched_find.c: see watched_find.h.
 */
#include "core/worker/watched_find.h"

#include "core/worker/spares.h"
#include "core/worker/find.h"
#include "platform/asymmetric.h"

static void rouse(th_stalls *stalls) {
    uint32_t rests = TH_STALLS_RESTS;
    /* relaxed: the watcher reads nothing that this worker wrote but by words of their own */
    if (th_cas_relaxed(&stalls->xstate, &rests, (uint32_t)TH_STALLS_LOOKS)) {
        th_os_futex_wake(&stalls->xstate, 1);
    }
}

th_work *th_watched_find(th_worker *worker) {
    th_stalls *stalls = &worker->sched->stalls;
    th_work *work;
    if (th_is_spare(worker)) {
        work = th_spares_find(worker);
    } else {
        do { /* a worker with a search of its own is asked again when it has slept */
            worker->stint.slept = false;
            work = th_find(worker);
        } while (!work && worker->stint.slept);
    }
    /* The worker counts as running; then this is read. */
    th_fence_light();
    /*
     * relaxed: ordered by the fence; the watcher announces its rest, then checks which workers run
     * (rest)
     */
    if (th_unlikely(th_load_relaxed(&stalls->xstate) == TH_STALLS_RESTS)) {
        rouse(stalls);
    }
    return work;
}
