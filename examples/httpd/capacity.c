/*
 * capacity.c: see capacity.h.
 */
#include "capacity.h"

#include "system.h"

/* stdin, stdout, stderr, the listener, the root, the log, signals, and a reserve. */
enum { OTHERS = 16 };

unsigned capacity_connections(const thrum_sched *sched, size_t wanted) {
    /* A worker has two: a set of descriptors, and its wake-up. */
    const uint64_t others = OTHERS + 2 * (uint64_t)thrum_sched_workers(sched);
    const uint64_t all = system_descriptors();
    const uint64_t most = all > others + 2 ? (all - others) / 2 : 1;
    return (unsigned)(wanted < most ? wanted : most);
}
