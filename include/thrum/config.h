/*
 * thrum/config.h: the options of a scheduler. thrum_config_init fills in the defaults, and then the
 * environment overrides them; the values that the program sets afterwards win.
 *
 * The comment of a field names its environment variable and the values that this takes. A variable
 * with any other value is ignored. The whole environment is ignored in a program that has more
 * rights than the user that started it (set-user-ID). thrum_config_check names the field that a
 * start would refuse.
 */
#ifndef THRUM_CONFIG_H
#define THRUM_CONFIG_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/* How tasks are queued and found. docs/policies.md compares them. */
typedef enum {
    THRUM_SHARDED, /* a queue for each worker, and work stealing: the default */
    THRUM_FIFO,    /* tasks begin in the order of the later of post and deadline */
    THRUM_GLOBAL   /* all queues under one mutex: the baseline to measure against */
} thrum_policy;

/* How an overflow is kept from the neighbor of a stack. docs/stacks.md compares them. */
typedef enum {
    THRUM_GUARD_AUTO,     /* the best that the kernel grants, for each stack */
    THRUM_GUARD_MADVISE,  /* MADV_GUARD_INSTALL: no extra mappings (Linux 6.13) */
    THRUM_GUARD_MPROTECT, /* a PROT_NONE page: costs mappings (vm.max_map_count) */
    THRUM_GUARD_CANARY    /* an untouched page, and words that are checked at every switch */
} thrum_guard;

/* The reaction of the library when tasks wait and nothing can wake them. */
typedef enum {
    THRUM_DEADLOCK_OFF,    /* nothing: it does not look for deadlocks */
    THRUM_DEADLOCK_REPORT, /* reports to stderr, or to the `deadlock` hook; the program goes on */
    THRUM_DEADLOCK_ABORT   /* reports likewise, and aborts the program */
} thrum_on_deadlock;

/* The CPUs that a worker's thread may run on, out of the set that `cpus` names. */
typedef enum {
    THRUM_AFFINITY_NONE,  /* all that the process may use */
    THRUM_AFFINITY_ONE,   /* worker i: the i-th of the set, modulo the set's size */
    THRUM_AFFINITY_ANY,   /* all of the set */
    THRUM_AFFINITY_CACHE, /* those of the set that share their last cache with the i-th; if the
                             system does not describe caches, all of the set */
} thrum_affinity;

/*
 * A value of `workers`: as many as the affinity mask (or `cpus`) and the cgroup quotas grant, but
 * at least 1.
 */
#define THRUM_WORKERS_AUTO ((unsigned)-1)

/* A value of `workers_spare`: as many as workers, and none for one worker. */
#define THRUM_SPARE_AUTO ((unsigned)-1)

/* A value of `stall_signal`: a real-time signal that is free. */
#define THRUM_SIGNAL_AUTO ((unsigned)-1)

/* The numbers of CPUs are below this. */
#define THRUM_CPUS_MAX 8192u

/* The most workers that one scheduler can have; a start with more returns -EINVAL. */
#define THRUM_WORKERS_MAX 1024u

/*
 * The options of a scheduler, in the caller's memory. Make it by thrum_config_init, change fields,
 * and give it to thrum_run or thrum_sched_start, which copy it.
 */
