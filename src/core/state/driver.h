/*
 * driver.h: how the core reaches layers built on it (the blocking pool) without naming them.
 *
 * A driver has one instance per scheduler, made at first use and kept in the scheduler's slot for
 * the driver.
 */
#ifndef TH_DRIVER_H
#define TH_DRIVER_H

#include "base/cc.h"
#include "platform/platform.h"
#include "thrum/config.h"
#include "thrum/metrics.h"

#define TH_DRIVERS_MAX 8

typedef struct th_driver {
    const char *name;
    void *(*make)(thrum_sched *sched); /* makes an instance; NULL: no memory */
    void (*stop)(void *instance);      /* frees the instance; called when every fiber has ended */
    void (*metrics)(void *instance, thrum_metrics *metrics); /* adds the instance's figures */
} th_driver;

/*
 * The address of this scheduler's instance pointer for the driver; the pointer is NULL while there
 * is no instance. Returns NULL when no slot is left.
 */
void **th_sched_driver_slot(thrum_sched *sched, const th_driver *driver);

/* This scheduler's instance, which the first call makes; NULL: no memory. */
void *th_sched_driver(thrum_sched *sched, const th_driver *driver);

/* Adds every driver's figures. */
void th_drivers_metrics(const thrum_sched *sched, thrum_metrics *metrics);

/* Stops all drivers' instances of this scheduler. */
void th_drivers_stop(thrum_sched *sched);

/* ---- for drivers: parts of a scheduler ---- */

const thrum_config *th_sched_config(const thrum_sched *sched);
/* The CPUs of its threads; NULL: the threads inherit those of the thread that starts them. */
const th_os_cpuset *th_sched_cpus(const thrum_sched *sched);
void *th_sched_alloc(thrum_sched *sched, size_t size); /* zeroed, 16-byte aligned, or NULL */
void th_sched_free(thrum_sched *sched, void *ptr);

#endif
