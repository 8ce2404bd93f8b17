/*
 * sched.c: starting and stopping a scheduler, in the order for which core/control/STOP.md argues.
 */
#include "thrum/sched.h"

#include <string.h>

#include "base/check.h"
#include "base/text.h"
#include "core/control/atfork.h"
#include "core/control/observed.h"
#include "core/control/quiesce.h"
#include "core/control/settle.h"
#include "core/fiber/overflow.h"
#include "core/fiber/stack.h"
#include "core/watch/cycle_watch.h"
#include "core/watch/deadlock.h"
#include "core/watch/dump_signal.h"
#include "core/record/recorder.h"
#include "core/watch/stalls.h"
#include "core/ready/external.h"
#include "core/policy/policy.h"
#include "core/due/poll.h"
#include "core/due/timer.h"
#include "core/ready/wake.h"
#include "core/basis/affinity.h"
#include "core/basis/config.h"
#include "core/state/handle.h"
#include "core/state/panic.h"
#include "core/state/thread_exit.h"
#include "core/state/worker.h"
#include "core/task/fork_call.h"
#include "core/worker/spares.h"
#include "core/bound/bound.h"
#include "core/worker/loop.h"
#include "core/worker/watched_find.h"
#include "core/worker/worker_thread.h"
#include "core/trace/trace_notes.h"
#include "core/state/poller.h"
#include "platform/platform.h"
#include "thrum/spawn.h"

/*
 * Makes a list of the numbers up to n that have no divisor in common with it: steps that reach
 * every worker.
 */
static bool make_strides(thrum_sched *sched) {
    unsigned n = sched->workers_regular;
    sched->strides = th_sched_alloc(sched, (n + 1) * sizeof *sched->strides);
    for (unsigned i = 1; sched->strides && i <= n; i++) {
        unsigned a = i;
        unsigned b = n;
        while (b) {
            unsigned rest = a % b;
            a = b;
            b = rest;
        }
        if (a == 1) {
            sched->strides[sched->strides_count++] = i;
        }
    }
    return sched->strides != NULL;
}

/* Regular workers are made whole; spares when they are needed. */
static bool make_workers(thrum_sched *sched, unsigned regular, unsigned spares) {
    size_t align = alignof(th_worker);
    unsigned count = regular + spares;
    sched->workers_block = th_sched_alloc(sched, count * sizeof(th_worker) + align);
    if (!sched->workers_block) {
        return false;
    }
    uintptr_t at = ((uintptr_t)sched->workers_block + align - 1) & ~(uintptr_t)(align - 1);
    sched->workers = (th_worker *)at;
    sched->workers_count = count;
    sched->workers_regular = regular;
    /* relaxed: no other thread knows the scheduler yet, as for the next two */
    th_store_relaxed(&sched->xworkers_end, regular);
    th_store_relaxed(&sched->spare_set.xidle_spares, spares);
    th_store_relaxed(&sched->xpark, spares * TH_PARK_PARKED_ONE);
    if (!make_strides(sched)) {
        return false;
    }
    sched->can_order = th_os_barrier_start() == 0;
    for (unsigned i = 0; i < count; i++) {
        th_worker_prepare(&sched->workers[i], sched, i);
        sched->workers[i].find = sched->config.stall_ms ? th_watched_find
                                 : i < regular          ? NULL
                                                        : th_spares_find;
    }
    for (unsigned i = 0; i < regular; i++) {
        if (!th_worker_init(&sched->workers[i])) {
            return false;
        }
    }
    return true;
}

static void sched_free(thrum_sched *sched) {
    thrum_config config = sched->config;
    for (unsigned i = 0; i < sched->workers_count; i++) {
        th_worker_free(&sched->workers[i]);
        th_poller_close(&sched->workers[i].poller);
    }
    th_poller_close(&sched->loose_poller);
    th_alarm_close(&sched->alarm);
    if (sched->go_slab) {
        th_slab_close(sched->go_slab);
    }
    if (sched->spawn_slab) {
        th_slab_close(sched->spawn_slab);
    }
    th_sched_free(sched, sched->fifo.ready.ring.xslots);
    th_sched_free(sched, sched->fifo_ready.ready.ring.xslots);
    th_sched_free(sched, sched->strides);
    th_sched_free(sched, sched->cpus);
    th_sched_free(sched, sched->spare_set.held);
    th_stalls_free(sched);
    th_trace_free(sched);
    th_bound_free(sched);
    th_stacks_destroy(&sched->stacks);
    th_sched_free(sched, sched->workers_block);
    config.free(config.hook_ctx, sched->block);
}

