/*
 * worker.h: a thread that runs tasks for a scheduler, and the scheduler itself.
 *
 * Fields are grouped by the threads that write them; each group has its own cache lines.
 */
#ifndef TH_WORKER_H
#define TH_WORKER_H

#include <stdalign.h>

#include "base/annotate.h"
#include "base/random.h"
#include "core/basis/activity.h"
#include "core/basis/spare_state.h"
#include "core/basis/counters.h"
#include "core/basis/cycle_state.h"
#include "core/state/driver.h"
#include "core/state/external_state.h"
#include "core/state/fiber_state.h"
#include "core/basis/fifo.h"
#include "core/state/fork_state.h"
#include "core/basis/lock.h"
#include "core/basis/parkword.h"
#include "core/basis/policy_state.h"
#include "core/basis/poll_state.h"
#include "core/state/reclaim_want.h"
#include "core/state/slab.h"
#include "core/basis/stall_state.h"
#include "core/state/thread.h"
#include "core/state/tick_state.h"
#include "core/basis/timer_state.h"
#include "core/basis/trace_state.h"
#include "queue/batch.h"
#include "queue/inject.h"
#include "queue/ring.h"

/* Fibers that yielded and wait at their worker; more go to the inject queue. */
#define TH_READY TH_LIMIT(1024, 4)
#define TH_YIELDS TH_LIMIT(1024, 4)
#define TH_YIELD_MARKS (2 * TH_YIELDS) /* more than TH_YIELDS, since batched fibers keep theirs */
/* Threads that can be bound at a time: the product of the two. */
#define TH_BOUND_CHUNK 1024u
#define TH_BOUND_CHUNKS 64u
/* Idle fibers that a worker keeps for itself; it may have up to twice as many. */
#define TH_FIBER_CACHE_KEPT TH_LIMIT(64, 2)
/* Idle fibers that the scheduler keeps for all workers when it has nothing to do. */
#define TH_FIBER_CACHE_STORED TH_LIMIT(1024, 2)

/* Work left to do for the fiber whose stack a worker leaves. */
typedef struct th_left {
    th_commit_kind kind;
    th_fiber *fiber;
    void *arg;
} th_left;

/* The speed at which work gets done, as a thief measures it. */
typedef struct th_speed {
    uint64_t runs;
    uint64_t ticks;
} th_speed;

/* A thief's measurements of whether its stealing helps (docs/tuning.md). */
typedef struct th_steal_backoff {
    th_worker *victim;    /* the victim of the last theft, or NULL where that is not known */
    uint64_t at;          /* the time of the theft in ticks; 0: nothing is being measured */
    uint64_t runs;        /* runs that the thief had begun then */
    uint64_t victim_runs; /* runs that the victim had begun then */
    th_speed together;    /* the speed while both ran */
    th_speed apart;       /* the speed while the thief backed off */
    int64_t ns;           /* the length of the coming back-off; 0: none */
    int64_t last_ns;      /* the length of the last one */
    unsigned looks;       /* a count that spaces out the measurements (steal_backoff.c) */
} th_steal_backoff;

/*
 * In `xcancelling`: the flag that all waits are cancelled, for ever; from bit 1 on the number of
 * threads that look through the waits (cancel.h).
 */
#define TH_CANCEL_ALL 1u
#define TH_CANCEL_SNAPSHOT_ONE 2u

typedef struct th_policy th_policy;

/* Spaces out looks at something that costs more than a look at a number. */
typedef struct th_look {
    unsigned skip;  /* calls until the next look */
    unsigned skips; /* the last start value of `skip` (reclaim) */
    int64_t at;     /* the time of the last look (reclaim) */
    uint64_t ticks; /* the same in ticks (timers) */
} th_look;

/* A worker's record of its rounds as the sentinel. */
typedef struct th_rounds {
    int64_t sleep_ns;     /* the present interval between two looks */
    int64_t quiet_since;  /* the time since which nothing has happened */
    uint64_t ticks;       /* the sum of all picks at its last look */
    uint64_t *seen_ticks; /* each worker's xtick at its last look; thieves and pollers look, too */
    bool second_look;     /* it looks again soon */
    bool long_sleep;      /* all were parked: it comes round at xlong_sleep, or when it is woken */
} th_rounds;

