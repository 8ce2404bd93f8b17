/*
 * counted.h: the figures of thrum_metrics that are about descriptors.
 *
 * The worker that the caller is on at that moment counts. What a plain thread does belongs to no
 * scheduler, and is not counted. No locked instruction.
 */
#ifndef TH_COUNTED_H
#define TH_COUNTED_H

#include "base/atomic.h"
#include "core/state/worker.h"

/* Adds n to a counter of th_counters. Not across anything that may switch. */
#define TH_IO_COUNT(xcounter, n)                                                                   \
    do {                                                                                           \
        th_worker *here_ = th_here();                                                              \
        if (here_) {                                                                               \
            th_count(&here_->counters.xcounter, (uint64_t)(n));                                    \
        }                                                                                          \
    } while (0)

/* A call of the system's has returned n: bytes, or a code. */
static inline void th_counted_read(int64_t n) {
    if (n > 0) {
        TH_IO_COUNT(xio_read_bytes, n);
    }
}

static inline void th_counted_written(int64_t n) {
    if (n > 0) {
        TH_IO_COUNT(xio_written_bytes, n);
    }
}

#endif
