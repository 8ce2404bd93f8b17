/*
 * offload.h: thrum_blocking that does not fail for want of threads.
 */
#ifndef TREESUM_OFFLOAD_H
#define TREESUM_OFFLOAD_H

#include <errno.h>
#include <stddef.h>
#include <thrum.h>

/*
 * Runs fn(arg) on the blocking pool, or here when not even one thread can be had: then it holds up
 * this worker, which is better than to fail. Returns 0, or -ECANCELED: it was not called.
 */
static inline int offload(thrum_fn fn, void *arg, int *result) {
    int err = thrum_blocking(fn, arg, result);
    if (err == 0 || err == -ECANCELED) {
        return err;
    }
    int got = fn(arg);
    if (result) {
        *result = got;
    }
    return 0;
}

#endif
