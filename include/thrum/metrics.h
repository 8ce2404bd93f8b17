/*
 * thrum/metrics.h: counters of a scheduler, and figures about its present state.
 *
 * Each counter has one writer and is read without stopping that writer. Every figure is a value
 * that the counter had, and a later reading is never smaller. Figures of one reading may be some
 * nanoseconds apart.
 *
 * The figures from `queued_local` to `blocking_running` are not counters: they describe the present
 * and can fall. Items that came and went during the reading may be counted.
 */
#ifndef THRUM_METRICS_H
#define THRUM_METRICS_H

#include <stdio.h>

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/*
 * The figures of one worker or of all workers, filled in by thrum_metrics_read. The struct is the
 * caller's, and is initialized by THRUM_METRICS_INIT.
 */
typedef struct thrum_metrics {
    size_t size;      /* sizeof(thrum_metrics); set by the initializer */
    unsigned workers; /* the number of workers that the figures are of, without spares that have
                         never taken over */

    /* Work that was run, by its origin; the sum of the five is all work that was run. */
    uint64_t runs_lifo;   /* from the LIFO slot */
    uint64_t runs_ring;   /* from the worker's own queues, wherever it was queued before */
    uint64_t runs_inject; /* taken from a queue that all workers share and run at once */
    uint64_t runs_stolen; /* taken from another worker and run at once */
    uint64_t runs_pinned; /* from the pinned inbox */

    uint64_t tasks_started;  /* task bodies begun */
    uint64_t fibers_resumed; /* fibers that went on after a wait */

    uint64_t steals_tried; /* searches through the other workers */
    uint64_t steals_done;  /* searches through the other workers that found something */
    uint64_t stolen;       /* work taken by these searches */
    uint64_t rescues;      /* work taken from a worker that did not come round */

    uint64_t offloads;  /* times that a full queue spilled into the inject queue */
    uint64_t offloaded; /* work moved by these spills */

    uint64_t parks;        /* times that a worker parked; one that then looks from time to time
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
    uint64_t stacks_reused;    /* idle fibers that workers took from the scheduler's store; the
                                  reuse of a worker's own idle fibers does not count */
    uint64_t stacks_freed;     /* stacks given back to the system */
    uint64_t stack_high_water; /* the most bytes of a stack in use, when it was kept or parked */

    uint64_t blocking_calls;   /* calls of thrum_blocking (only for all workers) */
    uint64_t blocking_threads; /* threads of the blocking pool at present (only for all workers) */
    uint64_t futex_waits;      /* system calls: sleeps of workers */
    uint64_t futex_wakes;      /* system calls: wakes sent by workers; for all workers including the
                                  wakes of external threads */

    uint64_t stalls;            /* times that a worker was found held up by one task (thrum_config,
                                   stall_rescue_ms); only for all workers, printed as `external` */
    uint64_t spare_activations; /* times that a spare worker began to take over */

    /* Descriptors. Reads, writes and waits of plain threads belong to no scheduler and are not
     * counted. */
    uint64_t io_waits;         /* waits of tasks and bound threads until a descriptor was ready,
                                  without selects */
    uint64_t io_read_bytes;    /* bytes read, and received in messages */
    uint64_t io_written_bytes; /* bytes written, and sent in messages */
    uint64_t io_accepts;       /* connections accepted */
    uint64_t io_posts;         /* tasks posted by thrum_io_on, to wait for a descriptor */
    uint64_t io_served;        /* connections that functions of thrum_serve have at present (only
                                  for all workers) */
    uint64_t polls;            /* system calls: polls of sets of descriptors, and sleeps in one */
    uint64_t poll_events;      /* descriptors that these found ready */
    uint64_t wakes_polling;    /* among the wakes sent, those of a worker that slept in its set */

    /* The present state: these figures can fall. All but queued_local exist only for all
     * workers. */
    uint64_t queued_local;     /* work queued at a worker: in its slot and its own queues, without
                                  the inject queue, pinned work, and work that the policy `fifo` has
                                  yet to publish */
    uint64_t runnable;         /* tasks and fibers that are queued or run, and poll sources with
                                  operations under way */
    uint64_t tasks_alive;      /* tasks that were posted or spawned and have not ended: they are
                                  runnable or wait, also for their deadline or a wakeup */
    uint64_t tasks_deferred;   /* tasks that wait until there is memory for a stack */
    uint64_t timers;           /* waits and tasks with a deadline to come */
    uint64_t stacks;           /* stacks of fibers, including those kept for the next ones */
    uint64_t stack_bytes;      /* their address space without guards; pages that were never touched
                                  take no memory */
    uint64_t blocking_queued;  /* calls of thrum_blocking that wait for a thread */
    uint64_t blocking_running; /* calls of thrum_blocking that a thread is in */

    uint64_t stalls_reported; /* a counter: stalls reported (thrum_config, stall_ms; only for all
                                 workers) */

    /* Times in nanoseconds, each a lower bound. No clock is read for them while tasks run. It is
     * read by looks that are made anyway: by a worker that sleeps, a spare, an answer to thrum-top,
     * and each reading of metrics. For all workers, they are the longest. */
    uint64_t queued_oldest_ns; /* at present: how long the first work has waited in the worker's
                                  queue or pinned inbox, for all workers also in the inject queue.
                                  0: not known, or none waits. With the policies `fifo` and `global`
                                  only pinned work is known */
    uint64_t running_ns;       /* at present: how long a task has run without a wait or a yield to
                                  another */
    uint64_t longest_run_ns;   /* so far: the longest running_ns; it never falls */
} thrum_metrics;

