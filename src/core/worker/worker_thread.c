/*
 * worker_thread.c: see worker_thread.h.
 */
#include "core/worker/worker_thread.h"

#include <stdio.h>

#include "base/text.h"
#include "core/fiber/fiber.h"
#include "core/fiber/fiber_cache.h"
#include "core/due/fork_slots.h"
#include "core/due/poll.h"
#include "core/due/timer.h"
#include "core/basis/affinity.h"
#include "core/state/thread_exit.h"
#include "core/wait/switch.h"
#include "core/state/poller.h"
#include "platform/platform.h"

void th_worker_prepare(th_worker *worker, thrum_sched *sched, unsigned index) {
    worker->sched = sched;
    worker->policy = sched->policy;
    worker->index = index;
    worker->xextra = sched->config.pin_all ? TH_EXTRA_PIN_ALL : 0;
    worker->fresh = (th_work){.kind = TH_WORK_GO, .worker = -1};
    worker->picks.until_inject = sched->config.global_interval;
    worker->picks.fair_interval = sched->config.global_interval;
    worker->picks.fair_at = th_os_ticks();
    worker->rounds.sleep_ns = 0;
    worker->home = (th_fiber){.worker = worker, .sched = sched};
    worker->go.slab = sched->go_slab;
    worker->go.owner = worker;
    worker->spawn.slab = sched->spawn_slab;
    th_random_seed(&worker->random, (uint64_t)index + 1);
    worker->sharded.inject_served = true;
    /* relaxed: no other thread knows the worker yet */
    th_store_relaxed(&worker->fence.xrevoked, sched->can_order ? TH_AFENCE_OPEN : TH_AFENCE_SHUT);
    th_inject_init(&worker->inbox);
    th_timers_init(&worker->own_timers, sched, worker);
    th_poller_init(&worker->poller, sched, worker);
    th_forks_init(&worker->forks, sched->workers_count > 1);
    /* A spare's: worker 0 stays, so its deadlines are always looked after. */
    bool shared = sched->policy->submit_due || th_is_spare(worker);
    worker->timers = shared ? &sched->workers[0].own_timers : &worker->own_timers;
}

bool th_worker_init(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    unsigned capacity = sched->config.local_capacity;
    th_work **slots = th_sched_alloc(sched, capacity * sizeof *slots);
    th_ring_init(&worker->ring, slots, capacity);
    th_work **ready_slots = th_sched_alloc(sched, TH_READY * sizeof *ready_slots);
    th_ring_init(&worker->ready, ready_slots, TH_READY);
    th_work **yield_slots = th_sched_alloc(sched, TH_YIELDS * sizeof *yield_slots);
    th_ring_init(&worker->yields, yield_slots, TH_YIELDS);
    worker->sharded.yield_marks =
        th_sched_alloc(sched, TH_YIELD_MARKS * sizeof *worker->sharded.yield_marks);
    worker->rounds.seen_ticks =
        th_sched_alloc(sched, sched->workers_count * sizeof *worker->rounds.seen_ticks);
    if (!slots || !ready_slots || !yield_slots || !worker->sharded.yield_marks ||
        !worker->rounds.seen_ticks || !th_fiber_cache_refill(worker)) {
        return false;
    }
    th_fiber *spare = th_fiber_new(sched, sched->stack_class, false);
    if (spare) {
        th_count(&worker->counters.xstacks_created, 1);
        th_fiber_cache_put(worker, spare);
    }
    return spare != NULL;
}

void th_worker_free(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    th_slab_flush(&worker->go);
    th_slab_flush(&worker->spawn);
    th_sched_free(sched, worker->ring.xslots);
    th_sched_free(sched, worker->ready.xslots);
    th_sched_free(sched, worker->yields.xslots);
    th_sched_free(sched, worker->sharded.yield_marks);
    th_sched_free(sched, worker->rounds.seen_ticks);
    /* A spare that could not be made ready is freed at the end once more. */
    worker->ring.xslots = NULL;
    worker->ready.xslots = NULL;
    worker->yields.xslots = NULL;
    worker->sharded.yield_marks = NULL;
    worker->rounds.seen_ticks = NULL;
}

/* Leaves the thread's own stack for the first fiber's; comes back when the worker leaves. */
static TH_NO_TSAN void run_fibers(th_worker *worker) {
    th_fiber *first = th_fiber_cache_take(worker);
    /* relaxed: for inspectors; else our own */
    th_store_relaxed(&worker->current, &worker->home);
    th_switch_to(worker, &worker->home, first);
    th_store_relaxed(&worker->current, &worker->home); /* relaxed: as above */
}

void th_worker_main(void *arg) {
    th_worker *worker = arg;
    thrum_sched *sched = worker->sched;
    th_thread *thread = th_thread_self();
    const thrum_config *config = &sched->config;
    const int probe = sched->stalls.signal;
    if (config->catch_overflow || config->trace || probe > 0) {
        if (th_os_fault_thread_enter(&worker->altstack)) {
            worker->altstack = NULL; /* overflows are not reported by name, stalls without calls */
        } else if (probe > 0) {
            th_os_probe_admit(probe);
        }
    }
    th_store_relaxed(&worker->xtid, th_os_thread_number()); /* relaxed: for looks at it */
    worker->errno_at = th_os_errno_at();
    worker->exceptions = th_os_exceptions_at();
    worker->tsan = th_tsan_here();
    worker->home.tsan = worker->tsan;
    worker->tsan_maker = th_tsan_create();
    if (config->worker_start) {
        config->worker_start(config->hook_ctx, (int)worker->index);
        if (sched->abandoned) {
            th_thread_body_ends(0); /* in the child of a fork */
        }
    }
    th_tsan_release(&worker->tsan); /* how the thread began is known to all tasks: th_leave */
    th_thread_becomes(worker);
    run_fibers(worker);
    th_thread_becomes(NULL);
    if (config->worker_stop) {
        config->worker_stop(config->hook_ctx, (int)worker->index);
    }
    th_tsan_destroy(worker->tsan_maker);
    if (worker->altstack) {
        th_os_fault_thread_leave(worker->altstack);
    }
    th_thread_ends(thread);
}

int th_worker_thread_start(th_worker *worker, void (*main)(void *worker)) {
    thrum_sched *sched = worker->sched;
    char name[24]; /* the system keeps 15 bytes of it */
    th_os_cpuset part;
    snprintf(name, sizeof name, "%.*s/%u", (int)th_text_cut(sched->name, 10), sched->name,
             worker->index);
    if (sched->cpus) {
        th_affinity_of(sched->config.affinity, sched->cpus, worker->index, "", &part);
    }
    return th_os_thread_start_on(&worker->thread, name, main, worker, sched->cpus ? &part : NULL);
}
