/*
 * iriw.c: independent reads of independent writes. Two threads store x and y, two read both in
 * opposite order: r0 = x, r1 = y and r2 = y, r3 = x. "1010": they disagree about which came first.
 */
#include "litmus.h"

static unsigned x, y, r0, r1, r2, r3;

#define NOT_1010 "0000 0001 0010 0011 0100 0101 0110 0111 1000 1001 1011 1100 1101 1110 1111"
#define ALL NOT_1010 " 1010"

#define IRIW(name, store, load, between, c11)                                                      \
    THREAD(name##_x) {                                                                             \
        store(&x, 1u);                                                                             \
    }                                                                                              \
    THREAD(name##_y) {                                                                             \
        store(&y, 1u);                                                                             \
    }                                                                                              \
    THREAD(name##_xy) {                                                                            \
        r0 = load(&x);                                                                             \
        between;                                                                                   \
        r1 = load(&y);                                                                             \
    }                                                                                              \
    THREAD(name##_yx) {                                                                            \
        r2 = load(&y);                                                                             \
        between;                                                                                   \
        r3 = load(&x);                                                                             \
    }                                                                                              \
    LITMUS4(name, c11, NOT_1010, NOT_1010) {                                                       \
        TOGETHER(name##_x, name##_y, name##_xy, name##_yx);                                        \
        sim_outcome("%u%u%u%u", r0, r1, r2, r3);                                                   \
    }

/* The stores are of two threads and two words: release and acquire do not order them. */
IRIW(iriw_release_acquire, th_store_release, th_load_acquire, NOTHING, ALL)

/* R y 0 fr W y, in S, which R y 1 reads, before R x 0, fr W x, which R x 1 reads: a cycle. */
IRIW(iriw_seq, th_store_seq, th_load_seq, NOTHING, NOT_1010)

/* Each fence comes before the other: fr, then rf, from behind one to before the other. */
IRIW(iriw_fences, th_store_relaxed, th_load_relaxed, th_fence_seq(), NOT_1010)

/* Loads are in S, stores are not: RC11 has no edge from R x 0 by fr and rf to R x 1 (C++20 has). */
IRIW(iriw_seq_loads, th_store_release, th_load_seq, NOTHING, ALL)

/* Stores are in S, loads are not. */
IRIW(iriw_seq_stores, th_store_seq, th_load_acquire, NOTHING, ALL)

/* There are acquire fences only. */
IRIW(iriw_fences_weak, th_store_release, th_load_relaxed, th_fence_acquire(), ALL)
