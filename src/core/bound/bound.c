/*
 * bound.c: see bound.h. bound_sleep.c has the loop of bound threads while they wait.
 */
#include "core/bound/bound.h"

#include "base/check.h"
#include "core/fiber/fiber.h"
#include "core/fiber/fiber_cache.h"
#include "core/ready/external.h"
#include "core/due/fork_slots.h"
#include "core/due/poll.h"
#include "core/due/timer.h"
#include "core/ready/wake.h"
#include "core/state/panic.h"
#include "core/state/self_id.h"
#include "core/wait/switch.h"
#include "core/trace/trace_notes.h"
#include "core/state/poller.h"
#include "platform/platform.h"

/* ---- records of bound threads ---- */

/*
 * With the lock: keeps the record for the next thread that binds itself, or, with work left in it,
 * for the next stop.
 */
static void put_spare(thrum_sched *sched, th_worker *worker) {
    if (worker->tie.unfinished) {
        sched->bound_unfinished = worker;
        return;
    }
    worker->bound_next = sched->bound_spares;
    sched->bound_spares = worker;
}

/*
 * With the lock: gives the worker a number and a place in the table. 0, -ENOMEM, -EAGAIN (too many
 * bound threads).
 */
static int table_put(thrum_sched *sched, th_worker *worker) {
    for (unsigned c = 0; c < TH_BOUND_CHUNKS; c++) {
        th_worker **chunk = sched->xbound_chunks[c]; /* written with the lock held */
        if (!chunk) {
            chunk = th_sched_alloc(sched, TH_BOUND_CHUNK * sizeof *chunk);
            if (!chunk) {
                return -ENOMEM;
            }
            for (unsigned i = 0; i < TH_BOUND_CHUNK; i++) {
                chunk[i] = NULL;
            }
            /* relaxed: as in th_worker_at */
            th_store_relaxed(&sched->xbound_chunks[c], chunk);
        }
        for (unsigned i = 0; i < TH_BOUND_CHUNK; i++) {
            if (!chunk[i]) { /* written with the lock held */
                worker->index = sched->workers_count + c * TH_BOUND_CHUNK + i;
                worker->home.work.worker = (int32_t)worker->index;
                if (sched->bound_end <= worker->index) {
                    sched->bound_end = worker->index + 1;
                }
                th_store_relaxed(&chunk[i], worker); /* relaxed: as in th_worker_at */
                return 0;
            }
        }
    }
    return -EAGAIN; /* GCOVR_EXCL_LINE: more than 65,536 threads at once */
}

/*
 * Makes the worker one of the bound ones. A record that was bound before still has its number:
 * records and numbers stay until the end, since a thread that wakes one may be late.
 */
static int link_in(thrum_sched *sched, th_worker *worker, bool anyway) {
    TH_LOCKED(&sched->bound_lock);
    int code = sched->unbound_only && !anyway ? -ESHUTDOWN : 0;
    if (!code && worker->home.work.worker < 0) {
        code = table_put(sched, worker);
    }
    if (!code) {
        worker->bound_next = sched->bound;
        th_trace_joins(sched, worker);
        worker->tie.linked = true;
        worker->gone = false;
        sched->bound_binds++;
        sched->bound = worker;
        /* relaxed: written with the lock held; a thread that sleeps on it looks again */
        th_store_relaxed(&sched->xbound, sched->xbound + 1);
    }
    return code;
}

/* With the lock: notifies a stop that may be waiting for this thread to leave. */
static void tell_stopper(thrum_sched *sched) {
    th_os_futex_wake(&sched->xbound, 1);
    if (sched->stopper && sched->xbound <= 1) {
        th_store_relaxed(&sched->xalone, 1u); /* relaxed: the thread awaiting it takes the lock */
        (void)th_wake_worker(sched->stopper);
    }
}

