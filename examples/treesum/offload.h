/*
 * offload.h: thrum_blocking that always happens.
 */
#ifndef TREESUM_OFFLOAD_H
#define TREESUM_OFFLOAD_H

#include <thrum.h>

/*
 * Runs fn(arg) on the blocking pool, or here when not even one thread can be had: then it holds up
 * this worker, which is better than to fail. Returns what fn returned.
 */
static inline int offload(thrum_fn fn, void *arg) {
    int result;
    return thrum_blocking(fn, arg, &result) == 0 ? result : fn(arg);
}

#endif
