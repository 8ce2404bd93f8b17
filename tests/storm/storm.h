/*
 * storm.h: the frame of the storms (README.md).
 *
 *   world   a scheduler with an allocator that counts; all storms run in it at the same time
 *   storm   something that is done round after round; a round checks what it did before it ends
 *   lane    one fiber, or one plain thread, that does the rounds of a storm
 *
 * What makes something ready marks it, and what runs takes the mark away: the watchdog looks for
 * marks that stay although a worker sleeps.
 */
#ifndef STORM_H
#define STORM_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <thrum.h>

#if defined(__SANITIZE_THREAD__)
#define SLOWNESS 8
#elif defined(__SANITIZE_ADDRESS__)
#define SLOWNESS 3
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SLOWNESS 8
#elif __has_feature(address_sanitizer)
#define SLOWNESS 3
#endif
#endif
#ifndef SLOWNESS
#define SLOWNESS 1
#endif

/* A count for this build. */
#define FEWER(n) ((n) / SLOWNESS > 0 ? (n) / SLOWNESS : 1)

enum { MARKS = 32, WORLDS = 2, LANES = 64, TIDS = 64, WORKERS = 128, STALL_MS = 30 };

typedef struct lane lane;

typedef struct storm {
    const char *name;
    void (*round)(lane *l);
    int lanes;
    bool external; /* its lanes are plain threads */
} storm;

typedef struct world {
    thrum_sched *sched;
    unsigned number;
    atomic_long blocks, bytes; /* of the scheduler's allocator, handed out */
    atomic_int tids[TIDS];     /* of its workers' threads; 0: none */
    atomic_int tid_count;
    unsigned regular; /* workers that are no spares */
    atomic_int naps;  /* tasks that hold up a worker, asleep in the system */
    int64_t began;    /* before it was started: no run can be older */
    thrum_task probe; /* the watchdog posts it itself */
    _Atomic int64_t probe_since;
} world;

struct lane {
    world *w;
    const storm *s;
    uint32_t seed;
    atomic_long ops;
    _Atomic int64_t beat;         /* when its last round ended; 0: it is over */
    _Atomic int64_t marks[MARKS]; /* since when each of its things is ready; 0: it is not */
};

extern const storm storms[];
extern atomic_bool storm_over; /* rounds that begin now are the last */

/* Prints the line, dumps all fibers, aborts. */
__attribute__((noreturn, cold, format(printf, 3, 4))) void storm_fails(const char *file, int line,
                                                                       const char *format, ...);

#define REQUIRE(cond) ((cond) ? (void)0 : storm_fails(__FILE__, __LINE__, "%s", #cond))
#define REQUIRE_EQ(a, b) storm_equal(__FILE__, __LINE__, #a " == " #b, (long)(a), (long)(b))

static inline void storm_equal(const char *file, int line, const char *text, long a, long b) {
    if (a != b) {
        storm_fails(file, line, "%s (%ld and %ld)", text, a, b);
    }
}

static inline uint32_t storm_random(uint32_t *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static inline void storm_did(lane *l, long n) {
    atomic_fetch_add_explicit(&l->ops, n, memory_order_relaxed);
}

/* Marks that it is ready from now on; mark_runs takes the mark away. */
static inline void mark_ready(lane *l, int i) {
    atomic_store(&l->marks[i], thrum_now());
}

static inline void mark_runs(lane *l, int i) {
    atomic_store(&l->marks[i], 0);
}

static inline thrum_attr world_attr(const world *w) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = w->sched;
    return attr;
}

/* A joinable fiber of the world's. */
static inline thrum_handle *world_spawn(const world *w, thrum_fn fn, void *arg) {
    const thrum_attr attr = world_attr(w);
    thrum_handle *handle = NULL;
    REQUIRE_EQ(thrum_spawn_with(&handle, &attr, fn, arg), 0);
    return handle;
}

static inline void world_join(thrum_handle *handle) {
    int result = -1;
    REQUIRE_EQ(thrum_join(handle, &result), 0);
    REQUIRE_EQ(result, 0);
}

/* The allocator of a world. */
void *world_alloc(void *ctx, size_t size);
void world_free(void *ctx, void *ptr);

/* The environment's config with that allocator. */
void world_config(world *w, thrum_config *config);

/* ---- watch.c ---- */

void watch_begin(world *worlds, int count, lane *lanes, atomic_int *lane_count);
void watch_end(void);
void watch_hang_at_once(void); /* each round is taken for one that hangs */

/* How many times slower a look of the watchdog is than on usual processors, at least 1. */
int64_t storm_slowness(void);

/* Turns every detector of the scheduler on: a report that is false ends the process. */
void watch_detect(world *w, thrum_config *config);

/* Resident bytes of this process. */
long memory_resident(void);

/* Starts and stops of other schedulers so far (external.c). */
extern atomic_long second_starts;

/* One round of each storm. */
void round_trees(lane *l);
void round_churn(lane *l);
void round_held(lane *l);
void round_pingpong(lane *l);
void round_primitives(lane *l);
void round_channels(lane *l);
void round_select(lane *l);
void round_scopes(lane *l);
void round_cancels(lane *l);
void round_destroy(lane *l);
void round_timers(lane *l);
void round_blocking(lane *l);
void round_bound(lane *l);
void round_posts(lane *l);
void round_threads(lane *l);
void round_forks(lane *l);
void round_graphs(lane *l);
void round_second(lane *l);
void round_units(lane *l);
void round_runs(lane *l);
void round_serials(lane *l);

#endif