/* How a bound thread is tied to its record. */
typedef struct th_tie {
    alignas(8) char home_record[TH_STACK_RECORD]; /* the record of the thread's stack */
    uintptr_t own_low; /* the bounds of that stack at the binding, or 0 and 0 */
    uintptr_t own_high;
    uint64_t held;        /* bodies that are pinned to it and have not ended */
    uint32_t *awaits;     /* the word that the thread waits for, or NULL */
    int64_t awaits_until; /* the deadline of that wait */
    uint32_t xquiesced; /* the word of its wait for quiescence, or in a step; on no task's stack */
    bool leaving;       /* the thread unbinds as soon as `held` is 0 */
    /* the root waits for all that can run now, and never sleeps (embedded.c) */
    bool passing;
    bool owes_loose; /* the root was picked where loose work is due: that is next */
    bool stepping;   /* the root waits until nothing is left to run, and never sleeps */
    int64_t next;    /* passing: the time until which it need not come again */
    bool announced;  /* it has passed, and counts as asleep until it waits or comes again */
    bool linked;     /* it is bound; false: a spare record */
    bool unfinished; /* a stop whose deadline has passed has left something in it */
} th_tie;

#define TH_STEAL_MAX 128 /* work taken from another worker at a time */

struct th_worker {
    /* Constant once it runs. */
    thrum_sched *sched;
    const th_policy *policy;             /* the scheduler's, or that of bound threads */
    th_work *(*find)(th_worker *worker); /* its loop gets work from this; NULL: th_find */
    unsigned index;
    bool bound;       /* it is a thread of the user's (bound.h) */
    uint32_t xextra;  /* TH_EXTRA_*: extra duties of each run (trace_notes.h); not constant */
    void *block;      /* the allocation in which a bound thread's record is aligned */
    int *errno_at;    /* the thread's errno: saved and restored around a wait */
    void *tsan_maker; /* the context in which fibers are made */
    void *tsan;       /* the context in which the scheduler runs on this thread */
    th_os_thread thread;
    void *altstack;
    th_os_exceptions *exceptions; /* the thread's C++ exception state, or NULL (th_suspend) */

    /* Used by the owner alone. */
    th_fiber *current; /* the fiber that is on it; snapshots read it, too (snapshot.c) */
    th_work *handoff;  /* work for the loop that is switched to */
    th_left left;
    th_commit_kind then; /* the kind that `left` had before it was TH_COMMIT_RECLAIM */
    th_fiber *idle;      /* spare loops, most recently used first */
    unsigned idle_count;
    unsigned lone_yields; /* yields that found no other work */
    bool searching;       /* it is counted among the searchers */
    bool sentinel;        /* it has the sentinel's role */
    bool backing_off;     /* it sleeps for a moment, backing off from stealing */
    bool backoff_bit;     /* it has set the back-off bit of the park word */
    bool woken;           /* it was woken from sleep and has not found anything yet */
    bool took_deferred;   /* the task in hand waited for a stack */
    bool turn_lost;       /* the inject queue has work, but another worker has the turn */
    bool polls;           /* its set of descriptors is open (poller) */
    bool unseen;          /* no thread knows when the present submission took place: it may wait */
    th_trace_series series; /* while it is traced */
    th_picks picks;
    th_priority_picks priority_picks;
    th_work fresh; /* the head of a task that thrum_go starts: it inherits a priority */
    th_sharded_worker sharded;
    th_steal_backoff backoff;
    th_look timer_look;   /* at its timers: a call is a pick */
    th_look reclaim_look; /* whether memory is to be given back: a call is one of th_reclaim_poll */
    th_timers *timers;    /* constant: the timers of its deadlines: its own, or worker 0's */
    int64_t defer_until;  /* the time before which it is no use to ask for a stack */
    uint64_t
        bodies_gone; /* bodies begun, + 1, when it found none left; 0: some were (deferred.c) */
    th_random random;
    th_chain pinned;                /* from the inbox: ready fibers, then the rest, oldest first */
    th_work *pinned_ready;          /* the last of the ready ones, or NULL */
    th_chain posting;               /* being posted: not on the task's stack (base/annotate.h) */
    th_chain collected;             /* work from the inbox: likewise */
    th_chain due;                   /* work from timers: likewise */
    th_chain pinned_yields;         /* pinned fibers that yielded: behind everything else */
    th_slab_cache go;               /* task objects of thrum_go */
    th_slab_cache spawn;            /* task objects with a handle or attributes */
    uint64_t stack_high_water_seen; /* see xstack_high_water */
    th_fiber home;  /* the thread's own stack, to which the thread returns from the loop's fibers */
    int64_t xuntil; /* asleep: the time at which it wakes up at the latest; others read it */
    th_tie tie;
    th_stint stint;               /* a spare's */
    uint64_t xsleeps;             /* watched: odd while it sleeps without a deadline (deadlock.h) */
    bool gone;                    /* watched: it leaves, and will do nothing more */
    struct th_worker *bound_next; /* under the scheduler's bound_lock, like the next */

