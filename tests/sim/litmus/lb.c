/*
 * lb.c: load buffering. Each thread loads a word, then stores the other. C11 allows both to load
 * the other's later store; RC11, which the simulator implements, forbids it.
 */
#include "litmus.h"

static unsigned x, y, z, r0, r1, r2;

#define NOT_11 "00 01 10"

#define LB(name, load, store)                                                                      \
    THREAD(name##_first) {                                                                         \
        r0 = load(&x);                                                                             \
        store(&y, 1u);                                                                             \
    }                                                                                              \
    THREAD(name##_second) {                                                                        \
        r1 = load(&y);                                                                             \
        store(&x, 1u);                                                                             \
    }                                                                                              \
    LITMUS(name, NOT_11, NOT_11, NOT_11) {                                                         \
        TOGETHER(name##_first, name##_second);                                                     \
        sim_outcome("%u%u", r0, r1);                                                               \
    }

/* "11" has a cycle of program order and rf: RC11 forbids all of those (C11 would allow it). */
LB(lb_relaxed, th_load_relaxed, th_store_relaxed)

/* The same cycle is one of hb. */
LB(lb_acquire_release, th_load_acquire, th_store_release)

THREAD(first) {
    r0 = th_load_relaxed(&x);
    th_store_relaxed(&y, 1u);
}
THREAD(second) {
    r1 = th_load_relaxed(&y);
    th_store_relaxed(&z, 1u);
}
THREAD(third) {
    r2 = th_load_relaxed(&z);
    th_store_relaxed(&x, 1u);
}
/* The cycle goes around three threads. */
LITMUS3(lb_three, "000 001 010 011 100 101 110", "000 001 010 011 100 101 110",
        "000 001 010 011 100 101 110") {
    TOGETHER(first, second, third);
    sim_outcome("%u%u%u", r0, r1, r2);
}
