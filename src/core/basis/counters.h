/*
 * counters.h: the counters of a worker. Each has one writer, which needs no locked instruction;
 * thrum_metrics_read reads them.
 */
#ifndef TH_COUNTERS_H
#define TH_COUNTERS_H

#include "base/atomic.h"

/* The order is that of thrum_metrics, without the fields that workers do not count. */
#define TH_COUNTERS(X)                                                                             \
    X(runs_lifo)                                                                                   \
    X(runs_ring)                                                                                   \
    X(runs_inject)                                                                                 \
    X(runs_stolen)                                                                                 \
    X(runs_pinned)                                                                                 \
    X(tasks_started)                                                                               \
    X(fibers_resumed)                                                                              \
    X(steals_tried)                                                                                \
    X(steals_done)                                                                                 \
    X(stolen)                                                                                      \
    X(rescues)                                                                                     \
    X(stalls)                                                                                      \
    X(spare_activations)                                                                           \
    X(offloads)                                                                                    \
    X(offloaded)                                                                                   \
    X(parks)                                                                                       \
    X(wakes_submit)                                                                                \
    X(wakes_chain)                                                                                 \
    X(wakes_pinned)                                                                                \
    X(wakes_timer)                                                                                 \
    X(wakes_empty)                                                                                 \
    X(switches)                                                                                    \
    X(suspends)                                                                                    \
    X(yields)                                                                                      \
    X(stacks_created)                                                                              \
    X(stacks_reused)                                                                               \
    X(stacks_freed)                                                                                \
    X(futex_waits)                                                                                 \
    X(futex_wakes)                                                                                 \
    X(io_waits)                                                                                    \
    X(io_read_bytes)                                                                               \
    X(io_written_bytes)                                                                            \
    X(io_accepts)                                                                                  \
    X(io_posts)                                                                                    \
    X(polls)                                                                                       \
    X(poll_events)                                                                                 \
    X(wakes_polling)

#define TH_COUNTER_FIELD(name) uint64_t x##name;
typedef struct th_counters {
    TH_COUNTERS(TH_COUNTER_FIELD)
} th_counters;
#undef TH_COUNTER_FIELD

/* Adds the counters of a thread that has ended to a sum that several threads add to. */
static inline void th_counters_add(th_counters *sum, const th_counters *ended) {
    /* relaxed: figures to look at */
#define TH_COUNTER_ADD(name) th_add_relaxed(&sum->x##name, ended->x##name);
    TH_COUNTERS(TH_COUNTER_ADD)
#undef TH_COUNTER_ADD
}

#endif
