/*
 * reclaim.c: giving memory back (core/fiber/RECLAIM.md): a request by one worker while another one
 * takes its flag off, or ends it all, is not forgotten. A scheduler that is two workers' records
 * and a store of idle fibers, on which nothing runs.
 */
#include "core/fiber/reclaim.h"

#include "core/fiber/fiber_cache.h"
#include "core/state/slab.h"
#include "core/state/worker.h"
#include "platform/platform.h"
#include "sim.h"

#define WORKERS 2

static thrum_sched sched;
static th_worker workers[WORKERS];
static th_fiber fibers[2 * TH_FIBER_CACHE_KEPT];

static void begin(void) {
    sched.workers = workers;
    sched.workers_count = WORKERS;
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i].sched = &sched;
    }
}

static void check_flagged(void) {
    for (unsigned i = 0; i < WORKERS; i++) {
        sim_check(workers[i].xextra & TH_EXTRA_RECLAIM);
    }
}

static void wants(void *arg) {
    th_reclaim_want(arg);
}

/* A worker takes off a flag of earlier times while another one just asks for it. */
SIM_WORLD(reclaim_unflag, .exhaustive = true) {
    begin();
    workers[1].xextra = TH_EXTRA_RECLAIM;
    sched.reclaim.xnext = TH_FOREVER; /* no step is due: only the flags */
    int t = sim_spawn(wants, &workers[0]);
    th_reclaim_poll(&workers[1]);
    sim_join(t);
    sim_check(sched.reclaim.xwanted == 1);
    check_flagged();
}

static void *alloc(void *ctx, size_t size) {
    (void)ctx;
    return th_os_alloc(size);
}

static void give_back(void *ctx, void *ptr) {
    (void)ctx;
    th_os_free(ptr);
}

/* The store has as many as are kept; now it gets more. */
static void puts_more(void *arg) {
    for (unsigned i = 0; i < 2 * TH_FIBER_CACHE_KEPT; i++) {
        th_fiber_cache_put(arg, &fibers[i]);
    }
}

/*
 * Reclaiming was requested; a worker finds every store within its limit, ends this, and looks
 * again.
 */
SIM_WORLD(reclaim_end, .exhaustive = true) {
    begin();
    sched.go_slab = th_slab_new(64, alloc, give_back, NULL);
    sim_check(sched.go_slab);
    sched.fibers_count = TH_FIBER_CACHE_STORED;
    sched.reclaim.xwanted = 1;
    for (unsigned i = 0; i < WORKERS; i++) {
        workers[i].xextra = TH_EXTRA_RECLAIM;
    }
    int t = sim_spawn(puts_more, &workers[0]);
    th_reclaim_poll(&workers[1]);
    th_reclaim_poll(&workers[1]);
    sim_join(t);
    sim_check(sched.fibers_count > TH_FIBER_CACHE_STORED && sched.reclaim.xwanted == 1);
    check_flagged();
    th_slab_close(sched.go_slab);
}
