/*
 * thrum/config.h: every parameter of a scheduler.
 *
 * `thrum_config_init` fills in the defaults and then lets the environment override them; what the
 * program sets after that wins. The names of the variables stand beside the fields. A value that
 * the environment gives and that makes no sense is ignored, and so is all of it in a program with
 * more rights than whoever started it (set-user-ID). thrum_config_check says in words which field a
 * start would refuse.
 */
#ifndef THRUM_CONFIG_H
#define THRUM_CONFIG_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/* How tasks are queued and found. docs/policies.md says which to choose when. */
typedef enum {
    THRUM_SHARDED, /* a queue per worker, work stealing: the default */
    THRUM_FIFO,    /* strictly in the order of the later of post and deadline */
    THRUM_GLOBAL   /* one queue under one mutex: the baseline to measure against */
} thrum_policy;

typedef enum { THRUM_LOCAL_LOCKFREE, THRUM_LOCAL_MUTEX } thrum_local;
typedef enum { THRUM_STEAL_HALF, THRUM_STEAL_ONE } thrum_steal;
typedef enum { THRUM_OVERFLOW_HALF, THRUM_OVERFLOW_ONE } thrum_overflow;
typedef enum { THRUM_GRAB_BATCH, THRUM_GRAB_ONE } thrum_grab;

/* How a stack is kept from running into its neighbour. docs/stacks.md tells them apart. */
typedef enum {
    THRUM_GUARD_AUTO,     /* the best that the kernel grants, stack by stack */
    THRUM_GUARD_MADVISE,  /* MADV_GUARD_INSTALL: no extra mappings (Linux 6.13) */
    THRUM_GUARD_MPROTECT, /* a PROT_NONE page: costs mappings (vm.max_map_count) */
    THRUM_GUARD_CANARY    /* an untouched page and words that are checked at every switch */
} thrum_guard;

/* What is done when everything waits and nothing is left that could wake it (`on_deadlock`). */
typedef enum {
    THRUM_DEADLOCK_OFF,    /* nothing: nobody looks */
    THRUM_DEADLOCK_REPORT, /* a report to stderr, or to the `deadlock` hook; the program goes on */
    THRUM_DEADLOCK_ABORT   /* the same, and the program aborts */
} thrum_on_deadlock;

/* On which CPUs a worker's thread may run, of the set that `cpus` names. */
typedef enum {
    THRUM_AFFINITY_NONE,  /* wherever the program may */
    THRUM_AFFINITY_ONE,   /* worker i only on the i-th of the set, modulo how many there are */
    THRUM_AFFINITY_ANY,   /* on any of the set */
    THRUM_AFFINITY_CACHE, /* on those of the set that share their last cache with the i-th; where
                             the system does not tell of caches, on any */
} thrum_affinity;

/* As a worker count: as many as the affinity mask (or `cpus`) and the cgroup quotas grant, never 0.
 */
#define THRUM_WORKERS_AUTO ((unsigned)-1)
/* A CPU's number is less than this. */
#define THRUM_CPUS_MAX 8192u
/* The most workers that one scheduler can have; a larger count is -EINVAL. */
#define THRUM_WORKERS_MAX 1024u