    /* Written by the owner, read by others. */
    alignas(TH_CACHE_LINE) th_afence fence; /* of the slot and of the batches */
    uint32_t xready; /* a hint: 1 if it should look for ready fibers; any thread sets it */
    th_work *xslot;  /* the LIFO slot: the owner fills it; it and rescuers empty it */
    uint64_t xtick;  /* picks so far: shows the sentinel that it comes round */
    th_activity activity;
    uint64_t xstack_high_water;
    th_counters counters;

    th_ring ring;          /* the local queue */
    th_ring ready;         /* fibers that were woken: before what has not begun */
    th_ring yields;        /* fibers that yielded: behind everything else */
    th_batch batch;        /* the batch about to run, from the ring or fifo's ready queue */
    th_batch yields_batch; /* the batch from `yields` */
    th_fifo_worker fifo;

    th_inject inbox;           /* pinned work; only the owner consumes */
    uint32_t xtied_priorities; /* th_priority bits of `tied`; written under the scheduler's lock */
    th_priority_queue tied[2]; /* pinned work of high and of low priority; under that lock */

    th_timers own_timers;

    th_forks forks;

    th_trace_buffer *xtrace_buffer; /* its notes while traced (trace_notes.h); NULL: it never was */

    /* Sleeping (core/worker/PARKING.md). */
    alignas(TH_CACHE_LINE) uint32_t xsleep; /* TH_SLEEP_*: the futex */
    uint64_t xtid;                          /* the system's number of its thread, or 0 */
    uint32_t xidle_next; /* index + 1 of the one below it in the idle stack; set by the push */
    uint64_t xalone_at;  /* the time, in ticks, from which a thief leaves it alone; the thief's */
    int64_t xalone_ns;   /* the length of that time; the thief's */
    th_rounds rounds;
    uint64_t xlone_tick; /* xtick when it last woke a worker for a single task; the owner's */
    int64_t
        xlong_sleep;  /* as the sentinel that sleeps long: when it looks at the deadlines of all */
    bool look_unsure; /* a rescue's answer: no local, see base/annotate.h */
    th_work *stolen[TH_STEAL_MAX]; /* the work that a theft has in hand: no local either */

    th_poller poller; /* the descriptors that its fibers wait for */

    th_tick_marks tick_marks; /* the times at which it had picked how often; looked at by others */
};

struct th_policy {
    /* Submits work from a worker, in its context. The hint is a thrum_hint. */
    void (*submit)(th_worker *worker, th_work *work, unsigned hint);
    void (*submit_chain)(th_worker *worker, th_chain *chain);
    /* Submits work from any other thread, or for another scheduler. */
    void (*submit_external)(thrum_sched *sched, const th_chain *chain);
    /* The next work without looking at other workers, or NULL. */
    th_work *(*pick)(th_worker *worker);
    /* The next work from other workers, or NULL. */
    th_work *(*steal)(th_worker *worker);
    /* One piece of work for a bound thread that helps, or NULL. No function: it cannot help. */
    th_work *(*help)(th_worker *worker);
    /* Whether there is work that no other worker is certain to take. */
    bool (*pending)(th_worker *worker);
    /* A guess whether a worker has queued work that a rescuer could take. No function: never. */
    bool (*holds)(const th_worker *victim);
    /*
     * Submits tasks and fibers whose deadline has passed, none of them pinned, in order; with the
     * lock of the timers. There is one set of timers for all workers then, so that the chains come
     * in order as well. No function: they are submitted like other work.
     */
    void (*submit_due)(thrum_sched *sched, th_chain *chain);
    /* Follows submit_due, without the lock: wakes as many workers as are needed. */
    void (*notify_due)(th_worker *worker, uint64_t count);
    /* The sentinel's look: work whose owner has not come round since the last look, or NULL. */
    th_work *(*rescue)(th_worker *worker, bool *unsure);
    /*
     * For a spare that becomes idle again: moves work that only thieves would find to where all
     * search. False: not now. No function: workers have no work of their own.
     */
    bool (*hand_over)(th_worker *worker);
    /* A fiber whose descriptor is ready need not queue behind submissions by others. */
    bool runs_events_first;
};

/* Notified of sleepers, to detect that all wait for each other (deadlock.h). */
typedef struct th_watch {
    /* A worker has announced that it parks, behind a fence, and all others have as well. */
    void (*parked)(thrum_sched *sched);
    /* A bound thread without work is about to sleep until it is woken; it has woken up. */
    void (*sleeps)(th_worker *worker);
    void (*wakes)(th_worker *worker);
    /* A bound thread is about to leave: it counts as gone. */
    void (*leaves)(th_worker *worker);
} th_watch;

