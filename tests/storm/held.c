/*
 * held.c: tasks that hold their workers up, asleep in the system or computing, with work of their
 * own behind them. Spares take over for them, and stalls are reported.
 */
#include "storm.h"

enum { HOLDERS = 3, CHILDREN = 4, HELD_MS = 3 * STALL_MS, REST_NS = 50000000 };

typedef struct holds {
    world *w;
    atomic_uint seeds;
    atomic_int ran;
} holds;

static int behind(void *arg) {
    atomic_fetch_add(&((holds *)arg)->ran, 1);
    thrum_yield();
    return 0;
}

static int holder(void *arg) {
    holds *h = arg;
    thrum_handle *handles[CHILDREN];
    thrum_fork fork;
    uint32_t seed = atomic_fetch_add(&h->seeds, 77);
    const uint32_t r = storm_random(&seed);
    const struct timespec nap = {0, (long)(r % HELD_MS) * 1000000};
    for (int i = 0; i < CHILDREN; i++) {
        REQUIRE_EQ(thrum_spawn(&handles[i], behind, h), 0);
    }
    thrum_fork_start(&fork, behind, h);
    if (r & 4096) {
        atomic_fetch_add(&h->w->naps, 1);
        nanosleep(&nap, NULL);
        atomic_fetch_sub(&h->w->naps, 1);
    } else {
        const thrum_time end = thrum_after(nap.tv_nsec);
        while (thrum_now() < end) {
        }
    }
    REQUIRE_EQ(thrum_fork_join(&fork), 0);
    for (int i = 0; i < CHILDREN; i++) {
        world_join(handles[i]);
    }
    return 0;
}

void round_held(lane *l) {
    holds h = {.w = l->w};
    thrum_handle *handles[HOLDERS];
    atomic_init(&h.seeds, storm_random(&l->seed));
    atomic_init(&h.ran, 0);
    for (int i = 0; i < HOLDERS; i++) {
        handles[i] = world_spawn(l->w, holder, &h);
    }
    for (int i = 0; i < HOLDERS; i++) {
        world_join(handles[i]);
    }
    REQUIRE_EQ(atomic_load(&h.ran), HOLDERS * (CHILDREN + 1));
    storm_did(l, HOLDERS);
    REQUIRE_EQ(thrum_sleep(REST_NS), 0);
}
