/*
 * spawn.c: handles (src/core/task/spawn.c, run.h): join before, during and after the end of the
 * task; detach against the end; the slab of the handles, which may outlive its scheduler.
 *
 * The small worlds play the end of a task by th_handle_finish; those on a scheduler are marked.
 */
#include <thrum/spawn.h>

#include "base/atomic.h"
#include "core/state/slab.h"
#include "core/state/worker.h"
#include "core/task/run.h"
#include "crew.h"
#include "platform/platform.h"

static th_slab *slab;
static thrum_handle *handle;
static int data;  /* plain: the task's writes */
static int after; /* plain: the joiner's earlier writes, for the last user of the slab */

static void *alloc(void *ctx, size_t size) {
    (void)ctx;
    return th_os_alloc(size);
}

static void free_it(void *ctx, void *ptr) {
    (void)ctx;
    th_os_free(ptr);
}

static thrum_handle *new_handle(void) {
    thrum_handle *fresh = th_slab_get_external(slab);
    *fresh = (thrum_handle){.slab = slab};
    return fresh;
}

static void make(void) {
    slab = th_slab_new(sizeof(thrum_handle), alloc, free_it, NULL);
    handle = new_handle();
}

static void close_slab(void) {
    th_slab_close(slab);
}

/* ---- one task and the holder of its handle ---- */

static void finish(void *unused) {
    (void)unused;
    data = 1;
    th_handle_finish(handle, 42);
    crew_scrub();
}

static void join(void *unused) {
    (void)unused;
    int result = 0;
    sim_check(thrum_join(handle, &result) == 0);
    sim_check(result == 42 && data == 1);
    crew_scrub();
}

static void detach(void *unused) {
    (void)unused;
    sim_check(thrum_detach(handle) == 0);
}

/* Before, during or after the end: the result is there, the handle freed once. */
static const crew_play joined = {make, close_slab, 2, {join, finish}};
CREW_WORLDS(spawn_joined, joined, .exhaustive = true)

/* A caller that gives it up twice always gets the error: it never looks as if it had only ended. */
static void detach_and_look(void *unused) {
    detach(unused);
    uintptr_t state = th_load_relaxed(&handle->xjoin);
    sim_check(state == TH_JOIN_DETACHED || state == TH_JOIN_FREE);
}

/* The second of the two frees it. */
static const crew_play detached = {make, close_slab, 2, {detach_and_look, finish}};
CREW_WORLDS(spawn_detached, detached, .exhaustive = true)

static void finish_and_close(void *unused) {
    finish(unused);
    th_slab_close(slab); /* the scheduler stops: every task has ended */
}

/* It is joined while and after the scheduler goes: the last one to leave the slab frees it. */
static const crew_play outlives = {make, NULL, 2, {join, finish_and_close}};
CREW_WORLDS(spawn_outlives, outlives, .exhaustive = true)

static const crew_play detached_late = {make, NULL, 2, {detach, finish_and_close}};
CREW_WORLDS(spawn_detached_late, detached_late)

/* ---- the slab ---- */

static void use_and_put_back(void *unused) {
    (void)unused;
    for (int i = 0; i < 2; i++) {
        thrum_handle *mine = th_slab_get_external(slab);
        sim_check(mine != NULL);
        mine->result = i; /* plain: two users of one object would race */
        th_slab_put_external(slab, mine);
    }
}

static void put_handle(void) {
    th_slab_put_external(slab, handle);
    close_slab();
}

/* Threads without a cache take objects and give them back. */
static const crew_play loose = {
    make, put_handle, 3, {use_and_put_back, use_and_put_back, use_and_put_back}};
CREW_WORLDS(spawn_slab_loose, loose, .exhaustive = true)

/* More than two magazines are taken and given back, so that full ones go by the depot. */
static void fill_and_spill(void *unused) {
    (void)unused;
    thrum_handle *mine[3 * TH_MAGAZINE];
    th_slab_cache cache = {.slab = slab};
    for (int i = 0; i < 3 * TH_MAGAZINE; i++) {
        mine[i] = th_slab_get(&cache);
        mine[i]->result = i;
    }
    for (int i = 0; i < 3 * TH_MAGAZINE; i++) {
        sim_check(mine[i]->result == i);
        th_slab_put(&cache, mine[i]);
    }
    th_slab_flush(&cache);
}

/* Two caches and the depot between them exchange magazines. */
static const crew_play magazines = {make, put_handle, 2, {fill_and_spill, fill_and_spill}};
CREW_WORLDS(spawn_slab_magazines, magazines, .exhaustive = true)

/* ---- on a scheduler ---- */

static int child(void *arg) {
    *(int *)arg += 1;
    return 7;
}