struct thrum_sched {
    /* Constant once it runs. */
    thrum_config config;
    char name[32];
    const th_policy *policy;
    th_worker *workers;
    void *workers_block;      /* the allocation in which `workers` is aligned */
    void *block;              /* the allocation in which this struct is aligned */
    unsigned workers_count;   /* with the spares: the numbers that a worker can have */
    unsigned workers_regular; /* workers that always take part: the lowest numbers */
    unsigned searchers_max;   /* 0: half of the busy workers */
    unsigned stack_class;
    void (*fiber_main)(void *fiber);  /* the function of its fibers: a worker's loop (loop.h) */
    void (*fork_call)(th_call *call); /* the function of a given fork's call (fork_call.h) */
    bool can_order;                   /* th_os_barrier works here */
    bool counts_held;                 /* its tasks count the mutexes that they hold (self_id.h) */
    unsigned *strides;                /* numbers coprime to the number of workers */
    th_os_cpuset *cpus;               /* its threads' CPUs (affinity.h); NULL: the starter's */
    unsigned strides_count;

    /* Written a few times in its life. */
    uint32_t xcancelling;  /* TH_CANCEL_ALL, TH_CANCEL_SNAPSHOT_ONE; written under th_cancel_lock */
    bool xtimed;           /* timers have been used */
    unsigned xworkers_end; /* one more than the largest number of a worker that has taken part */

    /* Work of high or low priority that is queued: TH_PRIORITIES_*. Each pick reads it. */
    alignas(TH_CACHE_LINE) uint32_t xpriorities;

    alignas(TH_CACHE_LINE) uint64_t xpark; /* parkword.h */
    alignas(TH_CACHE_LINE) uint32_t xexit; /* 1: workers leave when they find nothing */
    uint32_t xstopping;                    /* 1: posts of external threads are refused */
    bool is_run;    /* started by thrum_run, which frees it; constant once other threads know it */
    bool abandoned; /* in the child of a fork: its workers are the parent's (atfork.c) */
    uint32_t xdeferred;        /* tasks in `deferred` */
    uint32_t xquiesce_waiters; /* callers of wait_idle and wait_done */

    th_inject inject;     /* sharded policy */
    th_inject ready;      /* likewise: ready fibers that no worker has in its own queue */
    unsigned xready_turn; /* the number of the worker that is notified of the next one */
    th_inject_marks inject_marks;

    th_fifo fifo;       /* fifo policy */
    th_fifo fifo_ready; /* likewise: woken fibers */

    alignas(TH_CACHE_LINE) th_lock global_lock; /* global policy: its one mutex */
    th_chain global;
    th_chain global_ready; /* woken fibers */
    uint64_t xglobal_count;

    alignas(TH_CACHE_LINE) th_priorities priorities;

    alignas(TH_CACHE_LINE) th_externals externals;

    th_spare_set spare_set;

    th_lock fibers_lock; /* protects the next six; fields that begin with x are read without it */
    th_fiber *fibers;    /* idle fibers that no worker keeps */
    unsigned fibers_count;
    unsigned fibers_least;     /* the lowest count in the present period (reclaim.h) */
    th_fiber *fibers_measured; /* more of them, which th_fiber_cache_trim_some has trimmed */
    bool fibers_deep;          /* a stack that went deep was found among some of them */
    bool xfibers_unmeasured;   /* a stack may have gone deep, or there are more than are kept */
    th_stacks stacks;
    th_reclaim reclaim;

    th_lock deferred_lock;   /* protects `deferred` */
    th_chain deferred;       /* tasks that wait for a stack */
    int64_t deferred_since;  /* the time since which no stack can be had; 0: stacks can be had */
    bool deferred_all_woken; /* since `deferred` was empty, for workers that need a spare fiber */

    th_lock bound_lock;   /* protects the following; fields that begin with x are read without it */
    uint32_t xbound;      /* the number of bound threads; stop sleeps on it */
    unsigned bound_end;   /* one more than the largest number that a bound thread has had */
    uint64_t bound_binds; /* the number of bindings so far */
    bool unbound_only;    /* it is stopping: no thread is bound any longer */
    th_worker *stopper;   /* the bound worker whose thread stops it and waits for the others */
    uint32_t xalone;      /* 1: the others have unbound */
    uint64_t xbound_high_water;  /* the xstack_high_water of all bound threads; without the lock */
    th_worker *bound;            /* all bound threads */
    th_worker *bound_spares;     /* records of threads that have unbound */
    th_worker *bound_unfinished; /* the record in which a stop has left something, or NULL */
    th_worker **xbound_chunks[TH_BOUND_CHUNKS]; /* records by number; chunks stay to the end */
    th_timers loose_timers; /* tasks that wait for a deadline; used without workers */
    th_poller loose_poller; /* descriptors likewise */
    th_alarm alarm;         /* for workers that sleep in their sets */

