/*
 * blocking.c: thrum_blocking, and the blocking pool as a driver (core/state/driver.h).
 */
#include "thrum/blocking.h"

#include "base/atomic.h"
#include "core/state/driver.h"
#include "core/state/worker.h"
#include "pools/blocking_pool.h"
#include "thrum/sched.h"

static void stop(void *instance) {
    th_blocking_pool_free(instance);
}

static void add_metrics(void *instance, thrum_metrics *metrics) {
    metrics->blocking_calls += th_blocking_pool_calls(instance);
    metrics->blocking_threads += th_blocking_pool_threads(instance);
    uint32_t queued;
    uint32_t running;
    th_blocking_pool_load(instance, &queued, &running);
    metrics->blocking_queued += queued;
    metrics->blocking_running += running;
}

static const th_driver driver = {.name = "blocking", .stop = stop, .metrics = add_metrics};

/* The scheduler's pool, which the first call makes; NULL: no memory. */
static th_blocking_pool *pool_of(thrum_sched *sched) {
    void **slot = th_sched_driver_slot(sched, &driver);
    if (slot == NULL) {
        return NULL; /* GCOVR_EXCL_LINE: there is a place for each driver */
    }
    /* pairs: pool_of; the pool that another caller made */
    void *pool = th_load_acquire(slot);
    if (th_unlikely(pool == NULL)) {
        th_blocking_pool *made = th_blocking_pool_new(sched);
        /* pairs: pool_of; publishes the pool, or takes over the one of a caller that was first */
        if (made == NULL || th_cas_acq_rel_acquire_both(slot, &pool, (void *)made)) {
            return made;
        }
        th_blocking_pool_free(made);
    }
    return pool;
}

int thrum_blocking(thrum_fn fn, void *arg, int *result) {
    int value = 0;
    int code = 0;
    if (fn == NULL) {
        return -EINVAL;
    }
    thrum_sched *sched = thrum_sched_current();
    if (sched == NULL) {
        value = fn(arg);
    } else {
        th_blocking_pool *pool = pool_of(sched);
        code = pool == NULL ? -ENOMEM : th_blocking_pool_run(pool, fn, arg, &value);
    }
    if (code == 0 && result != NULL) {
        *result = value;
    }
    return code;
}