typedef struct thrum_config {
    /* sizeof(thrum_config) as the program knows it; the init sets it. */
    size_t size;

    /* The name of the scheduler's threads, also in reports. A start copies it. NULL: "thrum". */
    const char *name;

    /*
     * The number of threads that run tasks. Default: THRUM_WORKERS_AUTO. Environment:
     * THRUM_WORKERS, 1 to 1024. The program alone may set 0, no workers: bound threads then run
     * tasks when they wait (thrum_sched_bind).
     */
    unsigned workers;

    /*
     * The most spare workers. A spare takes over for a worker that one task holds up, because it
     * blocks the thread (in a system call, or on a mutex of the system) or computes. Default:
     * THRUM_SPARE_AUTO. Environment: THRUM_WORKERS_SPARE, 0 to 1024. Workers and spares together
     * are at most 1024 in any case. There are none with `pin_all` and none without workers.
     */
    unsigned workers_spare;

    /*
     * How many milliseconds one task may run, while others wait and no worker is free, until a
     * spare takes over. It is looked at every half of that time. Default: 10; 0: never.
     * Environment: THRUM_STALL_RESCUE_MS, 0 to 1000000.
     */
    unsigned stall_rescue_ms;

    /*
     * How tasks are queued and found. Default: THRUM_SHARDED. Environment: THRUM_POLICY, sharded,
     * fifo or global.
     */
    thrum_policy policy;

    /*
     * How many bytes of stack a task may use unless its thrum_attr has another value: 1 to 64 MiB,
     * rounded up to a power of two of at least 16 KiB. Default: 128 KiB. Environment:
     * THRUM_STACK_SIZE, in bytes.
     */
    size_t stack_size;

    /*
     * The capacity of a worker's own queue with the policy THRUM_SHARDED, a power of two. Default:
     * 1024. Environment: THRUM_LOCAL_CAPACITY, 2 to 32768.
     */
    unsigned local_capacity;

    /*
     * The number of runs in a row through the LIFO slot after which the queues come first once.
     * Default: 3; 0: no LIFO slot. Environment: THRUM_LIFO_LIMIT.
     */
    unsigned lifo_limit;

    /*
     * The number of picks (choices of the next work by a worker) after which the inject queue
     * comes first once. Then a task may also begin although others can go on. It comes sooner if
     * runs are long. At least 1. Default: 61. Environment: THRUM_GLOBAL_INTERVAL.
     */
    unsigned global_interval;

    /*
     * The number of tasks of high priority that a worker takes in a row before other work comes
     * once. At least 1. Default: 61. Environment: THRUM_HIGH_LIMIT.
     */
    unsigned high_limit;

    /*
     * While tasks of low priority are queued, a worker takes one at least once in this many picks;
     * 1 means every other pick. At least 1. Default: 256. Environment: THRUM_LOW_INTERVAL.
     */
    unsigned low_interval;

    /*
     * The most workers that look for work to steal at a time. Default: 0, half of the busy ones but
     * at least 1. Environment: THRUM_SEARCHERS_MAX, 0 to 1024.
     */
    unsigned searchers_max;

    /*
     * How long a worker looks for work again before it parks, in ns. Default: 0. Environment:
     * THRUM_SPIN_NS.
     */
    thrum_time spin_ns;

    /*
     * The longest time, in ns and besides that of a wake, until another worker that sleeps begins
     * the next task of a worker, however long the present task takes. At least 1000. Default:
     * 500000. Environment: THRUM_RESCUE_NS.
     */
    thrum_time rescue_ns;

    /*
     * How many tasks the policy THRUM_FIFO hands out at once, rounded up to a power of two, at
     * least 1 and at most 65536. Default: 1024. Environment: THRUM_FIFO_BLOCK.
     */
    unsigned fifo_block;

    /*
     * The CPUs of the workers' threads, a thrum_affinity. If the system refuses them, the start
     * returns an error. Default: THRUM_AFFINITY_NONE. Environment: THRUM_AFFINITY, none (0), one
     * (1), any or cache.
     */
    unsigned affinity;

    /*
     * The CPUs that `affinity` chooses from, by the numbers of the system. It is not kept and needs
     * an affinity. NULL, the default: the CPUs that the thread that starts the scheduler may use.
     */
    const unsigned *cpus;

    /* The number of CPUs in `cpus`. */
    size_t cpus_count;

    /*
     * Whether a task stays on the worker that first ran it. Default: false. Environment:
     * THRUM_PIN_ALL, 0 or 1.
     */
    bool pin_all;

    /*
     * Whether a blocked task that a worker wakes runs next on it, before others that can go on (in
     * the LIFO slot; only with THRUM_SHARDED). Otherwise it runs behind these. Either way it runs
     * before tasks that have not begun, except when lifo_limit or global_interval lets one begin.
     * It holds for all wakes alike. Default: true. Environment: THRUM_WAKE_HINT, 0 or 1.
     */
    bool wake_hint;

    /*
     * Whether a bound thread that waits runs tasks of the workers meanwhile, if there are some. It
     * is not woken for them. Default: false.
     */
    bool help_when_bound;

    /*
     * How an overflow is kept from the neighbor of a stack. Default: THRUM_GUARD_AUTO. Environment:
     * THRUM_GUARD, auto, madvise, mprotect or canary.
     */
    thrum_guard guard;

    /*
     * Whether reports of stack overflows name the task. Default: true. Environment:
     * THRUM_CATCH_OVERFLOW, 0 or 1.
     */
    bool catch_overflow;

    /*
     * The reaction to deadlocks. Default: THRUM_DEADLOCK_OFF. Environment: THRUM_DEADLOCK, off,
     * report or abort.
     *
     * There is a deadlock if some task or bound thread waits and nothing inside the scheduler can
     * ever go on. Nothing is then runnable or runs, every bound thread sleeps in a call of the
     * library, no deadline is pending, and no blocking call is under way. A thread of the library
     * looks for it twice a second, and less often if many tasks wait. It reports the deadlock when
     * two looks have found it: half a second to 2.5 s after it began, if a look takes little and no
     * thread is waited for (see below). It is reported once, and again only after something has
     * run.
     *
     * There is also a deadlock if tasks and bound threads of one scheduler, and other threads that
     * have called it, wait for each other in a cycle, also while other tasks run. Each waits
     * without a deadline for a mutex, a rwlock that is held for writing, a once, the end of a task,
     * or the children of a scope. The same thread looks for cycles and reports each one once, also
     * if the other kind of deadlock is reported besides. The report is a chain with the calls of
     * each task and bound thread. A scheduler reports up to 64 cycles. A cycle is never reported
     * falsely; if a join is among the waits, the report adds that a cancel would end it.
     *
     * If the system refuses the thread, no cycle is found, and the last thread that goes to sleep
     * reports the other kind at once. If the system refuses the barrier that holds tasks, neither
     * kind is found. A stop waits for a report that is being printed. If stderr has not taken all
     * of it by the stop's deadline, the rest is omitted.
     *
     * The library cannot know of events from elsewhere. If a plain thread sleeps in a system call,
     * or has never called the scheduler, and posts or signals later, the report is a false alarm. A
     * plain thread that has called the scheduler, and computes or waits for a processor, is waited
     * for if the system describes that (Linux does), until 20 looks have found the deadlock. That
     * takes about ten seconds if a look takes little. A thread that holds a mutex for which a task
     * waits is waited for without limit, unless it waits itself, for something in the process and
     * without a deadline. The same holds for the thread that has the mutex for which that one
     * waits. Bind such threads (thrum_sched_bind): while a bound thread runs its own code, there is
     * no deadlock. Another scheduler is elsewhere, too. A sleep for ever has a pending deadline.
     */
    thrum_on_deadlock on_deadlock;

    /*
     * The most threads for calls that block (thrum_blocking), at least 1. Default: 256.
     * Environment: THRUM_BLOCKING_THREADS_MAX.
     */
    unsigned blocking_threads_max;

    /*
     * How long an idle one of these threads stays, in ns. Default: 10 s. Environment:
     * THRUM_BLOCKING_KEEPALIVE_MS, in milliseconds.
     */
    thrum_time blocking_keepalive;

    /*
     * The first argument of all hooks. The hooks follow; each may be NULL, which is the default.
     *
     * Hooks may be called on any thread that uses the scheduler, also while a primitive's list is
     * locked. They must not suspend, post, spawn, join, detach or use the library's primitives.
     */
    void *hook_ctx;

    /*
     * Called on a worker's thread, before its first task. For a spare it is called when the spare
     * first takes over, if it ever does. If the system has fewer threads than asked for, a start
     * ends the first ones, and begins again with fewer. worker_start and worker_stop are then
     * called, in pairs, also for the first ones.
     */
    void (*worker_start)(void *ctx, int worker);

    /* Called on a worker's thread, after its last task; for a spare, at the scheduler's end. */
    void (*worker_stop)(void *ctx, int worker);

    /*
     * Returns memory of `size` bytes below 2^48, aligned to 16 bytes, or NULL. Set `alloc` and
     * `free` both or neither; else the start returns -EINVAL.
     */
    void *(*alloc)(void *ctx, size_t size);

    /* Frees memory that `alloc` returned. */
    void (*free)(void *ctx, void *ptr);

    /*
     * Takes the one line of a task's misuse instead of stderr; if it returns, the program aborts. A
     * signal handler reports a stack overflow that faults, and therefore always to stderr.
     */
    void (*panic)(void *ctx, const char *line);

    /*
     * Takes the report of a deadlock, many lines, instead of stderr. If it is set, it is called
     * also if on_deadlock is THRUM_DEADLOCK_OFF.
     */
    void (*deadlock)(void *ctx, const char *report);

    /*
     * After how many milliseconds of one run, without a wait or a yield, a worker's task is
     * reported as a stall. Default: 0, never, without a thread for it. Environment: THRUM_STALL_MS,
     * 0 to 1000000.
     *
     * Each stall is reported once, to stderr or to the `stall` hook: the task's name and function,
     * its time, its backtrace, the work that waits behind it, and whether any worker is free. The
     * report comes between one and one and a half times `stall_ms` after the task began or went on.
     * It comes later if the machine is busy, and by up to half a second if a task has blocked all
     * signals. While this is on, each run costs a few instructions; while it is off, none.
     *
     * A thread of the library makes the reports, also while all workers are busy. It looks twice in
     * `stall_ms` while any worker runs, and sleeps while all sleep, unless the system has no
     * barrier for it (membarrier). If the system refuses the thread, nothing is reported. Bound
     * threads are not watched. A stop waits for a report that is being printed. If stderr has not
     * taken all of it by the stop's deadline, the rest is omitted.
     *
     * The thread reads the calls of a task that waits in a system call from outside. It asks one
     * that computes by a signal, which only workers take. The handler runs on the worker's
     * alternate stack and restarts system calls. The system never restarts some calls (sleeps,
     * poll); these may, very seldom, end with EINTR, if the thread begins one at that moment.
     */
    unsigned stall_ms;

    /*
     * The number of that signal, used only while stall_ms is not 0; 0: none. Environment:
     * THRUM_STALL_SIGNAL, 0 to 64. Default: THRUM_SIGNAL_AUTO, the highest real-time signal below
     * SIGRTMAX that has its default action, is not dump_signal, and is not blocked by the thread
     * that starts the scheduler.
     *
     * Without a signal, reports omit the calls of tasks that compute. There is none if the value is
     * 0 or all real-time signals are used. There is also none if the program has set an action for
     * this signal, before the start or since. SIGKILL, SIGSTOP, SIGPIPE, SIGSYS and the signals of
     * faults count as none. The signal has its default action again when the last scheduler that
     * uses it has stopped.
     */
    unsigned stall_signal;

    /*
     * Takes the report of a stall, many lines, instead of stderr, on the thread that watches. A
     * stop waits until it returns; a stop that it makes itself returns -EDEADLK.
     */
    void (*stall)(void *ctx, const char *report);

    /*
     * The signal at which this scheduler is dumped to stderr, as by thrum_dump (THRUM_TEXT).
     * Default: 0, none. Environment: THRUM_DUMP, QUIT, SIGQUIT, RTMIN+1, RTMAX-1 and the like in
     * any case of letters, a number, or off; one line on stderr reports a value that is no such
     * signal. A fault is none, nor is a signal that a thread causes itself (SIGPIPE).
     *
     * A thread of the library prints the dumps; it exists while some scheduler has such a signal.
     * Signals that come during a dump cause one more dump. The default action of the signal does
     * not happen. A handler that the program set before the start is called as well, after the
     * library's handler has asked for the dump. A handler that the program sets later replaces the
     * library's, and stays. thrum_signal_wait gets the signal as well. A signal that the program
     * blocks in all of its threads stays blocked, and causes no dump.
     *
     * After the stop of the last scheduler the signal has its previous action. In the child of a
     * fork it has that at once, until the child starts a scheduler. A stop waits for a dump that is
     * being printed. If stderr has not taken all of it by the stop's deadline, the rest is omitted.
     *
     * A start returns -EBUSY if the program has put handlers before the library's for the third
     * time, and -EAGAIN or -ENOMEM if there is no thread. If THRUM_DUMP names the signal, the start
     * goes on without dumps instead, and one line on stderr has the reason.
     */
    int dump_signal;

    /*
     * Whether the flight recorder is on: a trace (thrum/trace.h) that begins at the start and keeps
     * the latest 32767 events of each worker. Default: false. Environment: THRUM_TRACE, off or on.
     *
     * It is written to a file, for thrum-timeline, at the dump signal, and at the report of a stall
     * (at most once in ten seconds). It is also written when the program is about to end by
     * SIGSEGV, SIGBUS, SIGILL, SIGFPE or SIGABRT; misuse, stack overflows and abort cause these.
     * Then one line on stderr has the signal, the address, the worker, and the task's number, name
     * and function, and the program ends as it would have. Functions are shown as places in their
     * files (thrum-names). If the program has a handler of its own for such a signal, that is
     * called, and nothing is written.
     *
     * Each writing replaces the file. One line on stderr has its name, if stderr takes it within a
     * fifth of a second. The handlers stay until the process ends; without a scheduler that is
     * recorded they report nothing. While the trace is on, thrum_trace_start returns -EALREADY;
     * thrum_trace_stop turns it off like any other. At most sixteen schedulers of a process have a
     * file at a time; the second is "FILE.2", or "thrum-PID-2.trace.json". A start without memory
     * for the trace returns -ENOMEM. If THRUM_TRACE asks for it, the start goes on without it
     * instead, and one line on stderr reports it.
     */
    bool trace;

    /*
     * The name of that file, at most 900 bytes; copied at the start. Default: NULL,
     * "thrum-PID.trace.json" in the directory that is current when it is written. Environment:
     * THRUM_TRACE_FILE.
     */
    const char *trace_file;

    /*
     * Whether thrum-top can observe this scheduler from outside. Default: false. Environment:
     * THRUM_OBSERVE, 0 or 1.
     *
     * While some scheduler of the process asks for it, a thread of the library listens at a UNIX
     * socket, $XDG_RUNTIME_DIR/thrum/PID or /tmp/thrum-UID/PID, which only the process's user and
     * root may use. It answers with the JSON of thrum_metrics_print and thrum_dump. On Windows it
     * listens at a port, for clients that have the key (docs/windows.md). It sleeps while no client
     * asks. If the system refuses the socket or the thread, the scheduler starts without it. A stop
     * waits for an answer that is being made, not for its reader. In the child of a fork there is
     * none until the child starts a scheduler.
     */
    bool observe;

    /*
     * A pointer for the program's own use, which thrum_sched_data returns. With it, the tasks of
     * this scheduler share an object without a global variable. Default: NULL.
     */
    void *data;
} thrum_config;

