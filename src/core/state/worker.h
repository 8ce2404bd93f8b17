/*
 * worker.h: a thread that runs tasks for a scheduler, and the scheduler itself.
 *
 * Fields are grouped by who writes them, the groups kept a cache line apart.
 */
#ifndef TH_WORKER_H
#define TH_WORKER_H

#include <stdalign.h>

#include "base/annotate.h"
#include "base/random.h"
#include "core/state/counters.h"
#include "core/state/driver.h"
#include "core/state/fiber_state.h"
#include "core/state/fifo.h"
#include "core/state/flow.h"
#include "core/state/fork_state.h"
#include "core/state/lock.h"
#include "core/state/outside_state.h"
#include "core/state/parkword.h"
#include "core/state/reclaim_want.h"
#include "core/state/slab.h"
#include "core/state/thread.h"
#include "core/state/timer_state.h"
#include "core/state/trace_notes.h"
#include "queue/claim.h"
#include "queue/inject.h"
#include "queue/ring.h"

/* Fibers that yielded and wait at their worker; more go to the inject queue. */
#define TH_YIELDS TH_LIMIT(1024, 4)
#define TH_YIELD_MARKS (2 * TH_YIELDS) /* those that are claimed keep theirs */
/* Threads that can be bound at a time. */
#define TH_BOUND_CHUNK 1024u
#define TH_BOUND_CHUNKS 64u
/* Idle fibers that a worker keeps for itself, at most twice as many. */
#define TH_IDLE_KEPT TH_LIMIT(64, 2)
/* ... that the scheduler keeps for all of them when it has nothing to do. */
#define TH_IDLE_STORED TH_LIMIT(1024, 2)

/* What a worker is about to leave behind on the stack that it leaves. */
typedef struct th_left {
    th_commit_kind kind;
    th_fiber *fiber;
    void *arg;
} th_left;

/* A local queue: the ring, behind a lock when the config says so. */
typedef struct th_local_queue {
    th_ring ring;
    th_lock lock;
    bool locked; /* constant */
} th_local_queue;

static inline void th_queue_lock(th_local_queue *queue) {
    if (th_unlikely(queue->locked)) {
        th_lock_acquire(&queue->lock);
    }
}

static inline void th_queue_unlock(th_local_queue *queue) {
    if (th_unlikely(queue->locked)) {
        th_lock_release(&queue->lock);
    }
}

/* How fast work got done, in a thief's measurement. */
typedef struct th_pace {
    uint64_t runs;
    uint64_t ticks;
} th_pace;

/* What a thief knows about whether its stealing helps (docs/tuning.md). */
typedef struct th_loot {
    th_worker *victim;    /* whom it was taken from, if that can be told */
    uint64_t at;          /* when it was taken, in ticks; 0: nothing is being measured */
    uint64_t runs;        /* runs that the thief had begun then ... */
    uint64_t victim_runs; /* ... and the victim */
    th_pace together;     /* both ran */
    th_pace apart;        /* the thief backed off */
    unsigned looks;
} th_loot;

/* In `xcancelling`: all waits are cancelled, for ever; how many look, from bit 1 on (cancel.h). */
#define TH_CANCEL_ALL 1u
#define TH_CANCEL_LOOK_ONE 2u

typedef struct th_policy th_policy;

#define TH_STEAL_MAX 128 /* work taken from another worker at a time */

struct th_worker {
    /* Constant once it runs. */
    thrum_sched *sched;
    const th_policy *policy; /* the scheduler's, or a bound thread's */
    unsigned index;
    bool bound;       /* a thread of the user's (bound.h) */
    uint32_t xextra;  /* TH_EXTRA_*: what a run has to see to beside running (trace.h) */
    void *block;      /* ... what it was aligned in */
    int *errno_at;    /* the thread's errno: saved and restored around a wait */
    void *tsan_maker; /* the context in which fibers are made */
    void *tsan;       /* the context in which the scheduler runs on this thread */
    th_os_thread thread;
    void *altstack;
    th_os_exceptions *exceptions; /* what C++ keeps of the thread, or NULL (th_suspend) */

