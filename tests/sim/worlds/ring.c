/*
 * ring.c: the work-stealing ring of a worker: push, pop, steal, wrap. A ring of 2: each push meets
 * the end, positions wrap at once.
 */
#include "queue/ring.h"

#include "sim.h"

#define ITEMS 4

static th_work items[ITEMS];
static unsigned taken[ITEMS];
static th_work *slots[2];
static th_ring ring;

static void take(th_work *work) {
    unsigned i = (unsigned)(work - items);
    sim_check(i < ITEMS);
    unsigned before = taken[i]++; /* plain: two takers would race */
    sim_check(before == 0);
}

static void owner(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < ITEMS; i++) {
        while (!th_ring_push(&ring, &items[i])) {
            th_work *work = th_ring_pop(&ring);
            if (work) {
                take(work);
            }
        }
    }
    th_work *work;
    while ((work = th_ring_pop(&ring))) {
        take(work);
    }
}

static void thief(void *arg) {
    (void)arg;
    th_work *got[2];
    for (unsigned round = 0; round < 2; round++) {
        uint64_t n = th_ring_steal(&ring, got, 2);
        for (uint64_t i = 0; i < n; i++) {
            take(got[i]);
        }
    }
}

static void all_taken(void) {
    for (unsigned i = 0; i < ITEMS; i++) {
        sim_check(taken[i] == 1);
    }
}

/* Each item is taken by exactly one, the owner or the thief. */
SIM_WORLD(ring_steal, .exhaustive = true) {
    th_ring_init(&ring, slots, 2);
    int t = sim_spawn(thief, NULL);
    owner(NULL);
    sim_join(t);
    all_taken();
}

/* Two thieves. */
SIM_WORLD(ring_two_thieves) {
    th_ring_init(&ring, slots, 2);
    int a = sim_spawn(thief, NULL);
    int b = sim_spawn(thief, NULL);
    owner(NULL);
    sim_join(a);
    sim_join(b);
    all_taken();
}
