/*
 * cancel_seen.c: a task that finds itself cancelled sees its canceller's earlier writes, with
 * nothing but thrum_cancelled between them (core/wait/WAITING.md, "Cancelling").
 */
#include <errno.h>

#include "base/atomic.h"
#include "core/inspect/snapshot.h"
#include "platform/platform.h"
#include "whole.h"

static thrum_sched *sched;
static int told;         /* plain: only a cancel orders it */
static uint32_t xlooked; /* the snapshots are over. relaxed: it only keeps the task alive */

static int asks(void *arg) {
    (void)arg;
    while (!thrum_cancelled()) {
        th_os_relax(); /* others go on */
    }
    sim_check(told == 7);
    while (!th_load_relaxed(&xlooked)) {
        th_os_relax(); /* others go on */
    }
    return 0;
}

/* A scope's owner has no word of its own: it asks that of the task which it is a part of. */
static int asks_in_a_part(void *arg) {
    thrum_scope scope;
    sim_check(thrum_scope_open(&scope, THRUM_FOREVER) == 0);
    sim_check(thrum_scope_go(&scope, asks, arg) == 0);
    asks(NULL);
    return thrum_scope_join(&scope);
}

static thrum_handle *start(thrum_fn fn) {
    thrum_config config = whole_config(1 + sim_pick(2));
    thrum_attr attr = THRUM_ATTR_INIT;
    thrum_handle *handle;
    sched = whole_start(&config);
    attr.sched = sched;
    sim_check(thrum_spawn_with(&handle, &attr, fn, NULL) == 0);
    return handle;
}

static void cancel_it(thrum_fn fn, int result) {
    int code = 1;
    th_store_relaxed(&xlooked, 1); /* relaxed: nobody looks here */
    thrum_handle *handle = start(fn);
    told = 7;
    sim_check(thrum_cancel(handle) == 0);
    sim_check(thrum_join(handle, &code) == 0 && code == result);
    whole_stop(sched);
}

SIM_WORLD(cancel_seen, .heavy = true) {
    cancel_it(asks, 0);
}

SIM_WORLD(cancel_seen_below, .heavy = true) {
    cancel_it(asks_in_a_part, -ECANCELED);
}

static void looks(void *arg) {
    th_snapshot snapshot;
    (void)arg;
    for (int i = 0; i < 2; i++) {
        th_snapshot_begin(&snapshot, sched);
        th_snapshot_end(&snapshot);
    }
    th_store_relaxed(&xlooked, 1); /* relaxed: as there */
}

/* A stop past its deadline, beside a thread that writes the same word. */
SIM_WORLD(cancel_seen_stop, .heavy = true) {
    thrum_handle *handle = start(asks);
    sim_check(thrum_detach(handle) == 0);
    int t = sim_spawn(looks, NULL);
    told = 7;
    int result = thrum_sched_stop_until(sched, 1);
    sim_join(t);
    if (result) {
        sim_check(result == -ETIMEDOUT);
        whole_stop(sched);
    } else {
        whole_forget(sched);
    }
}