    /* The owner's alone. */
    th_fiber *current; /* the fiber that is on it; who looks reads it, too (look.c) */
    th_work *handoff;  /* work for the loop that is switched to */
    th_left left;
    th_commit_kind then; /* what `left` was, when it says TH_COMMIT_RECLAIM now */
    th_fiber *idle;      /* spare loops, most recently used first */
    unsigned idle_count;
    unsigned until_inject;  /* picks until the inject queue comes first */
    unsigned fair_interval; /* ... as it was last set (th_fair_interval) */
    uint64_t fair_at;       /* ... when, in ticks */
    uint64_t yields_end;    /* ring position behind what was there when a pinned fiber yielded */
    uint64_t *yield_marks;  /* for each place in `yields`: the ring's tail when it yielded */
    unsigned inject_streak; /* runs from the inject queue since the last one that yielded */
    unsigned lone_yields;   /* yields that found nobody to give way to */
    unsigned polls;         /* resumes of fibers that yielded */
    unsigned searches;      /* looks for something to steal */
    bool yield_turn;        /* whose turn: pinned ones that yielded, or the others */
    bool fair_last;         /* the pick before was a fair one (an interval of 1) */
    bool inject_served;     /* something was taken since inject_end was set */
    uint64_t inject_end;    /* ring position behind the last work that came from the inject queue */
    unsigned lifo_runs;     /* runs in a row through the LIFO slot */
    unsigned pinned_runs;   /* ... through the pinned inbox */
    bool searching;         /* counted among the searchers */
    bool sentinel;          /* has the sentinel's role */
    bool napping;           /* sleeps for a moment, backing off from stealing */
    bool nap_bit;           /* ... and the nap bit says so */
    bool woken;             /* from sleep, and has not found anything yet */
    bool took_deferred;     /* the task in hand waited for a stack */
    bool turn_lost;         /* the shared queue has work, but somebody else has the turn */
    bool second_look;       /* the sentinel's: it looks again soon */
    int64_t nap_ns;         /* how long it is about to back off from stealing; 0: not at all */
    bool brisk;             /* the last runs were short: it may claim several at once */
    th_claim *quick;        /* sharded: its claim that comes next (th_find_claimed), or NULL */
    unsigned unpaced;       /* takes until it looks at the clock again */
    uint64_t paced_at;      /* when it last did, in ticks */
    uint64_t looked_at;     /* fifo: when it last looked after the others, in ticks */
    bool look;              /* fifo: ... and it is time to do so again */
    bool fired;             /* fifo: it has fired deadlines since its last pick */
    bool unseen;            /* nobody can tell when what is being submitted was: it may wait */
    int64_t nap_last_ns;    /* how long it did last */
    th_loot loot;
    th_timers *timers;      /* constant: where its deadlines stand: its own, or worker 0's */
    unsigned timer_skip;    /* picks before it looks at its timers again */
    unsigned timer_skips;   /* ... as it was set last */
    int64_t timer_looked;   /* when it looked last */
    int64_t defer_until;    /* asking for a stack is of no use before */
    unsigned reclaim_skip;  /* calls of th_reclaim_poll until it looks at the clock again */
    unsigned reclaim_skips; /* what that was set to last */
    int64_t reclaim_looked; /* when it looked last */
    th_random random;
    th_chain pinned;                /* from the inbox, oldest first */
    th_chain batch;                 /* being posted: not on the task's stack (base/annotate.h) */
    th_chain collected;             /* from the inbox: likewise */
    th_chain due;                   /* from timers: likewise */
    th_chain pinned_yields;         /* pinned fibers that yielded: behind everything else */
    th_slab_cache go;               /* task objects of thrum_go */
    th_slab_cache spawn;            /* ... of what has a handle or attributes */
    uint64_t stack_high_water_seen; /* see xstack_high_water */
    th_fiber home; /* the thread's own stack, on which the loop's fibers are left in the end */
    alignas(8) char home_record[TH_STACK_RECORD]; /* the one of a bound thread's stack */
    uintptr_t own_low; /* ... and where that lies, or 0 and 0, as of its binding */
    uintptr_t own_high;
    uint64_t held;                /* bodies on it that are pinned to it and have not ended */
    bool leaving;                 /* its thread unbinds as soon as there are none */
    uint32_t *awaits;             /* ... or goes on once this is set, or ... */
    int64_t awaits_until;         /* ... that late */
    int64_t xuntil;               /* asleep: until when at the latest; others read it */
    uint32_t xidle;               /* what its wait for idleness is told by; on no task's stack */
    uint64_t xsleeps;             /* watched: odd while it sleeps without a deadline (stuck.h) */
    bool gone;                    /* watched: it leaves, and has done all that it will */
    struct th_worker *bound_next; /* under the scheduler's bound_lock, as is ... */
    bool linked;                  /* ... whether it is bound, or a spare record */
    bool unfinished;              /* a stop's, past its deadline: something is left in it */

