/*
 * thrum/metrics.h: what the workers count while they run.
 *
 * Each counter has one writer and is read without stopping it: every figure is a value that the
 * counter had, and a later reading is never smaller, but figures of one reading may be some
 * nanoseconds apart. Those from queued_local to blocking_running are no counters: they say how much
 * there is at the moment; what began and ended while the reading went on may count as there.
 */
#ifndef THRUM_METRICS_H
#define THRUM_METRICS_H

#include <stdio.h>

#include "thrum/base.h"

THRUM_BEGIN_DECLS

typedef struct thrum_metrics {
    size_t size;      /* sizeof(thrum_metrics); set by the init */
    unsigned workers; /* the number of workers that the figures are of: without spares that have
                         never took over */

    /* Work that was run, by where it came from. The sum of the five is all that was run. */
    uint64_t runs_lifo;   /* the LIFO slot */
    uint64_t runs_ring;   /* the worker's own queue */
    uint64_t runs_inject; /* the inject queue */
    uint64_t runs_stolen; /* taken from another worker and run at once */
    uint64_t runs_pinned; /* the pinned inbox */

    uint64_t tasks_started;  /* bodies begun */
    uint64_t fibers_resumed; /* fibers that went on after a wait */

    uint64_t steals_tried; /* searches through the other workers */
    uint64_t steals_done;  /* searches through the other workers that found something */
    uint64_t stolen;       /* work taken by these searches */
    uint64_t rescues;      /* work taken from a worker that did not come round */

    uint64_t offloads;  /* times a full queue spilled into the inject queue */
    uint64_t offloaded; /* work moved by these spills */

    uint64_t parks;        /* times a worker parked; one that then looks from time to time
                              (the sentinel) sleeps more often: see futex_waits */
    uint64_t wakes_submit; /* wakes sent because of new work */
    uint64_t wakes_chain;  /* wakes sent because a searcher found more than it needed */
    uint64_t wakes_pinned; /* wakes sent because of pinned work */
    uint64_t wakes_timer;  /* sleeps that ended by themselves (sentinel, backing off) */
    uint64_t wakes_empty;  /* wakes that found nothing */

    uint64_t switches; /* context switches between fibers */
    uint64_t suspends; /* waits and yields that gave up the worker */
    uint64_t yields;   /* yields that let others pass */

    uint64_t stacks_created;   /* fibers that were set up */
    uint64_t stacks_reused;    /* fibers taken from a cache */
    uint64_t stacks_freed;     /* stacks given back to the system */
    uint64_t stack_high_water; /* the most bytes of a stack in use, seen when kept or parked */

    uint64_t blocking_calls;   /* thrum_blocking (all workers' only) */
    uint64_t blocking_threads; /* threads of the blocking pool at present (all workers' only) */
    uint64_t futex_waits;      /* system calls: sleeps of workers */
    uint64_t futex_wakes;      /* system calls: wakes sent by workers; the sum of all workers
                                  includes those sent by external threads */

    uint64_t stalls; /* times a worker was found held up by one task (config: stall_rescue_ms;
                          none of one worker; printed with the worker `external`) */
    uint64_t spare_activations; /* times a spare worker began to take over */

    /* Descriptors. What plain threads read, write and wait for belongs to no scheduler, and is not
     * counted. */
    uint64_t io_waits;         /* waits of tasks and bound threads until a descriptor was ready; no
                                  selects */
    uint64_t io_read_bytes;    /* bytes read, and received in messages */
    uint64_t io_written_bytes; /* bytes written, and sent in messages */
    uint64_t io_accepts;       /* connections accepted */
    uint64_t io_posts;         /* tasks posted by thrum_io_on, to wait for a descriptor */
    uint64_t io_served;        /* connections that functions of thrum_serve have at present (all
                                  workers' only) */
    uint64_t polls;            /* system calls: polls of sets of descriptors, and sleeps in one */
    uint64_t poll_events;      /* descriptors that these found ready */
    uint64_t wakes_polling;    /* of the wakes those of a worker that slept in its set */

    /* What there is at present: these can fall. All but queued_local are told for all workers
     * together only. */
    uint64_t queued_local;    /* queued at a worker: its slot and its own queues; not the inject
                                  queue, nor pinned work, nor what `fifo` has yet to publish */
    uint64_t runnable;        /* tasks and fibers that are queued or run, wherever; and poll sources
                                  with operations under way */
    uint64_t tasks_alive;     /* tasks that were posted or spawned and have not ended: those that
                                  are runnable or wait, also for their deadline or a wakeup */
    uint64_t tasks_deferred;  /* tasks that wait until there is memory for a stack */
    uint64_t timers;          /* waits and tasks with a deadline to come */
    uint64_t stacks;          /* stacks of fibers, those kept for the next ones included */
    uint64_t stack_bytes;     /* their address space without guards; what was never touched takes no
                                  memory */
    uint64_t blocking_queued; /* calls of thrum_blocking that wait for a thread */
    uint64_t blocking_running; /* calls of thrum_blocking that a thread is in */

    uint64_t stalls_reported; /* a counter: stalls reported (config: stall_ms; all workers'
                             only) */

    /* Times in nanoseconds, each "at least so much": no clock is read for them while tasks run,
     * but by whoever looks at workers anyway, such as a worker that sleeps, a spare, the answers
     * to thrum-top, and each reading of metrics. Of all workers the longest. */
    uint64_t queued_oldest_ns; /* at present: the first of a worker's queue, its pinned work, or
                                  (all workers' only) the inject queue has waited; 0: not known,
                                  or none waits; not known with `fifo` and `global` but for pinned
                                  work */
    uint64_t running_ns;       /* at present: a task has run without a wait or a yield to another */
    uint64_t longest_run_ns;   /* so far: as running_ns; it never falls */
} thrum_metrics;