static void link_out(thrum_sched *sched, th_worker *worker) {
    th_lock_acquire(&th_external_lock); /* no thread sums the counters meanwhile */
    th_lock_acquire(&sched->externals.shared_lock);
    th_activity_add(&sched->externals.retired.activity, &worker->activity);
    th_counters_add(&sched->externals.counters, &worker->counters);
    th_lock_release(&sched->externals.shared_lock);
    th_lock_acquire(&sched->bound_lock);
    worker->activity = (th_activity){0};
    worker->counters = (th_counters){0};
    (void)TH_UNLINK(&sched->bound, worker, bound_next);
    worker->tie.linked = false;
    put_spare(sched, worker);
    th_store_relaxed(&sched->xbound, sched->xbound - 1); /* relaxed: as in link_in */
    tell_stopper(sched);
    th_lock_release(&th_external_lock);
    th_lock_release(&sched->bound_lock); /* our last access to the scheduler: th_bound_close */
}

/* ---- binding ---- */

th_worker *th_bound_root(void) {
    th_worker *worker = th_here();
    return worker && worker->bound && worker->current == &worker->home ? worker : NULL;
}

/* Takes a record that no thread uses any longer, or returns NULL. */
static th_worker *take_spare(thrum_sched *sched) {
    TH_LOCKED(&sched->bound_lock);
    th_worker *worker = sched->bound_spares;
    if (worker) {
        sched->bound_spares = worker->bound_next;
    }
    return worker;
}

/* For a stop alone: takes the record with work left by an earlier stop, or returns NULL. */
static th_worker *take_unfinished(thrum_sched *sched) {
    TH_LOCKED(&sched->bound_lock);
    th_worker *worker = sched->bound_unfinished;
    sched->bound_unfinished = NULL;
    return worker;
}

bool th_bound_has_unfinished(thrum_sched *sched) {
    TH_LOCKED(&sched->bound_lock);
    return sched->bound_unfinished != NULL;
}

static th_worker *make(thrum_sched *sched) {
    size_t align = alignof(th_worker);
    void *block = th_sched_alloc(sched, sizeof(th_worker) + align);
    if (!block) {
        return NULL;
    }
    uintptr_t at = ((uintptr_t)block + align - 1) & ~(uintptr_t)(align - 1);
    th_worker *worker = (th_worker *)at;
    *worker = (th_worker){
        .sched = sched, .policy = &th_policy_bound, .find = th_bound_find, .bound = true};
    worker->block = block;
    worker->fresh = (th_work){.kind = TH_WORK_GO, .worker = -1};
    worker->xextra = sched->config.pin_all ? TH_EXTRA_PIN_ALL : 0;
    worker->go.slab = sched->go_slab;
    worker->go.owner = worker;
    worker->spawn.slab = sched->spawn_slab;
    worker->picks.until_inject = sched->config.global_interval;
    th_random_seed(&worker->random, (uint64_t)at);
    /* relaxed: no other thread knows the worker yet */
    th_store_relaxed(&worker->fence.xrevoked, TH_AFENCE_SHUT);
    th_inject_init(&worker->inbox);
    th_timers_init(&worker->own_timers, sched, worker);
    th_poller_init(&worker->poller, sched, worker);
    worker->timers = &worker->own_timers;
    worker->home = (th_fiber){.work = {.kind = TH_WORK_FIBER, .worker = -1},
                              .sched = sched,
                              .worker = worker,
                              .body = TH_BODY_OTHER,
                              .root = true};
    worker->home.stack.record = worker->tie.home_record;
    return worker;
}

/*
 * Prepares a fresh spare fiber, which a root needs to wait. The address sanitizer reports the
 * bounds of the thread's own stack when the root first leaves it (switch.c).
 */
static bool prepare(th_worker *worker) {
    worker->home.run_id = th_self_id();
    worker->home.stack.bottom = NULL;
    th_os_stack(&worker->tie.own_low, &worker->tie.own_high);
    worker->home.inherited = (th_inherited){.deadline = TH_FOREVER};
    th_fiber *spare = th_fiber_new(worker->sched, worker->sched->stack_class, false);
    if (spare) {
        th_count(&worker->counters.xstacks_created, 1);
        th_fiber_cache_put(worker, spare);
    }
    return spare != NULL;
}

/* Gives back the record's stores (idle fibers, task objects) while no other thread has it. */
static void give_back(th_worker *worker) {
    while (worker->idle) {
        th_fiber_cache_give(worker);
    }
    th_slab_flush(&worker->go);
    th_slab_flush(&worker->spawn);
}