/* Makes the ready queues of the fifo policy; a scheduler with one worker and no spare has none. */
static bool make_ready(thrum_sched *sched) {
    const thrum_config *config = &sched->config;
    if (config->policy != THRUM_FIFO || config->workers + th_config_spares(config) <= 1) {
        return true;
    }
    unsigned capacity = th_fifo_capacity(sched->config.fifo_block);
    th_work **slots = th_sched_alloc(sched, capacity * sizeof *slots);
    th_work **woken = th_sched_alloc(sched, capacity * sizeof *woken);
    th_mcsp_init(&sched->fifo.ready, slots, capacity);
    th_mcsp_init(&sched->fifo_ready.ready, woken, capacity);
    return slots && woken;
}

/* Keeps the CPUs of its threads, if it ties them. */
static bool make_cpus(thrum_sched *sched, const th_os_cpuset *cpus) {
    if (!cpus) {
        return true;
    }
    sched->cpus = th_sched_alloc(sched, sizeof *sched->cpus);
    if (sched->cpus) {
        *sched->cpus = *cpus;
    }
    return sched->cpus != NULL;
}

/* Makes the record of held-up workers, if there are spares. */
static bool make_spares(thrum_sched *sched, const th_os_cpuset *cpus) {
    th_os_cpuset granted;
    if (sched->workers_count == sched->workers_regular) {
        return true;
    }
    if (!cpus && !th_os_cpuset_granted(&granted)) {
        cpus = &granted;
    }
    sched->spare_set.cpus = cpus ? th_affinity_count(cpus) : 1;
    sched->spare_set.waiting_since = INT64_MAX;
    sched->spare_set.held =
        th_sched_alloc(sched, sched->workers_count * sizeof *sched->spare_set.held);
    return sched->spare_set.held != NULL;
}

static thrum_sched *sched_new(const thrum_config *config, const th_os_cpuset *cpus) {
    static const th_policy *const policies[] = {
        [THRUM_SHARDED] = &th_policy_sharded,
        [THRUM_FIFO] = &th_policy_fifo,
        [THRUM_GLOBAL] = &th_policy_global,
    };
    size_t align = alignof(thrum_sched);
    void *block = config->alloc(config->hook_ctx, sizeof(thrum_sched) + align);
    if (!block) {
        return NULL;
    }
    uintptr_t at = ((uintptr_t)block + align - 1) & ~(uintptr_t)(align - 1);
    thrum_sched *sched = (thrum_sched *)at;
    memset(sched, 0, sizeof *sched);
    sched->block = block;
    sched->config = *config;
    sched->config.cpus = NULL;                                         /* belongs to the caller */
    size_t length = th_text_cut(config->name, sizeof sched->name - 1); /* the rest of it is zeros */
    memcpy(sched->name, config->name, length);
    sched->config.name = sched->name;
    sched->counts_held = TH_MISTAKES && th_mistakes_count();
    sched->policy = config->workers ? policies[config->policy] : &th_policy_bound;
    sched->deadlock_told.began = UINT64_MAX; /* no deadlock has been reported yet */
    sched->cycle_watcher.xpatience = TH_FOREVER;
    bool watched = config->on_deadlock != THRUM_DEADLOCK_OFF || config->deadlock;
    sched->watch = watched ? &th_deadlock_watch : NULL;
    th_timers_init(&sched->loose_timers, sched, NULL);
    th_poller_init(&sched->loose_poller, sched, NULL);
    th_alarm_init(&sched->alarm);
    sched->searchers_max = config->searchers_max;
    sched->fiber_main = th_loop;
    sched->fork_call = th_fork_call;
    sched->stack_class = th_stack_class(config->stack_size);
    th_inject_init(&sched->inject);
    th_inject_init(&sched->ready);
    th_stacks_init(&sched->stacks, config->guard, config->alloc, config->free, config->hook_ctx);
    sched->go_slab = th_slab_new(sizeof(th_go), config->alloc, config->free, config->hook_ctx);
    if (sched->go_slab) {
        sched->go_slab->discards = config->alloc == th_alloc_default;
    }
    sched->spawn_slab =
        th_slab_new(sizeof(thrum_handle), config->alloc, config->free, config->hook_ctx);
    if (!sched->go_slab || !sched->spawn_slab || !make_ready(sched) || !make_cpus(sched, cpus) ||
        !make_workers(sched, config->workers, th_config_spares(config)) ||
        !make_spares(sched, cpus) || !th_stalls_make(sched)) {
        sched_free(sched);
        return NULL;
    }
    return sched;
}

/* ---- starting ---- */

/*
 * Starts the workers' threads. They read the number of workers from the first moment, so if there
 * can be fewer threads than asked for, the scheduler is made anew with as many workers.
 */
