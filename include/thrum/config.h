/*
 * thrum/config.h: every parameter of a scheduler.
 *
 * `thrum_config_init` fills in the defaults and then lets the environment override them; what the
 * program sets after that wins. The names of the variables stand beside the fields. A value in the
 * environment that makes no sense is ignored, and so is the whole environment in a program that has
 * more rights than the user that started it (set-user-ID). thrum_config_check says in words which
 * field a start would refuse.
 */
#ifndef THRUM_CONFIG_H
#define THRUM_CONFIG_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/* How tasks are queued and found. docs/policies.md says which to choose when. */
typedef enum {
    THRUM_SHARDED, /* a queue for each worker, and work stealing: the default */
    THRUM_FIFO,    /* strictly in the order of the later of post and deadline */
    THRUM_GLOBAL   /* one queue under one mutex: the baseline to measure against */
} thrum_policy;

/* How a stack is kept from running into its neighbour. docs/stacks.md tells them apart. */
typedef enum {
    THRUM_GUARD_AUTO,     /* the best that the kernel grants, stack by stack */
    THRUM_GUARD_MADVISE,  /* MADV_GUARD_INSTALL: no extra mappings (Linux 6.13) */
    THRUM_GUARD_MPROTECT, /* a PROT_NONE page: costs mappings (vm.max_map_count) */
    THRUM_GUARD_CANARY    /* an untouched page, and words that are checked at every switch */
} thrum_guard;