static int parent(void *unused) {
    (void)unused;
    thrum_handle *children[2];
    int counts[2] = {0, 0};
    for (int i = 0; i < 2; i++) {
        sim_check(thrum_spawn(&children[i], child, &counts[i]) == 0);
    }
    for (int i = 1; i >= 0; i--) {
        int result = 0;
        sim_check(thrum_join(children[i], &result) == 0);
        sim_check(result == 7 && counts[i] == 1);
    }
    data++;
    return 3;
}

static thrum_handle *spawn_at(thrum_sched *sched, thrum_fn fn, void *arg) {
    thrum_handle *spawned = NULL;
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    sim_check(thrum_spawn_with(&spawned, &attr, fn, arg) == 0);
    return spawned;
}

/* A task starts two and joins them; its own handle is joined before or after the stop. */
SIM_WORLD(spawn_tree_sched, .heavy = true) {
    thrum_sched *sched = crew_sched_start();
    thrum_handle *root = spawn_at(sched, parent, NULL);
    bool late = sim_pick(2) != 0;
    int result = 0;
    if (late) {
        sim_check(thrum_sched_stop(sched) == 0);
    }
    sim_check(thrum_join(root, &result) == 0);
    sim_check(result == 3 && data == 1);
    if (!late) {
        sim_check(thrum_sched_stop(sched) == 0);
    }
}

static thrum_handle *given; /* plain: handed to a task by its spawn */

static int join_given(void *unused) {
    (void)unused;
    int result = 0;
    sim_check(thrum_join(given, &result) == 0);
    sim_check(result == 7);
    after = 1;
    return 0;
}

static int detach_given(void *unused) {
    (void)unused;
    sim_check(thrum_detach(given) == 0);
    return 0;
}

/* The handle of one task is joined or detached by another one. */
SIM_WORLD(spawn_given_sched, .heavy = true) {
    thrum_sched *sched = crew_sched_start();
    given = spawn_at(sched, child, &data);
    thrum_fn fn = sim_pick(2) ? join_given : detach_given;
    sim_check(thrum_detach(spawn_at(sched, fn, NULL)) == 0);
    sim_check(thrum_sched_stop(sched) == 0);
    sim_check(data == 1 && after == (fn == join_given));
}

static int join_self(void *unused) {
    (void)unused;
    sim_check(thrum_join(given, NULL) == -EDEADLK);
    return 5;
}

static int start_self(void *unused) {
    (void)unused;
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.flags = THRUM_PINNED; /* it runs behind this one: it reads the writes from here */
    sim_check(thrum_spawn_with(&given, &attr, join_self, NULL) == 0);
    int result = 0;
    sim_check(thrum_join(given, &result) == 0);
    sim_check(result == 5);
    return 0;
}

/* A task that would join itself gets an error, and the handle stays. */
SIM_WORLD(spawn_self_sched, .heavy = true, .runs = 500) {
    thrum_sched *sched = crew_sched_start();
    int result = -1;
    sim_check(thrum_join(spawn_at(sched, start_self, NULL), &result) == 0);
    sim_check(result == 0);
    sim_check(thrum_sched_stop(sched) == 0);
}

static int go_child(void *arg) {
    return child(arg);
}

static int counts[2];

static int go_both(void *unused) {
    (void)unused;
    sim_check(thrum_go(go_child, &counts[0]) == 0);
    sim_check(thrum_go(go_child, &counts[1]) == 0);
    return 0;
}

/* Tasks without a handle: each runs once, their objects go back to the slab before they begin. */
SIM_WORLD(spawn_go_sched, .heavy = true) {
    thrum_sched *sched = crew_sched_start();
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    sim_check(thrum_go_with(&attr, go_both, NULL) == 0);
    sim_check(thrum_sched_stop(sched) == 0);
    sim_check(counts[0] == 1 && counts[1] == 1);
}

/*
 * Memory may be refused while it runs: a spawn returns that, and starts nothing; a task that has no
 * stack waits for one.
 */
static int parent_refused(void *unused) {
    (void)unused;
    for (int i = 0; i < 2; i++) {
        thrum_handle *spawned = NULL;
        int result = 0;
        int code = thrum_spawn(&spawned, child, &counts[i]);
        sim_check(code == 0 || code == -ENOMEM);
        if (code == 0) {
            sim_check(thrum_join(spawned, &result) == 0);
            sim_check(result == 7);
        }
        sim_check(counts[i] == (code == 0));
    }
    data = 1;
    return 0;
}

SIM_WORLD(spawn_refused_sched, .heavy = true, .refusals = 3) {
    sim_may_refuse(false);
    thrum_sched *sched = crew_sched_start();
    sim_may_refuse(true);
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    int code = thrum_go_with(&attr, parent_refused, NULL);
    sim_check(code == 0 || code == -ENOMEM);
    sim_check(thrum_sched_stop(sched) == 0);
    sim_check(data == (code == 0));
}