    th_lock quiesce_lock; /* protects the list of waiters for quiescence */
    struct th_quiesce_waiter *quiesce_waiters;

    th_trace trace;

    th_stalls stalls;

    const th_watch *watch; /* constant: the deadlock detector; NULL: deadlocks are not reported */
    th_lock deadlock_lock; /* protects the next two */
    th_deadlock_place deadlock_told; /* of the last deadlock that was reported */
    th_cycles_told cycles_told;      /* waits in a cycle that were reported */
    th_cycle_watcher cycle_watcher;

    th_slab *go_slab;
    th_slab *spawn_slab;

    thrum_sched *next_live;  /* the list of the process's schedulers; under th_external_lock */
    thrum_sched *next_asked; /* the list of schedulers that a signal dumps (dump_signal.c) */
    uint32_t asked_told;     /* how often the signal had come when it was dumped last; with that */
    thrum_sched *next_observed; /* the list of observable schedulers (observe/observe.c) */
    struct th_samples *samples; /* samples of its workers (samples.h), or NULL; likewise */

    th_lock drivers_lock; /* protects the assignment of slots */
    const th_driver *drivers[TH_DRIVERS_MAX];
    void *driver_instances[TH_DRIVERS_MAX];
};

/* ---- entering the scheduler's context from a task's and leaving it (base/annotate.h) ---- */

#if TH_TSAN_CONTEXTS
void th_enter(th_worker *worker);
void th_leave(th_worker *worker);
#else
#define th_enter(worker_) ((void)(worker_))
#define th_leave(worker_) ((void)(worker_))
#endif

/* In the worker's context: publishes the calling task's effects to the run of the object. */
#if TH_TSAN_CONTEXTS
#define th_publish(worker_, object_)                                                               \
    (th_leave(worker_), th_tsan_release(object_), th_enter(worker_))
#else
#define th_publish(worker_, object_) ((void)(worker_), (void)(object_))
#endif

/* Whether the worker is traced (trace_notes.h). Called by the owner. */
static TH_INLINE_NO_TSAN bool th_is_traced(const th_worker *worker) {
    /* relaxed: turning it on or off may be seen a little later */
    return th_unlikely((th_load_relaxed(&worker->xextra) & TH_EXTRA_TRACE) != 0);
}

/* The bound of the numbers of workers that may have work; a spare raises it when it takes part. */
static inline unsigned th_workers_end(const thrum_sched *sched) {
    /* pairs: begin (spares.c); the spare's queues are made */
    return th_load_acquire(&sched->xworkers_end);
}

static inline bool th_is_spare(const th_worker *worker) {
    return worker->index >= worker->sched->workers_regular && !worker->bound;
}

/* The calling thread is this worker from now on; NULL: it is none any longer. */
static TH_INLINE_NO_TSAN void th_thread_becomes(th_worker *worker) {
    th_thread *thread = th_thread_self();
    thread->worker = worker;
    thread->uncounted = worker && !worker->sched->counts_held ? worker : NULL;
}

/* Whether it seems asleep to another thread; true for an idle spare, too. */
static inline bool th_seems_parked(const th_worker *worker) {
    return (th_load_relaxed(&worker->xsleep) & TH_SLEEP_PARKED) != 0; /* relaxed: a guess */
}

/*
 * The fiber on which the worker runs a task's body, or NULL: as of some moment. Stacks stay mapped
 * as long as the scheduler lives, so another thread may read it though it goes on; what it reads
 * may mix two runs. Hidden from the thread sanitizer, like all such reads (snapshot.c).
 */
static TH_INLINE_NO_TSAN const th_fiber *th_running_on(const th_worker *worker) {
    const th_fiber *fiber = th_load_relaxed(&worker->current); /* relaxed: as of some moment */
    /* relaxed: as above */
    return fiber && fiber != &worker->home && th_load_relaxed(&fiber->body) ? fiber : NULL;
}

/* ---- accessors for higher floors ---- */

uint64_t th_sched_stack_high_water(const thrum_sched *sched, int worker);

/* The worker with this number, or NULL: one of the scheduler's, or a bound thread's. */
th_worker *th_worker_at(thrum_sched *sched, int32_t index);

#endif