/* What is done when tasks wait and nothing is left that could wake them (`on_deadlock`). */
typedef enum {
    THRUM_DEADLOCK_OFF,    /* nothing; deadlocks are not looked for */
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

/* As a worker count: as many as the affinity mask (or `cpus`) and the cgroup quotas grant, but at
 * least 1. */
#define THRUM_WORKERS_AUTO ((unsigned)-1)
/* As a number of spare workers: as many as workers, and none for one worker. */
#define THRUM_SPARE_AUTO ((unsigned)-1)
/* As `stall_signal`: a real-time signal that is free. */
#define THRUM_SIGNAL_AUTO ((unsigned)-1)
/* The bound of CPUs' numbers: each is less than this. */
#define THRUM_CPUS_MAX 8192u
/* The most workers that one scheduler can have; a larger count is -EINVAL. */
#define THRUM_WORKERS_MAX 1024u

typedef struct thrum_config {
    size_t size;      /* sizeof(thrum_config) as the program knows it; set by the init */
    const char *name; /* the name of the threads, and in reports; copied at start; NULL: "thrum" */

    unsigned workers; /* THRUM_WORKERS, 1 to 1024: the number of threads that run tasks; default
                         THRUM_WORKERS_AUTO. 0, by the program only: none; bound threads run tasks
                         when they wait (thrum_sched_bind) */

    /* Spare workers take over for those that one task holds up, by blocking their thread (a system
     * call, a mutex of the system's), or by computing. */
    unsigned workers_spare;   /* THRUM_WORKERS_SPARE, 0 to 1024: the most of them; default
                                 THRUM_SPARE_AUTO: as many as workers, but none for one worker.
                                 Workers and spares are 1024 at most together, whatever is asked
                                 for. None with pin_all, and none without workers */
    unsigned stall_rescue_ms; /* THRUM_STALL_RESCUE_MS, 0 to 1000000: how many milliseconds one task
                                 may run while others wait and no worker is free, until a spare
                                 takes over (looked at every half of it); default 10; 0: never */

    thrum_policy policy; /* THRUM_POLICY: sharded, fifo, global */
    size_t stack_size;   /* THRUM_STACK_SIZE: bytes a fiber may use unless its attr says otherwise;
                            rounded up to a power of two from 16 KiB to 64 MiB; default 128 KiB */

    /* The local queue of the sharded policy. */
    unsigned local_capacity;  /* THRUM_LOCAL_CAPACITY: a power of two, 2 to 32768; default 1024 */
    unsigned lifo_limit;      /* THRUM_LIFO_LIMIT: the number of runs in a row through the LIFO slot
                            after which the queues come first once; 0: no LIFO slot; default 3 */
    unsigned global_interval; /* THRUM_GLOBAL_INTERVAL: the number of picks after which the inject
                                 queue comes first once, sooner where runs are long; at least 1;
                                 default 61 */
    unsigned searchers_max;   /* THRUM_SEARCHERS_MAX: the most workers that look for work to steal
                                 at a time; 0, the default: half of the busy ones, at least 1 */
    thrum_time spin_ns;       /* THRUM_SPIN_NS: how long a worker looks for work again before it
                                 parks; default 0 */
    thrum_time rescue_ns;     /* THRUM_RESCUE_NS: the longest time, beside that of a wake, until
                                 the next task of a worker is begun by another worker that sleeps,
                                 however long the present one takes. At least 1000; default
                                 500000 */

    unsigned fifo_block; /* THRUM_FIFO_BLOCK: how much the fifo policy hands out at once, rounded up
                            to a power of two, 65536 at most; at least 1; default 1024 */

    unsigned affinity;    /* THRUM_AFFINITY: none (0), one (1), any, cache: a thrum_affinity. What
                             the system refuses is an error of the start */
    const unsigned *cpus; /* the CPUs, by the system's numbers; NULL: those that the caller of
                             the start may use. Not kept; needs an affinity */
    size_t cpus_count;    /* how many `cpus` points to */
    bool pin_all;         /* THRUM_PIN_ALL: 0, 1: whether a task stays on the worker that first ran
                             it; default 0 */
    bool wake_hint;       /* THRUM_WAKE_HINT: 0, 1: whether a fiber made ready by a worker runs next
                             on it (the LIFO slot, before what is queued; only sharded), else behind
                             what the worker has queued; for all wakes alike; default 1 */
    bool help_when_bound; /* whether a bound thread that waits runs the workers' tasks meanwhile,
                             when there are some; it is not woken for them */

    thrum_guard guard;   /* THRUM_GUARD: auto, madvise, mprotect, canary */
    bool catch_overflow; /* THRUM_CATCH_OVERFLOW: 0, 1: whether stack overflows are reported by
                            name; default 1 */

    /*
     * What is done about deadlocks; THRUM_DEADLOCK: off, report, abort. In a deadlock some fiber,
     * or a bound thread, waits; nothing is runnable or runs; every bound thread sleeps in a call of
     * thrum's; no deadline is pending and no blocking call is under way. Then nothing inside the
     * scheduler will ever go on. It is reported once, and again only after something has run. A
     * thread of the library's looks for it twice a second, less often where many wait, and reports
     * it when two looks have found it: half a second to 2.5 s after it began, if a look takes
     * little, and if no thread is waited for (below).
     *
     * It is a deadlock, too, when tasks and bound threads of one scheduler, and other threads that
     * have called it, wait for each other in a cycle, whatever else goes on: each without a
     * deadline for a mutex, a rwlock that is held for writing, a once, the end of a task, or the
     * children of a scope. The same thread looks for that, and reports each cycle once, also where
     * nothing else goes on and the other kind is reported besides, as a chain
     * with the calls of each task and bound thread; up to 64 in a scheduler's life. It is never
     * told falsely; where a join is among the waits the report says that a cancel would end it.
     * Where the system refuses the thread no cycle is found, and the other kind is reported at
     * once, by the thread that goes to sleep last. Where it refuses the barrier that holds fibers,
     * neither is found. A stop waits for a report that is being printed; what stderr has not taken
     * by the stop's deadline is left out.
     *
     * Where nothing can go on, what comes from elsewhere cannot be known: a plain thread that
     * sleeps in a call of the system's, or has never called the scheduler, and posts or signals
     * later, makes the report a false alarm. One that has called the scheduler and computes, or
     * waits for a processor, is waited for where the system tells that (Linux does), until 20 looks
     * have found the deadlock: some ten seconds, if a look takes little. (One that has a mutex for
     * which a task waits is waited for without end, unless it waits itself, for something in the
     * process and without a deadline; and likewise the thread that has the mutex for which that one
     * waits.) Bind such a thread (thrum_sched_bind): while it runs its own code, there is no
     * deadlock. Another scheduler is elsewhere, too. A sleep for ever has a deadline that is
     * pending.
     */
    thrum_on_deadlock on_deadlock;

    /* Calls that block the thread (thrum_blocking). */
    unsigned blocking_threads_max; /* THRUM_BLOCKING_THREADS_MAX: at least 1; default 256 */
    thrum_time blocking_keepalive; /* THRUM_BLOCKING_KEEPALIVE_MS: ns that an idle one stays;
                                      default 10 s */

    /*
     * Hooks; each may be NULL and gets `hook_ctx`. They may be called from any thread that uses
     * the scheduler, also while a primitive's list is locked: they must not suspend, post, spawn,
     * join, detach or use thrum's primitives. Where the system has fewer threads than asked for, a
     * start ends those that it has begun and begins anew with fewer: worker_start and worker_stop
     * are called, in pairs, for the first ones as well. Of a spare worker worker_start is called
     * when it first takes over, if it ever does, and worker_stop at the scheduler's end.
     */
    void *hook_ctx;                              /* the hooks' first argument */
    void (*worker_start)(void *ctx, int worker); /* on the worker's thread, before its first task */
    void (*worker_stop)(void *ctx, int worker);  /* on the worker's thread, after its last task */
    void *(*alloc)(void *ctx, size_t size);      /* memory below 2^48, aligned to 16, or NULL */
    void (*free)(void *ctx, void *ptr);          /* with `alloc`: both or neither, else -EINVAL */
    void (*panic)(void *ctx, const char *line);  /* takes the one line of a task's misuse instead
                                                    of stderr; if it returns, the program aborts.
                                                    Stack overflows that fault are told by a signal
                                                    handler, and so always to stderr */
    void (*deadlock)(void *ctx, const char *report); /* takes the report of a deadlock, many lines,
                                                        instead of stderr; set, it is called also
                                                        while on_deadlock is off */

    /*
     * Stalls. A worker that has run one task for `stall_ms`, without a wait or a yield, is reported
     * once, to stderr or to the hook `stall`: the task's name and function, for how long, the calls
     * that it is in, what waits behind it, and whether any worker is free. The report comes between
     * one and one and a half times `stall_ms` after the task began, or went on, later where the
     * machine is busy, and by up to half a second where a task has blocked all signals. It is made
     * by a thread of its own, also while all workers are busy; that thread looks twice in
     * `stall_ms` while any worker runs, and rests while all sleep, unless the system has no barrier
     * for it (membarrier). Where the system refuses the thread, nothing is reported. Bound threads
     * are not watched. A stop waits for a report that is being printed; what stderr has not taken
     * by the stop's deadline is left out. While it is on, each run costs some more instructions;
     * while it is off, none.
     *
     * The calls of a thread that waits in a system call are read from outside. One that computes is
     * asked by a signal, which only workers take. Its handler runs on the worker's alternate stack
     * and restarts system calls; those that the system never restarts (sleeps, poll) may, very
     * seldom, end with EINTR where the thread begins one just when it is asked.
     */
    unsigned stall_ms;     /* THRUM_STALL_MS, 0 to 1000000: milliseconds; 0, the default: nothing is
                              reported, and there is no thread for it */
    unsigned stall_signal; /* THRUM_STALL_SIGNAL, 0 to 64: the number of the signal, used only while
                              stall_ms is not 0; default THRUM_SIGNAL_AUTO: the highest real-time
                              signal below SIGRTMAX that has its default action, is not dump_signal,
                              and that the caller of the start does not block. 0: none. Without
                              one (0; all are used; the program has set an action for this one,
                              before the start or since; it is SIGKILL, SIGSTOP, SIGPIPE, SIGSYS
                              or a fault's) the calls of tasks that compute are left out. It has
                              its default action again when the last scheduler that uses it has
                              stopped */
    void (*stall)(void *ctx, const char *report); /* takes the report of a stall, many lines,
                                                     instead of stderr; on the thread that watches.
                                                     A stop waits until it returns; one
                                                     that it asks for itself gets -EDEADLK */

    /*
     * The signal at which this scheduler is dumped to stderr, as by thrum_dump (THRUM_TEXT), by a
     * thread of the library's that is there while some scheduler has such a signal; 0, the default:
     * none. THRUM_DUMP: QUIT, SIGQUIT, RTMIN+1, RTMAX-1 (in any case of letters), a number, or off;
     * if it names no such signal, one line on stderr says so. No fault, and none that a thread
     * causes itself (SIGPIPE). Signals that come during a dump ask for one more. What the signal
     * does by default it does not do meanwhile. A handler that the program has set before the start
     * is called, too, after ours has asked for the dump; one that it sets later replaces ours, and
     * stays. thrum_signal_wait gets the signal as well. A signal that the program blocks in all of
     * its threads stays blocked, and asks for nothing. After the stop of the last scheduler the
     * signal does what it did before. In the child of a fork it does so at once, until the child
     * starts a scheduler of its own. A stop waits for a dump that is being printed; what stderr has
     * not taken by the stop's deadline is left out. A start returns -EBUSY when the program has put
     * handlers before the library's for the third time, and -EAGAIN or -ENOMEM when there is no
     * thread. Where it is THRUM_DUMP that names the signal, the start goes on without dumps
     * instead, and one line on stderr says why.
     */
    int dump_signal;

    /*
     * The flight recorder: a trace (trace.h) that is on from the start, and keeps the latest 32767
     * events of each worker. It is written to a file, for thrum-timeline: at the dump signal; at
     * the report of a stall, once in ten seconds at most; and when the program is about to end by
     * SIGSEGV, SIGBUS, SIGILL, SIGFPE or SIGABRT (a misuse, a stack overflow and abort are among
     * these). Then one line on stderr says by which signal, at which address, on which worker, and
     * the task's number, name and function; functions are told as places in their files
     * (thrum-names), and the program ends as it would have. Where the program has a handler of its
     * own for such a signal, that is called, and nothing is told. Each writing replaces the file,
     * and one line on stderr says where it is, if stderr takes it within a fifth of a second. The
     * handlers stay until the process ends; without a scheduler that is recorded they tell nothing.
     * While the trace is on thrum_trace_start returns -EALREADY; thrum_trace_stop turns it off as
     * any other. Sixteen schedulers of a process have a file at a time; the second is "FILE.2", or
     * "thrum-PID-2.trace.json". A start without memory for it returns -ENOMEM; where THRUM_TRACE
     * asks for it, the start goes on without instead, and one line on stderr says so.
     */
    bool trace;             /* THRUM_TRACE: off, on; default off */
    const char *trace_file; /* THRUM_TRACE_FILE: the file's name, 900 bytes at most; copied at the
                               start; NULL, the default: "thrum-PID.trace.json", where the program
                               is when it is written */
    /*
     * Whether this scheduler can be observed from outside, by thrum-top: THRUM_OBSERVE: 0, 1;
     * default 0. While some scheduler of the process asks for it, a thread of the library's listens
     * at a UNIX socket, $XDG_RUNTIME_DIR/thrum/PID or /tmp/thrum-UID/PID, which only the process's
     * user and root may use, and answers with what thrum_metrics_print and thrum_dump print as
     * JSON (on Windows at a port, to whoever has the key: docs/windows.md). It sleeps while nobody
     * asks. Where the system refuses the socket or the thread, the
     * scheduler starts without. A stop waits for an answer that is being made, not for its
     * reader. In the child of a fork there is none until the child starts a scheduler.
     */
    bool observe;
} thrum_config;

/*
 * Fills in the defaults, then what the environment says. Any thread may call it. It never suspends
 * and cannot fail.
 */
THRUM_API void thrum_config_init(thrum_config *config);

/*
 * Returns how many processors the system grants: the number in the calling thread's affinity mask
 * or, if it is smaller, the smallest CPU quota of the process's cgroups, rounded up; at least 1. A
 * scheduler that this thread starts with THRUM_WORKERS_AUTO, and without `cpus`, has that many
 * workers, but at most THRUM_WORKERS_MAX. Any thread may call it. It reads files of the system, so
 * it blocks the thread for a moment; it never suspends. It cannot fail: a quota that cannot be read
 * does not count.
 */
THRUM_API unsigned thrum_cpus_granted(void);

/*
 * Tells whether a start takes the config (NULL: yes): 0, and "" in `text`, or -EINVAL, and a line
 * that names the first field that is out of its range and says what it may be. The line is cut to
 * `size` bytes, with the zero at its end; `text` may be NULL if `size` is 0. What the system
 * refuses (CPUs, threads, memory) only the start can tell. Any thread may call it. It never
 * suspends.
 */
THRUM_API int thrum_config_check(const thrum_config *config, char *text, size_t size);

THRUM_END_DECLS

#endif
