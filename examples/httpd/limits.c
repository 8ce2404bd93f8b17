/*
 * limits.c: see limits.h.
 */
#include "limits.h"

#include <sys/resource.h>

/* stdin, stdout, stderr, the listener, the root, the log, signals, and what is not thought of. */
enum { OTHERS = 16 };

unsigned limits_connections(const thrum_sched *sched, size_t wanted) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return (unsigned)wanted;
    }
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        getrlimit(RLIMIT_NOFILE, &limit);
    }
    /* A worker has two: a set of descriptors, and what wakes it. */
    rlim_t others = OTHERS + 2 * (rlim_t)thrum_sched_workers(sched);
    rlim_t most = limit.rlim_cur > others + 2 ? (limit.rlim_cur - others) / 2 : 1;
    return (unsigned)(wanted < most ? wanted : most);
}
