/*
 * driver.c: the scheduler's slots for its drivers.
 */
#include "core/state/driver.h"

#include <string.h>

#include "core/state/worker.h"
#include "platform/platform.h"

void **th_sched_driver_slot(thrum_sched *sched, const th_driver *driver) {
    void **slot = NULL;
    TH_LOCKED(&sched->drivers_lock);
    for (int i = 0; i < TH_DRIVERS_MAX; i++) {
        if (!sched->drivers[i]) {
            sched->drivers[i] = driver;
        }
        if (sched->drivers[i] == driver) {
            slot = &sched->driver_instances[i];
            break;
        }
    }
    return slot;
}

void *th_sched_driver(thrum_sched *sched, const th_driver *driver) {
    void **slot = th_sched_driver_slot(sched, driver);
    if (!slot) {
        return NULL; /* GCOVR_EXCL_LINE: there is a place for each driver */
    }
    /* pairs: th_sched_driver; the instance that another caller made */
    void *instance = th_load_acquire(slot);
    if (th_unlikely(!instance)) {
        void *made = driver->make(sched);
        /* pairs: th_sched_driver; publishes it, or adopts that of a faster caller */
        if (!made || th_cas_acq_rel_acquire_both(slot, &instance, made)) {
            return made;
        }
        driver->stop(made);
    }
    return instance;
}

void th_drivers_metrics(const thrum_sched *of, thrum_metrics *metrics) {
    thrum_sched *sched = (thrum_sched *)(uintptr_t)of; /* only its lock is written */
    TH_LOCKED(&sched->drivers_lock);                   /* no instance is stopped meanwhile */
    for (int i = 0; i < TH_DRIVERS_MAX; i++) {
        /* pairs: th_sched_driver; the instance */
        void *instance = th_load_acquire(&sched->driver_instances[i]);
        if (instance && sched->drivers[i]->metrics) {
            sched->drivers[i]->metrics(instance, metrics);
        }
    }
}

static void *take_instance(thrum_sched *sched, int i) {
    TH_LOCKED(&sched->drivers_lock);
    void *instance = sched->driver_instances[i];
    /* relaxed: readings of the metrics have the lock; no task is left that could ask or make one */
    th_store_relaxed(&sched->driver_instances[i], NULL);
    return instance;
}

void th_drivers_stop(thrum_sched *sched) {
    for (int i = 0; i < TH_DRIVERS_MAX; i++) {
        void *instance = take_instance(sched, i);
        if (instance) {
            sched->drivers[i]->stop(instance);
        }
    }
}

const thrum_config *th_sched_config(const thrum_sched *sched) {
    return &sched->config;
}

const th_os_cpuset *th_sched_cpus(const thrum_sched *sched) {
    return sched->cpus;
}

void *th_sched_alloc(thrum_sched *sched, size_t size) {
    void *ptr = sched->config.alloc(sched->config.hook_ctx, size);
    return ptr ? memset(ptr, 0, size) : NULL;
}

void th_sched_free(thrum_sched *sched, void *ptr) {
    if (ptr) {
        sched->config.free(sched->config.hook_ctx, ptr);
    }
}