/* The initializer of what thrum_metrics_read fills in. */
/* clang-format off */
#define THRUM_METRICS_INIT { sizeof(thrum_metrics), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
                             0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
                             0, 0, 0, 0, 0, 0, 0, 0, 0, \
                             0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
/* clang-format on */

/* In place of a worker's number: the sum over all workers. */
#define THRUM_ALL_WORKERS (-1)

/* What is printed: for people, for Prometheus to collect, or as JSON. */
typedef enum { THRUM_TEXT, THRUM_PROMETHEUS, THRUM_JSON } thrum_format;

/*
 * Reads the counters of one worker, or the sum of all, into `*out`, whose `size` says how much of
 * it the program knows. Any thread may call it while the scheduler lives, but not from the hooks
 * `alloc` and `free`: a reading of all takes locks. It never suspends. It
 * returns 0, or with `*out` unchanged -EINVAL for NULL and for a worker or a `size` that does not
 * exist, and -ESHUTDOWN after the scheduler's stop.
 */
THRUM_API int thrum_metrics_read(const thrum_sched *sched, int worker_or_all, thrum_metrics *out);

/*
 * Prints all counters: as text, a column for each worker and the sum, or in the named format. For
 * Prometheus a counter's name ends in `_total`, and times are in seconds: thrum_parks_total,
 * thrum_running_seconds. A page for Prometheus has the figures of one scheduler: two on one page
 * would have each HELP line twice, and are refused. The stream stays the caller's, and is flushed.
 * Any thread may call it while the scheduler lives. It never suspends, but blocks the thread, and
 * so a task's worker, for the time of the printing. It returns 0, -EINVAL for NULL or an unknown
 * format, -EIO when something could not be written, now or earlier (the stream's error flag is
 * set), or -ESHUTDOWN after the scheduler's stop.
 */
THRUM_API int thrum_metrics_print(const thrum_sched *sched, FILE *out, thrum_format format);

THRUM_END_DECLS

#endif
