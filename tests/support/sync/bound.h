/*
 * bound.h: a rig in which the main thread takes part, for files with `matrix: bound` (check.h).
 *
 * The environment of a test's cell sets the number of workers, 0 to 64, and whether the main thread
 * is bound; stacks are small. Without workers, tasks run only while the main thread waits: so a
 * test of these files waits with a primitive, and never spins.
 */
#ifndef BOUND_H
#define BOUND_H

#include "support/support.h"

/* Says whether the main thread is to be bound in this cell. */
static inline bool bound_cell(void) {
    return check_env("CHECK_BOUND", 1) != 0;
}

static inline void bound_enter(rig *r) {
    if (bound_cell()) {
        CHECK_EQ(thrum_sched_bind(r->sched), 0);
    }
}

static inline void bound_begin(rig *r) {
    rig_begin(r, 0);
    bound_enter(r);
}

static inline void bound_leave(void) {
    if (bound_cell()) {
        CHECK_EQ(thrum_sched_unbind(), 0);
        CHECK(thrum_sched_current() == NULL);
    }
}

/* Checks that all has ended, and that nothing is left. */
static inline void bound_end(rig *r) {
    bound_leave();
    rig_stop(r);
}

/* Starts fn(arg) n times and waits for each: each must return 0. */
static inline void bound_run_all(rig *r, int n, thrum_fn fn, void *arg) {
    thrum_handle **handles = calloc((size_t)n, sizeof(thrum_handle *));
    const thrum_attr attr = rig_attr(r);
    CHECK(handles != NULL);
    for (int i = 0; i < n; i++) {
        CHECK_EQ(thrum_spawn_with(&handles[i], &attr, fn, arg), 0);
    }
    for (int i = 0; i < n; i++) {
        int result = 1;
        CHECK_EQ(thrum_join(handles[i], &result), 0);
        CHECK_EQ(result, 0);
    }
    free(handles);
}

/* Waits until nothing can run: all started tasks wait, or have ended. */
static inline void bound_settle(rig *r) {
    CHECK_EQ(thrum_sched_wait_idle(r->sched, THRUM_FOREVER), 0);
}

#endif