    /* Written by the owner, read by others. */
    alignas(TH_CACHE_LINE) th_gate gate; /* of the slot and of what is claimed */
    th_work *xslot; /* LIFO slot: the owner fills it; it and rescuers empty it */
    uint64_t xtick; /* picks so far: shows the sentinel that it comes round */
    th_flow flow;
    uint64_t xstack_high_water;
    th_counters counters;

    th_local_queue ring;
    th_ring yields;        /* fibers that yielded: behind everything else */
    th_claim claim;        /* out of the ring, or what is ready, about to run */
    th_claim yields_claim; /* out of `yields`; fifo: what is about to be posted */

    th_inject inbox; /* pinned work; only the owner consumes */

    th_timers own_timers;

    th_forks forks;

    th_track *xtrack; /* what it notes while it is traced (trace.h); NULL: it never was */

    /* Sleeping (core/worker/PARKING.md). */
    alignas(TH_CACHE_LINE) uint32_t xsleep; /* TH_SLEEP_*: the futex */
    uint32_t xidle_next;  /* below it in the idle stack: index + 1; who pushes it */
    uint64_t xalone_at;   /* since when thieves leave it alone, in ticks; who backs off from it */
    int64_t xalone_ns;    /* ... and for how long */
    int64_t sentinel_ns;  /* the sentinel's present interval; the owner's */
    int64_t quiet_since;  /* the sentinel's: since when nothing has happened */
    uint64_t round_ticks; /* the sentinel's: how often all had picked when it last looked */
    uint64_t *seen_ticks; /* the sentinel's: each worker's xtick when it last looked */
    uint64_t xlone_tick;  /* xtick when it last woke somebody for a single one; its owner's */
    bool look_unsure;     /* a rescue's answer: no local, base/annotate.h says why */
    th_work *stolen[TH_STEAL_MAX]; /* what a theft has in hand: no local either */
};

struct th_policy {
    /* From a worker, in its context. The hint is a thrum_hint. */
    void (*submit)(th_worker *worker, th_work *work, unsigned hint);
    void (*submit_chain)(th_worker *worker, th_chain *chain);
    /* From any other thread, or for another scheduler. */
    void (*submit_outside)(thrum_sched *sched, const th_chain *chain);
    /* The next work without looking at other workers, or NULL. */
    th_work *(*pick)(th_worker *worker);
    /* The next work from other workers, or NULL. */
    th_work *(*steal)(th_worker *worker);
    /* One piece of work for a bound thread that helps, or NULL; not there: it cannot. */
    th_work *(*help)(th_worker *worker);
    /* Whether there is something that nobody else is certain to come for. */
    bool (*pending)(th_worker *worker);
    /* Whether a worker has something queued that a rescuer could have: a guess; NULL: never. */
    bool (*holds)(const th_worker *victim);
    /*
     * Tasks and fibers whose deadline has passed, none of them pinned, in order; with the lock of
     * the timers, of which there is one set for all workers then, so that the chains come in order
     * as well. NULL: they are submitted like others.
     */
    void (*submit_due)(thrum_sched *sched, th_chain *chain);
    /* After it, without the lock: wakes whom it takes. */
    void (*notify_due)(th_worker *worker, uint64_t count);
    /* The sentinel's look: work whose owner has not come round since the last look, or NULL. */
    th_work *(*rescue)(th_worker *worker, bool *unsure);
};

