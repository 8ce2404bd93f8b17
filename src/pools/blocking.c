/*
 * blocking.c: thrum_blocking, and the blocking pool as a driver (core/state/driver.h).
 */
#include "thrum/blocking.h"

#include "core/state/driver.h"
#include "core/state/worker.h"
#include "pools/blocking_pool.h"
#include "thrum/sched.h"

static void *make(thrum_sched *sched) {
    return th_blocking_pool_new(sched);
}

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

static const th_driver driver = {
    .name = "blocking", .make = make, .stop = stop, .metrics = add_metrics};

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
        th_blocking_pool *pool = th_sched_driver(sched, &driver);
        code = pool == NULL ? -ENOMEM : th_blocking_pool_run(pool, fn, arg, &value);
    }
    if (code == 0 && result != NULL) {
        *result = value;
    }
    return code;
}