typedef struct thrum_config {
    size_t size;      /* sizeof(thrum_config) as the program knows it; set by the init */
    const char *name; /* names the threads and the reports; copied at start; NULL: "thrum" */

    unsigned workers;    /* THRUM_WORKERS, 1 to 1024: threads that run tasks; default
                            THRUM_WORKERS_AUTO. 0, by the program only: none; bound threads run
                            tasks when they wait (thrum_sched_bind) */
    thrum_policy policy; /* THRUM_POLICY: sharded, fifo, global */
    size_t stack_size;   /* THRUM_STACK_SIZE: bytes a fiber may use unless its attr says otherwise;
                            rounded up to a power of two from 16 KiB to 64 MiB; default 128 KiB */

    /* The local queue of the sharded policy. */
    unsigned local_capacity; /* THRUM_LOCAL_CAPACITY: a power of two, 2 to 32768; default 1024 */
    thrum_local local_queue; /* THRUM_LOCAL_QUEUE: lockfree, mutex */
    thrum_steal steal;       /* THRUM_STEAL: half, one: how much a thief takes */
    thrum_overflow overflow; /* THRUM_OVERFLOW: half, one: how much leaves a full queue */
    thrum_grab grab;     /* THRUM_GRAB: batch, one: how much a worker takes from the shared queue */
    unsigned lifo_limit; /* THRUM_LIFO_LIMIT: runs in a row through the LIFO slot before the
                            queues come first once; 0: no LIFO slot; default 3 */
    unsigned global_interval; /* THRUM_GLOBAL_INTERVAL: every so many picks the shared queue comes
                                 first, sooner where runs are long; at least 1; default 61 */
    unsigned searchers_max;   /* THRUM_SEARCHERS_MAX: workers that look for work to steal at a time;
                                 0, the default: half of the busy ones, at least 1 */
    thrum_time spin_ns;       /* THRUM_SPIN_NS: look again for so long before parking; default 0 */
    thrum_time rescue_ns;     /* THRUM_RESCUE_NS: while a worker sleeps, another one's next task is
                                 begun that late at most, plus the time that a wake takes, however
                                 long its present one takes. At least 1000; default 500000 */

    unsigned fifo_block; /* THRUM_FIFO_BLOCK: how much the fifo policy hands out at once, cut down
                            to a power of two; at least 1; default 1024 */

    unsigned affinity;    /* THRUM_AFFINITY: none (0), one (1), any, cache: a thrum_affinity. What
                             the system refuses is an error of the start */
    const unsigned *cpus; /* which CPUs, by the system's numbers; NULL: those that the caller of
                             the start may use. Not kept; needs an affinity */
    size_t cpus_count;
    bool pin_all;         /* THRUM_PIN_ALL: 0, 1: a task stays on the worker that first ran it */
    bool wake_hint;       /* THRUM_WAKE_HINT: 0, 1: a fiber made ready by a worker runs next on it
                             (the LIFO slot, before what is queued; only sharded), else behind what
                             the worker has queued; for all wakes alike; default 1 */
    bool help_when_bound; /* a bound thread that waits runs the workers' tasks meanwhile, when there
                             are some; it is not woken for them */

    thrum_guard guard;   /* THRUM_GUARD: auto, madvise, mprotect, canary */
    bool catch_overflow; /* THRUM_CATCH_OVERFLOW: 0, 1: report stack overflows by name; default 1 */

    /*
     * THRUM_DEADLOCK: off, report, abort. A deadlock: some fiber, or a bound thread, waits; nothing
     * is runnable or runs; every bound thread sleeps in a call of thrum's; no deadline is pending
     * and no blocking call under way. Then nothing inside the scheduler will ever go on. It is told
     * once, on the thread that went to sleep last, and again only after something has run. What
     * comes from elsewhere cannot be known: a plain thread that posts or signals later makes it a
     * false alarm. Bind such a thread (thrum_sched_bind): while it runs its own code, nobody is
     * taken to be stuck. Another scheduler is elsewhere, too; and sleeping for ever is a deadline.
     */
    thrum_on_deadlock on_deadlock;

    /* Calls that block the thread (thrum_blocking). */
    unsigned blocking_threads_max; /* THRUM_BLOCKING_THREADS_MAX: at least 1; default 256 */
    thrum_time
        blocking_keepalive; /* THRUM_BLOCKING_KEEPALIVE_MS: ns an idle one stays; default 10 s */

    /*
     * Hooks; each may be NULL and gets `hook_ctx`. They may be called from any thread that uses
     * the scheduler, also while a primitive's list is locked: they must not suspend, post, spawn or
     * use thrum's primitives.
     */
    void *hook_ctx;
    void (*worker_start)(void *ctx, int worker); /* on the worker's thread, before its first task */
    void (*worker_stop)(void *ctx, int worker);  /* on the worker's thread, after its last task */
    void *(*alloc)(void *ctx, size_t size);      /* 16-byte aligned memory, or NULL; with `free` */
    void (*free)(void *ctx, void *ptr);          /* with `alloc`: both or neither, else -EINVAL */
    void (*panic)(void *ctx, const char *line);  /* takes the one line of a task's misuse instead
                                                    of stderr; if it returns, the program aborts.
                                                    Stack overflows that fault are told by a signal
                                                    handler, and so always to stderr */
    void (*deadlock)(void *ctx, const char *report); /* takes the report of a deadlock, many lines,
                                                        instead of stderr; set, it is called also
                                                        while on_deadlock is off */
} thrum_config;

/* Fills in the defaults, then the environment. Any thread; never suspends. */
THRUM_API void thrum_config_init(thrum_config *config);

/*
 * Whether a start takes the config (NULL: yes): 0 and "" in `text`, or -EINVAL and a line that
 * names the first field that is out of its range, and says what it may be. The line is cut to
 * `size` bytes, with the zero at its end; with 0, `text` may be NULL. What the system refuses
 * (CPUs, threads, memory) only the start can tell. Any thread; never suspends.
 */
THRUM_API int thrum_config_check(const thrum_config *config, char *text, size_t size);

THRUM_END_DECLS

#endif
