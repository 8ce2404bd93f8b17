/*
 * writes.c: shapes in which the order of two stores of one word, mo, closes the cycle: 2+2W, S, R,
 * Z6. A store that is executed later may still be before the other in mo.
 */
#include "litmus.h"

static unsigned x, y, z, r0, r1, r2;

static unsigned last(unsigned *p) {
    return th_load_relaxed(p);
}

/* ---- 2+2W: x = 1, y = 2 against y = 1, x = 2; the outcome is the last values of x and y ---- */

#define W22(name, store, between, c11)                                                             \
    THREAD(name##_first) {                                                                         \
        store(&x, 1u);                                                                             \
        between;                                                                                   \
        store(&y, 2u);                                                                             \
    }                                                                                              \
    THREAD(name##_second) {                                                                        \
        store(&y, 1u);                                                                             \
        between;                                                                                   \
        store(&x, 2u);                                                                             \
    }                                                                                              \
    LITMUS(name, c11, "12 21 22", "12 21 22") {                                                    \
        TOGETHER(name##_first, name##_second);                                                     \
        sim_outcome("%u%u", last(&x), last(&y));                                                   \
    }

/* "11": W x 2 mo W x 1 and W y 2 mo W y 1; nothing else relates the threads. */
W22(w22_relaxed, th_store_relaxed, NOTHING, "11 12 21 22")

/* Release stores order nothing when no thread acquires them. */
W22(w22_release, th_store_release, NOTHING, "11 12 21 22")

/* One order S relates them, and mo agrees with it. */
W22(w22_seq, th_store_seq, NOTHING, "12 21 22")

/* F, W y 2 mo W y 1, F: each fence before the other. */
W22(w22_fences, th_store_relaxed, th_fence_seq(), "12 21 22")

/* ---- S: x = 2, y = 1 against r0 = y, x = 1; the outcome is r0 and the last value of x ---- */

#define S(name, before, store, load, after, c11)                                                   \
    THREAD(name##_first) {                                                                         \
        th_store_relaxed(&x, 2u);                                                                  \
        before;                                                                                    \
        store(&y, 1u);                                                                             \
    }                                                                                              \
    THREAD(name##_second) {                                                                        \
        r0 = load(&y);                                                                             \
        after;                                                                                     \
        th_store_relaxed(&x, 1u);                                                                  \
    }                                                                                              \
    LITMUS(name, c11, "01 02 11", "01 02 11") {                                                    \
        TOGETHER(name##_first, name##_second);                                                     \
        sim_outcome("%u%u", r0, last(&x));                                                         \
    }

/* "12": W x 1 mo W x 2 although y was seen; nothing forbids it. */
S(s_relaxed, NOTHING, th_store_relaxed, th_load_relaxed, NOTHING, "01 02 11 12")

/* W x 2 hb W x 1, so mo agrees. */
S(s_release_acquire, NOTHING, th_store_release, th_load_acquire, NOTHING, "01 02 11")

/* The same holds with fences. */
S(s_fences, th_fence_release(), th_store_relaxed, th_load_relaxed, th_fence_acquire(), "01 02 11")

/* One side alone orders nothing. */
S(s_release_only, NOTHING, th_store_release, th_load_relaxed, NOTHING, "01 02 11 12")

/* ---- R: x = 1, y = 1 against y = 2, r0 = x; the outcome is the last value of y, and r0 ---- */

#define R(name, store, before, after, load, c11, tso)                                              \
    THREAD(name##_first) {                                                                         \
        store(&x, 1u);                                                                             \
        before;                                                                                    \
        store(&y, 1u);                                                                             \
    }                                                                                              \
    THREAD(name##_second) {                                                                        \
        store(&y, 2u);                                                                             \
        after;                                                                                     \
        r0 = load(&x);                                                                             \
    }                                                                                              \
    LITMUS(name, c11, tso, "10 11 21") {                                                           \
        TOGETHER(name##_first, name##_second);                                                     \
        sim_outcome("%u%u", last(&y), r0);                                                         \
    }

/* "20": W y 1 mo W y 2, yet x is not seen. x86 may load x before its own store is out. */
R(r_relaxed, th_store_relaxed, NOTHING, NOTHING, th_load_relaxed, "10 11 20 21", "10 11 20 21")

/* Release and acquire do not help: no thread reads y. */
R(r_release_acquire, th_store_release, NOTHING, NOTHING, th_load_acquire, "10 11 20 21",
  "10 11 20 21")

/* F, W y 1 mo W y 2, F; F, R x 0 fr W x 1, F. */
R(r_fences, th_store_relaxed, th_fence_seq(), th_fence_seq(), th_load_relaxed, "10 11 21",
  "10 11 21")

/* One fence alone makes no cycle; on x86 it is the necessary one. */
R(r_fence_second, th_store_release, NOTHING, th_fence_seq(), th_load_relaxed, "10 11 20 21",
  "10 11 21")

/* The other fence alone makes none either. */
R(r_fence_first, th_store_relaxed, th_fence_seq(), NOTHING, th_load_acquire, "10 11 20 21",
  "10 11 20 21")

/* All accesses are in S. */
R(r_seq, th_store_seq, NOTHING, NOTHING, th_load_seq, "10 11 21", "10 11 21")

/* ---- Z6: x = 1, y = 1; y = 2, z = 1; r0 = z, r1 = x. The outcome: the last y, r0, r1 ---- */

#define Z6(name, store, load, between, c11)                                                        \
    THREAD(name##_first) {                                                                         \
        th_store_relaxed(&x, 1u);                                                                  \
        between;                                                                                   \
        store(&y, 1u);                                                                             \
    }                                                                                              \
    THREAD(name##_second) {                                                                        \
        store(&y, 2u);                                                                             \
        between;                                                                                   \
        store(&z, 1u);                                                                             \
    }                                                                                              \
    THREAD(name##_third) {                                                                         \
        r0 = load(&z);                                                                             \
        between;                                                                                   \
        r1 = th_load_relaxed(&x);                                                                  \
    }                                                                                              \
    LITMUS3(name, c11, "100 101 110 111 200 201 211", "100 101 110 111 200 201 211") {             \
        TOGETHER(name##_first, name##_second, name##_third);                                       \
        sim_outcome("%u%u%u", last(&y), r0, r1);                                                   \
    }

/* "210": mo of y is no hb, so nothing carries x to the third. */
Z6(z6_release_acquire, th_store_release, th_load_acquire, NOTHING,
   "100 101 110 111 200 201 210 211")

/* F mo F rf F fr F: a cycle of fences. */
Z6(z6_fences, th_store_relaxed, th_load_relaxed, th_fence_seq(), "100 101 110 111 200 201 211")

/* ---- Z6.U: where RC11 is weaker than C11 was ---- */

THREAD(u_first) {
    th_store_seq(&x, 1u);
    th_store_release(&y, 1u);
}
THREAD(u_second) {
    r0 = th_add_seq(&y, 1u);
    r1 = th_load_relaxed(&y);
}
THREAD(u_third) {
    th_store_seq(&y, 3u);
    r2 = th_load_seq(&x);
}
/*
 * Without inserts and cut to one question: the read-modify-write read 1, then 3 was read, and x was
 * not seen. RC11 allows it (W x hb the read-modify-write is no edge of S), as on POWER; C11 did
 * not, x86 and ARM do not, and the simulator does not: docs/history/reviews/simulator.md.
 */
LITMUS3(z6_u, "0", "0", "0") {
    TOGETHER(u_first, u_second, u_third);
    sim_outcome("%u", r0 == 1 && r1 == 3 && r2 == 0);
}