/*
 * Fills in the defaults, and then the values of the environment.
 *
 * Parameters:
 *   config  the memory of the options
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example: examples/config.c
 * See also: thrum_config, thrum_config_check, thrum_run
 */
THRUM_API void thrum_config_init(thrum_config *config);

/*
 * Returns how many processors the system grants. That is the number in the calling thread's
 * affinity mask or, if it is smaller, the smallest CPU quota of the process's cgroups, rounded up.
 * A quota that cannot be read does not count.
 *
 * A scheduler that this thread starts with THRUM_WORKERS_AUTO, and without `cpus`, has that many
 * workers, but at most THRUM_WORKERS_MAX.
 *
 * Returns: the number, at least 1.
 * Context: any thread; never suspends. It reads files of the system, so it blocks the thread for a
 *   moment.
 * Ordering: none.
 * Example:
 *    config.workers = thrum_cpus_granted() / 2 + 1;
 * See also: thrum_sched_parallelism
 */
THRUM_API unsigned thrum_cpus_granted(void);

/*
 * Checks whether a start accepts the options, and names the first field that is out of its range.
 * Only the start itself finds out whether the system refuses CPUs, threads or memory.
 *
 * Parameters:
 *   config  the options; NULL, the defaults, is accepted
 *   text    gets "", or a line that names the field and its allowed values; cut to `size` bytes
 *           with the terminating zero; may be NULL if `size` is 0
 *   size    the size of the text in bytes
 * Returns: 0, or a negative error code.
 * Errors:
 *   -EINVAL  a start would refuse the field that the text names
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example: examples/config.c
 * See also: thrum_config_init, thrum_sched_start
 */
THRUM_API int thrum_config_check(const thrum_config *config, char *text, size_t size);

THRUM_END_DECLS

#endif
