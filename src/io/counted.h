/*
 * counted.h: the figures of thrum_metrics that are about descriptors.
 *
 * The worker that the caller is on at that moment counts. A plain thread's calls belong to no
 * scheduler, and are not counted. No locked instruction.
 */
#ifndef TH_COUNTED_H
#define TH_COUNTED_H

#include "base/atomic.h"
#include "core/state/worker.h"
#include "core/trace/trace_notes.h"

/* Adds n to a counter of th_counters. Not across anything that may switch. */
#define TH_IO_COUNT(xcounter, n)                                                                   \
    do {                                                                                           \
        th_worker *here_ = th_here();                                                              \
        if (here_) {                                                                               \
            th_count(&here_->counters.xcounter, (uint64_t)(n));                                    \
        }                                                                                          \
    } while (0)

/* A call of the system's on it has returned n: bytes, or a code. Traces have it, too. */
static inline void th_counted_read(int fd, int64_t n) {
    th_worker *here = n > 0 ? th_here() : NULL;
    if (here) {
        th_count(&here->counters.xio_read_bytes, (uint64_t)n);
        if (th_is_traced(here)) {
            th_trace_moves(here, TH_TRACED_READ, fd, (uint64_t)n);
        }
    }
}

static inline void th_counted_written(int fd, int64_t n) {
    th_worker *here = n > 0 ? th_here() : NULL;
    if (here) {
        th_count(&here->counters.xio_written_bytes, (uint64_t)n);
        if (th_is_traced(here)) {
            th_trace_moves(here, TH_TRACED_WROTE, fd, (uint64_t)n);
        }
    }
}

#endif
