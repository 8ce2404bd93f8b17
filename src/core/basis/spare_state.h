/*
 * spare_state.h: spare workers, and the record of workers that are held up by one task
 * (core/worker/SPARES.md).
 */
#ifndef TH_SPARE_STATE_H
#define TH_SPARE_STATE_H

#include "base/cc.h"
#include "core/basis/lock.h"

/* The result of the looks at one worker. */
typedef struct th_held {
    uint64_t tick;      /* its xtick at the last look */
    int64_t since;      /* the time of the look that first saw this tick; 0: there was none */
    unsigned looks;     /* the weight of the looks since then, until it is held up */
    int64_t ran_ns;     /* the processor time of its thread at the last look, or -1: not known */
    int64_t blocked_at; /* the processor time at which it was found blocked, or -1 */
    bool held;          /* it is held up by one task */
    bool blocked;       /* its thread waits for something; otherwise it computes */
    int spare;          /* the number of the spare that came for it, or -1 */
} th_held;

typedef struct th_spare_set {
    th_lock lock;     /* protects all but the fields that begin with x */
    unsigned started; /* spares that have a thread: the lowest numbers */
    unsigned active;  /* spares that take part */
    unsigned wanted;  /* how many of these are wanted, by the last look */
    unsigned blocked; /* held-up workers whose threads are blocked, by the last look */
    bool computing;   /* there are held-up workers that compute, by the last look */
    bool stuck;       /* waiting work is served by no worker, by the last look */
    unsigned running; /* workers that did not sleep at the last look */
    unsigned cpus;    /* constant: processors for its threads */
    bool has_monitor;
    bool closed;           /* no thread is started, and no spare monitors */
    unsigned free_looks;   /* looks in a row that found a free worker */
    int64_t looked_at;     /* the time of the last look */
    int64_t waiting_since; /* work has waited at each look since then; INT64_MAX: none waits */
    int64_t refused_at;    /* the time at which the system last refused a thread or memory */
    th_held *held;         /* of each worker, by its number; NULL: there are no spares */
    uint32_t xmonitor;     /* the monitor's number; written with the lock, read to rouse it */
    uint32_t xidle_spares; /* spares that do not take part; written with the lock */
} th_spare_set;

/*
 * A spare's present time idle or active. Its owner writes it: `active` and `since` with
 * the lock of the spares, since other spares read them.
 */
typedef struct th_stint {
    bool active;       /* it is counted in `active` */
    bool slept;        /* it has slept, and found nothing yet; of regular workers as well */
    bool ready;        /* its parts for running are made */
    bool fresh;        /* it has not looked yet at work left by held-up workers */
    int64_t since;     /* the time since which it takes part */
    int64_t looked_at; /* when it last asked whether it is still wanted */
} th_stint;

#endif