static int start_threads(thrum_sched *sched, unsigned *started) {
    int failed = 0;
    for (*started = 0; *started < sched->workers_regular && !failed; *started += !failed) {
        failed = th_worker_thread_start(&sched->workers[*started], th_worker_main);
    }
    return failed;
}

static void end_threads(thrum_sched *sched, unsigned started) {
    unsigned spares = th_spares_close(sched);
    /* pairs: th_find; nothing is left to be run */
    th_store_release(&sched->xexit, 1u);
    /* seq: the flag before the sleep words are read; th_park announces, then reads it */
    th_fence_seq();
    th_wake_all(sched);
    for (unsigned i = 0; i < started; i++) {
        th_os_thread_join(sched->workers[i].thread);
    }
    for (unsigned i = 0; i < spares; i++) {
        th_os_thread_join(sched->workers[sched->workers_regular + i].thread);
    }
}

static int start(thrum_sched **out, const thrum_config *config, bool is_run) {
    thrum_config settled;
    int result = out ? th_config_settle(&settled, config) : -EINVAL;
    if (result) {
        return result;
    }
    bool tied = settled.affinity != THRUM_AFFINITY_NONE;
    th_os_cpuset cpus;
    result = tied ? th_affinity_set(&settled, &cpus) : 0;
    if (result) {
        return result;
    }
    if (settled.catch_overflow) {
        th_overflow_catch();
    }
    th_atfork_watch();
    for (;;) {
        thrum_sched *sched = sched_new(&settled, tied ? &cpus : NULL);
        if (!sched) {
            return -ENOMEM;
        }
        sched->is_run = is_run;
        th_external_open(sched); /* from here on a stale handle may name it */
        unsigned started;
        int refused; /* the system's code for the signal, or for the thread for dumps */
        result = start_threads(sched, &started);
        refused = result ? 0 : th_recorder_begin(sched);
        refused = result || refused ? refused : th_dump_signal_begin(sched);
        if (!result && !refused) {
            th_thread_accompanied();
            th_spares_start(sched);
            th_stalls_start(sched);
            th_cycle_watch_start(sched);
            th_observe_begin(sched);
            *out = sched;
            return 0;
        }
        th_recorder_end(sched);
        end_threads(sched, started);
        th_external_close(sched);
        sched_free(sched);
        if (refused) {
            return refused;
        }
        /* Its CPUs were refused, or there can be not even one thread. */
        if (started == 0 || (result != -EAGAIN && result != -ENOMEM)) {
            return result;
        }
        settled.workers = started;
    }
}

int thrum_sched_start(thrum_sched **out, const thrum_config *config) {
    return start(out, config, false);
}

/* ---- stopping ---- */

/*
 * Values of xstopping. Posts of external threads are refused while it is not RUNNING. In CANCELLED
 * a stop's deadline has passed, and another stop may come; in SETTLED a stop has returned 0, and
 * the rest is left to thrum_run, which has started the scheduler.
 */
enum { RUNNING, STOPPING, CANCELLED, SETTLED };

/*
 * Makes the caller the stopper of the scheduler, or returns a code with the reason why not.
 * `*before` is the value before. The caller counts as inside meanwhile, since thrum_run may be at
 * its end.
 */
static int begin_stop(thrum_sched *sched, bool own, uint32_t *before) {
    th_external *record = th_external_enter(sched, false);
    if (!record) {
        return -ESHUTDOWN;
    }
    *before = RUNNING;
    /*
     * pairs: th_external_enter; the writes before the call, for a post that is refused. The fence
     * in th_external_wait_left orders it before the records are read
     */
    bool ours = th_cas_release(&sched->xstopping, before, STOPPING);
    if (!ours && (*before == CANCELLED || (own && *before == SETTLED))) {
        /* pairs: end_stop; the earlier stop's writes */
        ours = th_cas_acquire(&sched->xstopping, before, STOPPING);
    }
    th_external_leave(sched, record);
    return ours ? 0 : -EBUSY;
}

/* The caller no longer stops it; a thrum_run that has started it may go on, and free it. */
static void end_stop(thrum_sched *sched, uint32_t state) {
    /* pairs: begin_stop; the stop's writes */
    th_store_release(&sched->xstopping, state);
    th_os_futex_wake(&sched->xstopping, 1); /* the word may be gone: that is allowed */
}

/* Handles of ended tasks that still have their results. */
typedef struct unjoined {
    unsigned long count;
    thrum_fn first;
} unjoined;

static void see_handle(void *ctx, void *object) {
    unjoined *found = ctx;
    const thrum_handle *handle = object;
    /* relaxed: all tasks have ended; who joins one now is late anyway */
    if (th_load_relaxed(&handle->xjoin) == TH_JOIN_DONE && !found->count++) {
        found->first = handle->fn;
    }
}