/* The initializer of a thrum_metrics: the size that the program knows, and zeros. */
/* clang-format off */
#define THRUM_METRICS_INIT { sizeof(thrum_metrics), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
                             0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, \
                             0, 0, 0, 0, 0, 0, 0, 0, 0, \
                             0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }
/* clang-format on */

/* In place of a worker's number: all workers. */
#define THRUM_ALL_WORKERS (-1)

/* The format of printed metrics and dumps. */
typedef enum {
    THRUM_TEXT,       /* text for people */
    THRUM_PROMETHEUS, /* the text format that Prometheus collects */
    THRUM_JSON        /* JSON */
} thrum_format;

/*
 * Reads the figures of one worker, or those of all workers. `out->size` is the size of the struct
 * that the program knows: newer figures are left out.
 *
 * Parameters:
 *   sched          the scheduler
 *   worker_or_all  the number of a worker, from 0, or THRUM_ALL_WORKERS
 *   out            gets the figures; its `size` was set by THRUM_METRICS_INIT
 * Returns: 0, or a negative error code with *out unchanged.
 * Errors:
 *   -EINVAL     sched or out is NULL, there is no such worker, or `size` was not set
 *   -ESHUTDOWN  the scheduler has been stopped, or is that of a fork's parent
 * Context: any thread; never suspends. The hooks `alloc` and `free` must not call it, since a
 *   reading of all workers takes locks.
 * Ordering: none.
 * Example: examples/metrics.c
 * See also: thrum_metrics_print
 */
THRUM_API int thrum_metrics_read(const thrum_sched *sched, int worker_or_all, thrum_metrics *out);

/*
 * Prints all figures. As THRUM_TEXT there is a column for each worker and one for all; with many
 * workers, columns for the smallest and the largest figure of a worker instead.
 *
 * As THRUM_PROMETHEUS a counter's name ends in `_total`, and times are in seconds:
 * thrum_parks_total, thrum_running_seconds. A page for Prometheus has the figures of one scheduler
 * only. With two, each HELP line would be there twice, and Prometheus refuses the page.
 *
 * Parameters:
 *   sched   the scheduler
 *   out     the stream, which stays the caller's and is flushed
 *   format  THRUM_TEXT, THRUM_PROMETHEUS or THRUM_JSON
 * Returns: 0, or a negative error code.
 * Errors:
 *   -EINVAL     sched or out is NULL, or the format is unknown
 *   -EIO        something could not be written, now or earlier: the stream's error flag is set
 *   -ESHUTDOWN  the scheduler has been stopped, or is that of a fork's parent
 * Context: any thread; never suspends. It blocks the thread, and so a task's worker, while it
 *   prints.
 * Ordering: none.
 * Example: examples/metrics.c
 * See also: thrum_metrics_read, thrum_dump
 */
THRUM_API int thrum_metrics_print(const thrum_sched *sched, FILE *out, thrum_format format);

THRUM_END_DECLS

#endif