/* Who is told of sleepers, to find out whether all wait for each other (stuck.h). */
typedef struct th_watch {
    /* A worker has announced that it parks, behind a fence, and all have. */
    void (*parked)(thrum_sched *sched);
    /* A bound thread is about to sleep until it is woken, and has nothing to do; it has woken up.
     */
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
    void *workers_block; /* what `workers` was aligned in */
    void *block;         /* what this was aligned in */
    unsigned workers_count;
    unsigned searchers_max; /* 0: half of the busy ones */
    unsigned stack_class;
    void (*fiber_main)(void *fiber);  /* what its fibers run: a worker's loop (loop.h) */
    void (*fork_call)(th_call *call); /* what a fork that was given calls (fork_call.h) */
    bool can_order;                   /* th_os_barrier works here */
    unsigned *strides;                /* numbers coprime to the number of workers */
    th_os_cpuset *cpus;               /* of its threads (affinity.h); NULL: as its starter's */
    unsigned strides_count;

    /* Written once or twice in its life. */
    uint32_t xcancelling; /* TH_CANCEL_ALL: waits are cancelled; and who looks; th_cancel_lock */
    bool xtimed;          /* somebody has used timers */

    alignas(TH_CACHE_LINE) uint64_t xpark; /* parkword.h */
    alignas(TH_CACHE_LINE) uint32_t xexit; /* 1: workers leave when they find nothing */
    uint32_t xstopping;                    /* 1: outsiders' posts are refused */
    bool is_run; /* started by thrum_run, which frees it; constant once others know it */
    bool
        abandoned; /* in the child of a fork: its workers are the parent's; core/control/atfork.c */
    uint32_t xdeferred;     /* tasks in `deferred` */
    uint32_t xidle_waiters; /* callers of wait_idle and wait_done */

    th_inject inject; /* sharded */

    th_fifo fifo; /* fifo */

    alignas(TH_CACHE_LINE) th_lock global_lock; /* global: its one mutex */
    th_chain global;
    uint64_t xglobal_count;

    alignas(TH_CACHE_LINE) th_outsiders outsiders;

    th_lock fibers_lock; /* protects what follows; what begins with x is read without it too */
    th_fiber *fibers;    /* idle ones that no worker keeps */
    unsigned fibers_count;
    unsigned fibers_least;     /* the lowest count in the present period (reclaim.h) */
    th_fiber *fibers_measured; /* more of them; th_idle_trim_some has been there */
    bool fibers_deep;          /* a stack that went deep was found among some of them */
    bool xfibers_unmeasured;   /* some may have a stack that went deep, or be more than are kept */
    th_stacks stacks;
    th_reclaim reclaim;

    th_lock deferred_lock;  /* protects `deferred` */
    th_chain deferred;      /* tasks that wait for a stack */
    int64_t deferred_since; /* when asking for a stack first was in vain; 0: it was not */

    th_lock bound_lock;   /* protects what follows; what begins with x is read without it too */
    uint32_t xbound;      /* threads that are bound; stop sleeps on it */
    unsigned bound_end;   /* beyond the largest number that one has had */
    uint64_t bound_binds; /* how often one came */
    bool unbound_only;    /* it is stopping: no more are bound */
    th_worker *stopper;   /* the bound one whose thread is stopping it, and waits for the others */
    uint32_t xalone;      /* ... 1: they have unbound */
    uint64_t xbound_high_water;  /* as a worker's, of all that were bound; without the lock */
    th_worker *bound;            /* all of them */
    th_worker *bound_spares;     /* records of those that were */
    th_worker *bound_unfinished; /* the record in which a stop has left something, or NULL */
    th_worker **xbound_chunks[TH_BOUND_CHUNKS]; /* ... by number; chunks stay until the end */
    th_timers loose_timers; /* without workers: tasks that wait for a deadline */

    th_lock idle_lock; /* protects the list of idle waiters */
    struct th_idle_waiter *idle_waiters;

    th_trace trace;

    const th_watch *watch;  /* constant: a deadlock is reported; NULL: none is */
    th_lock stuck_lock;     /* protects the next two */
    uint64_t stuck_began;   /* what had begun when it was found stuck last ... */
    uint64_t stuck_resumes; /* ... and how often bound threads had gone on */

    th_slab *go_slab;
    th_slab *spawn_slab;

    thrum_sched *next_live; /* among all of the process, under th_outside_lock */

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

/* In the worker's context: whoever runs the object will know what the calling task did. */
#if TH_TSAN_CONTEXTS
#define th_publish(worker_, object_)                                                               \
    (th_leave(worker_), th_tsan_release(object_), th_enter(worker_))
#else
#define th_publish(worker_, object_) ((void)(worker_), (void)(object_))
#endif

/* Whether what the worker does is being noted (trace.h). The owner asks. */
static TH_INLINE_NO_TSAN bool th_is_traced(const th_worker *worker) {
    /* relaxed: when it is turned on or off it may be seen a little later */
    return th_unlikely((th_load_relaxed(&worker->xextra) & TH_EXTRA_TRACE) != 0);
}

/* ---- accessors for the floors above ---- */

const th_counters *th_sched_counters(const thrum_sched *sched, unsigned worker);
const th_counters *th_sched_counters_outside(const thrum_sched *sched);
uint64_t th_sched_stack_high_water(const thrum_sched *sched, int worker);

/* The worker with this number, or NULL: one of the scheduler's, or a bound thread's. */
th_worker *th_worker_at(thrum_sched *sched, int32_t index);

/* Calls fn for each bound worker, with `bound_lock`. */
void th_bound_each(thrum_sched *sched, void (*fn)(void *ctx, th_worker *worker), void *ctx);

#endif
