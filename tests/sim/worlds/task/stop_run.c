/*
 * stop_run.c: thrum_run, and another thread that stops its scheduler as the entry returns
 * (core/control/STOP.md). Whichever comes first, both return, and thrum_run frees it. Races: the
 * two stops for the word, the other's last look at it against the end, its sleep against the
 * other's wake.
 */
#include <errno.h>

#include "whole.h"

static thrum_sched *sched;
static thrum_time deadline;
static int stopper;
static int result;
static int ran; /* plain: thrum_run orders it */

static void stops(void *arg) {
    (void)arg;
    result = thrum_sched_stop_until(sched, deadline);
}

static int counts(void *arg) {
    (void)arg;
    ran++;
    return 0;
}

static int entry(void *arg) {
    (void)arg;
    sched = thrum_sched_current();
    stopper = sim_spawn(stops, NULL);
    sim_check(thrum_go(counts, NULL) == 0);
    return 3;
}

static void run_beside(unsigned workers, thrum_time until) {
    thrum_config config = whole_config(workers);
    deadline = until;
    sim_check(thrum_run(&config, entry, NULL) == 3);
    sim_check(ran == 1);
    sim_join(stopper);
    sim_check(result == 0 || result == -EBUSY || result == -ESHUTDOWN ||
              (result == -ETIMEDOUT && until != THRUM_FOREVER));
}

SIM_WORLD(stop_run_beside, .heavy = true) {
    run_beside(1, THRUM_FOREVER);
}

/* The thread of thrum_run is bound, and the other one waits for it to unbind. */
SIM_WORLD(stop_run_beside_bound, .heavy = true) {
    run_beside(0, THRUM_FOREVER);
}

/* The other stop times out at once: thrum_run takes over. */
SIM_WORLD(stop_run_beside_late, .heavy = true) {
    run_beside(1, 0);
}

SIM_WORLD(stop_run_beside_bound_late, .heavy = true) {
    run_beside(0, 0);
}