/*
 * Sets the state of the thread and of the sanitizers. Hidden from the sanitizers, since contexts
 * begin and end here.
 */
static TH_NO_TSAN void thread_enters(th_worker *worker) {
    const thrum_config *config = &worker->sched->config;
    if ((config->catch_overflow || config->trace) && th_os_fault_thread_enter(&worker->altstack)) {
        worker->altstack = NULL; /* an overflow is then not reported by name */
    }
    worker->errno_at = th_os_errno_at();
    worker->exceptions = th_os_exceptions_at();
    worker->home.tsan = th_tsan_here();
    worker->tsan = th_tsan_create();
    worker->tsan_maker = th_tsan_create();
    th_tsan_release(&worker->tsan);
    /* relaxed: for inspectors; else our own */
    th_store_relaxed(&worker->current, &worker->home);
    th_thread_becomes(worker);
    if (th_is_traced(worker)) {
        th_trace_enters(worker);
    }
}

static TH_NO_TSAN void thread_leaves(th_worker *worker) {
    if (th_is_traced(worker)) {
        th_trace_finishes(worker, &worker->home);
    }
    th_tsan_to_worker(worker->tsan);
    th_tsan_release(worker);
    th_tsan_to_task(worker->home.tsan);
    th_tsan_acquire(worker); /* its scheduler's writes are now visible to the thread */
    th_thread_becomes(NULL);
    th_tsan_destroy(worker->tsan);
    th_tsan_destroy(worker->tsan_maker);
    if (worker->altstack) {
        th_os_fault_thread_leave(worker->altstack);
    }
}

/*
 * Binds an external thread, with the record given, or another; `anyway`: even though the scheduler
 * is stopping.
 */
static int bind(thrum_sched *sched, th_worker *worker, bool anyway) {
    worker = worker ? worker : take_spare(sched);
    worker = worker ? worker : make(sched);
    if (!worker) {
        return -ENOMEM;
    }
    int code = prepare(worker) ? link_in(sched, worker, anyway) : -ENOMEM;
    if (code) {
        give_back(worker);
        TH_LOCKED(&sched->bound_lock);
        put_spare(sched, worker);
        return code;
    }
    worker->tie.unfinished = false;
    thread_enters(worker);
    return 0;
}

int th_bound_enter(thrum_sched *sched) {
    return bind(sched, take_unfinished(sched), true);
}

int thrum_sched_bind(thrum_sched *sched) {
    if (!sched) {
        return -EINVAL;
    }
    if (th_here()) {
        return th_bound_root() ? -EBUSY : -EDEADLK;
    }
    th_external *record = th_external_enter(sched, true); /* so it is not freed meanwhile */
    if (!record) {
        return -ESHUTDOWN;
    }
    /* A stop waits for the task that the thread acts for; work left by a stop is not for it. */
    int code = bind(sched, NULL, th_acts_for(sched));
    th_external_leave(sched, record);
    return code;
}

static TH_NO_TSAN void wait_for_flag(th_worker *worker, uint32_t *xflag, int64_t deadline) {
    int saved = *worker->errno_at;
    worker->tie.awaits = xflag;
    worker->tie.awaits_until = deadline;
    th_enter(worker);
    th_suspend(&worker->home, TH_COMMIT_ROOT, NULL);
    th_leave(worker);
    worker->tie.awaits = NULL;
    *worker->errno_at = saved;
}

int th_bound_await(th_worker *worker, uint32_t *xflag, int64_t deadline) {
    if (th_forks_any(&worker->forks)) {
        th_forks_give_all(worker); /* fibers that run meanwhile have their own */
    }
    wait_for_flag(worker, xflag, deadline);
    /* relaxed: as in may_go_on */
    return th_load_relaxed(xflag) ? 0 : -ETIMEDOUT;
}

/* Not shown to the thread sanitizer: the loop reads this in the context of its worker. */
static TH_NO_TSAN int step(th_worker *worker, int64_t deadline) {
    th_bound_catch_up(worker);
    th_store_relaxed(&worker->tie.xquiesced, 0u); /* relaxed: no other thread writes it now */
    worker->tie.stepping = true;
    int code = th_bound_await(worker, &worker->tie.xquiesced, deadline);
    worker->tie.stepping = false;
    th_enter(worker);
    const bool left = worker->policy->pending(worker);
    th_leave(worker);
    if (!code || !left) {
        return 0; /* nothing was left at the deadline, either */
    }
    th_deadline_passed(deadline);
    return code;
}