/* After the end of all tasks and threads. A program that joins them later is warned in vain. */
static void report_unjoined(thrum_sched *sched) {
    unjoined found = {0, NULL};
    char function[80];
    if ((TH_MISTAKES & 1u << TH_MISTAKE_HANDLES) && th_mistakes_count()) {
        th_slab_each(sched->spawn_slab, see_handle, &found);
    }
    if (found.count) {
        th_os_code_name((uintptr_t)found.first, function, sizeof function, NULL);
        th_mistake_report(TH_MISTAKE_HANDLES, false,
                          "at the stop, %lu handles are neither joined nor detached, the first one "
                          "of a task that ran %s",
                          found.count, function);
    }
}

static int stop(thrum_sched *sched, thrum_time deadline, bool own) {
    if (!sched) {
        return -EINVAL;
    }
    if ((thrum_sched_current() == sched && !th_bound_root()) || th_acts_for(sched) ||
        th_thread_self()->watches == sched) {
        return -EDEADLK;
    }
    uint32_t before;
    int result = begin_stop(sched, own, &before);
    if (result) {
        return result;
    }
    result = th_settle(sched, deadline);
    if (result) {
        bool refused = result == -ETIMEDOUT || before != RUNNING;
        th_bound_refuse(sched, refused);
        /* Other failures restore the state before the call. */
        end_stop(sched, result == -ETIMEDOUT ? CANCELLED : before);
        return result;
    }
    th_bound_close(sched);
    th_quiesce_wait_left(sched);
    if (sched->is_run && !own) {
        end_stop(sched, SETTLED);
        return 0;
    }
    th_dump_signal_end(sched, deadline);
    th_observe_end(sched);
    th_drivers_stop(sched);
    th_stalls_stop(sched, deadline);
    th_cycle_watch_stop(sched, deadline);
    end_threads(sched, sched->workers_regular);
    th_recorder_end(sched);
    /* External threads have no work left here, but may be on their way in or out. */
    th_external_close(sched);
    report_unjoined(sched);
    sched_free(sched);
    return 0;
}

int thrum_sched_stop_until(thrum_sched *sched, thrum_time deadline) {
    return stop(sched, deadline, false);
}

int thrum_sched_stop(thrum_sched *sched) {
    return thrum_sched_stop_until(sched, THRUM_FOREVER);
}

/* ---- thrum_run ---- */

/*
 * Another thread stops the scheduler: it waits until this one unbinds, and this one waits until the
 * other can do no more.
 */
static void wait_for_stopper(thrum_sched *sched) {
    th_worker *root = th_bound_root();
    if (root) {
        th_bound_leave(root);
    }
    /* relaxed: our own stop comes next, and acquires the other one's writes (begin_stop) */
    while (th_load_relaxed(&sched->xstopping) == STOPPING) {
        (void)th_os_futex_wait(&sched->xstopping, STOPPING, TH_FOREVER);
    }
}

/* Stops the scheduler. Only this thread frees it, so it exists until this returns. */
static void stop_run(thrum_sched *sched) {
    unsigned spins = 0;
    int result;
    while ((result = stop(sched, THRUM_FOREVER, true)) != 0) {
        if (result == -EBUSY) {
            wait_for_stopper(sched);
        } else {
            th_backoff(&spins); /* no workers, and no stack for the rest: perhaps soon */
        }
    }
}

int thrum_run(const thrum_config *config, thrum_fn entry, void *arg) {
    if (!entry) {
        return -EINVAL;
    }
    if (thrum_sched_current()) {
        return -EDEADLK;
    }
    thrum_sched *sched;
    int result = start(&sched, config, true);
    if (result) {
        return result;
    }
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    attr.name = "main";
    thrum_handle *handle;
    int entered = sched->workers_count ? 0 : thrum_sched_bind(sched);
    entered = entered ? entered : thrum_spawn_with(&handle, &attr, entry, arg);
    if (!entered) {
        /* On a bound thread, the stop of another thread would cancel the join. */
        thrum_shield_begin();
        /* External threads may post until the entry has returned. */
        result = thrum_join(handle, &entered);
        th_check(result == 0);
        thrum_shield_end();
    }
    stop_run(sched);
    return entered;
}

/* ---- properties ---- */

unsigned thrum_sched_workers(const thrum_sched *sched) {
    return sched->workers_count;
}

void *thrum_sched_data(const thrum_sched *sched) {
    return sched ? sched->config.data : NULL;
}

unsigned thrum_sched_parallelism(const thrum_sched *sched) {
    return sched->workers_regular;
}