int thrum_sched_step(thrum_time deadline) {
    th_worker *worker = th_bound_root();
    if (!worker) {
        return th_here() ? -EDEADLK : th_thread_refusal();
    }
    return step(worker, deadline);
}

/* Runs until nothing is tied to the thread any longer. */
static TH_NO_TSAN void run_rest(th_worker *worker) {
    int saved = *worker->errno_at;
    worker->tie.leaving = true;
    th_enter(worker);
    while (worker->tie.held || worker->policy->pending(worker)) {
        th_suspend(&worker->home, TH_COMMIT_ROOT, NULL);
    }
    th_leave(worker);
    worker->tie.leaving = false;
    *worker->errno_at = saved;
}

int thrum_sched_unbind(void) {
    th_worker *worker = th_bound_root();
    if (!worker) {
        return th_here() ? -EDEADLK : th_thread_refusal();
    }
    th_bound_leave(worker);
    return 0;
}

/* Wakes are for threads that stay. */
static TH_NO_TSAN void come_back(th_worker *worker) {
    th_enter(worker);
    th_bound_come_back(worker);
    th_leave(worker);
}

/* Ends the binding. The thread touches the scheduler for the last time here. */
static void leave(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    come_back(worker);
    thread_leaves(worker);
    give_back(worker);
    if (th_unlikely(sched->watch)) {
        sched->watch->leaves(worker);
    }
    link_out(sched, worker);
}

void th_bound_leave(th_worker *worker) {
    if (th_load_relaxed(&worker->home.xscopes)) { /* relaxed: the root's own */
        th_misuse("thrum_sched_unbind", "a scope that the thread has opened is not joined", worker);
    }
    if (th_forks_any(&worker->forks)) {
        th_forks_end(worker);
    }
    run_rest(worker);
    leave(worker);
}

void th_bound_leave_unfinished(th_worker *worker) {
    worker->tie.unfinished = true;
    leave(worker);
}

/* ---- stopping ---- */

void th_bound_refuse(thrum_sched *sched, bool refuse) {
    TH_LOCKED(&sched->bound_lock);
    sched->unbound_only = refuse;
}

/*
 * Waits on a thread that is bound itself: work tied to it runs, since others may wait for that
 * work.
 */
static int wait_left_in_root(th_worker *root, int64_t deadline) {
    thrum_sched *sched = root->sched;
    th_lock_acquire(&sched->bound_lock);
    bool alone = sched->xbound == 1;
    th_store_relaxed(&sched->xalone, alone); /* relaxed: with the lock held */
    sched->stopper = root;
    th_lock_release(&sched->bound_lock);
    int result = alone ? 0 : th_bound_await(root, &sched->xalone, deadline);
    TH_LOCKED(&sched->bound_lock);
    sched->stopper = NULL;
    return result;
}

int th_bound_wait_left(thrum_sched *sched, int64_t deadline) {
    th_worker *root = th_bound_root();
    th_bound_refuse(sched, true);
    if (root) {
        return wait_left_in_root(root, deadline);
    }
    for (;;) {
        uint32_t bound = th_load_relaxed(&sched->xbound); /* relaxed: th_bound_close acquires */
        if (!bound) {
            return 0;
        }
        if (th_os_futex_wait(&sched->xbound, bound, deadline) == -ETIMEDOUT &&
            th_load_relaxed(&sched->xbound)) { /* relaxed: as above */
            return -ETIMEDOUT;
        }
    }
}

void th_bound_close(thrum_sched *sched) {
    TH_LOCKED(&sched->bound_lock);
}

void th_bound_free(thrum_sched *sched) {
    for (th_worker *worker = sched->bound_spares; worker;) {
        th_worker *next = worker->bound_next;
        th_poller_close(&worker->poller);
        th_sched_free(sched, worker->block);
        worker = next;
    }
    for (unsigned i = 0; i < TH_BOUND_CHUNKS; i++) {
        th_sched_free(sched, sched->xbound_chunks[i]);
    }
}
