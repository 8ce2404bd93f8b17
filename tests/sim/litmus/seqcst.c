/*
 * seqcst.c: the order S of seq_cst accesses, where it is not the order in which things were seen:
 * hb, mo and fr lead forward in S, a relaxed store that is read does not.
 */
#include "litmus.h"

static unsigned x, y, z, r0, r1, r2;

#define ALL "00 01 10 11"
#define NOT_10 "00 01 11"

/* ---- x = 1 in S, then a flag; the flag, then x in S ---- */

#define MP(name, store_x, store_y, load_y, c11)                                                    \
    THREAD(name##_writer) {                                                                        \
        store_x(&x, 1u);                                                                           \
        store_y(&y, 1u);                                                                           \
    }                                                                                              \
    THREAD(name##_reader) {                                                                        \
        r0 = load_y(&y);                                                                           \
        r1 = th_load_seq(&x);                                                                      \
    }                                                                                              \
    LITMUS(name, c11, NOT_10, NOT_10) {                                                            \
        TOGETHER(name##_writer, name##_reader);                                                    \
        sim_outcome("%u%u", r0, r1);                                                               \
    }

/*
 * There is no hb: R x 0 comes before W x 1 in S, although y was seen. On ARM the store of y
 * overtakes x's.
 */
MP(s_mp, th_store_seq, th_store_relaxed, th_load_relaxed, ALL)

/* R y is in S, W y is not: no edge between them. */
MP(s_mp_seq_load, th_store_seq, th_store_relaxed, th_load_seq, ALL)

/* The same for a read-modify-write. */
MP(s_mp_rmw, th_xchg_seq, th_store_relaxed, th_load_relaxed, ALL)

/* Release and acquire at the flag: hb, an edge of S as any. */
MP(s_mp_hb, th_store_seq, th_store_release, th_load_acquire, NOT_10)

/* All accesses are in S. */
MP(s_mp_all, th_store_seq, th_store_seq, th_load_seq, NOT_10)

/* ---- a store in S that comes early ---- */

THREAD(x_then_flag) {
    th_store_seq(&x, 1u);
    th_store_relaxed(&z, 1u);
}
THREAD(flag_then_y_x) {
    r0 = th_load_relaxed(&z);
    th_store_seq(&y, 1u);
    r1 = th_load_seq(&x);
}
/* "10": W y, R x 0, W x in S; W y was executed last. */
LITMUS(s_early_store, ALL, NOT_10, NOT_10) {
    TOGETHER(x_then_flag, flag_then_y_x);
    sim_outcome("%u%u", r0, r1);
}

THREAD(x_flag_y) {
    th_store_seq(&x, 1u);
    th_store_relaxed(&z, 1u);
    r2 = th_load_seq(&y);
}
/* Regardless of the flag's value, one of the two sees the other: never r1 = r2 = 0. */
LITMUS(s_early_sb, "001 010 011 101 110 111", "001 010 011 110 111", "001 010 011 110 111") {
    TOGETHER(x_flag_y, flag_then_y_x);
    sim_outcome("%u%u%u", r0, r1, r2);
}

THREAD(x_flag_y_rmw) {
    th_xchg_seq(&x, 1u);
    th_store_relaxed(&z, 1u);
    r2 = th_load_seq(&y);
}
THREAD(flag_y_x_rmw) {
    r0 = th_load_relaxed(&z);
    th_xchg_seq(&y, 1u);
    r1 = th_load_seq(&x);
}
/* The same holds with read-modify-writes. */
LITMUS(s_early_rmw, "001 010 011 101 110 111", "001 010 011 110 111", "001 010 011 110 111") {
    TOGETHER(x_flag_y_rmw, flag_y_x_rmw);
    sim_outcome("%u%u%u", r0, r1, r2);
}

THREAD(flag_y_fence_x) {
    r0 = th_load_relaxed(&z);
    th_store_relaxed(&y, 1u);
    th_fence_seq();
    r1 = th_load_relaxed(&x);
}
/*
 * With a fence on one side: R y 0 fr W y hb F and F hb R x 0 fr W x make a cycle with W x before
 * R y: never r1 = r2 = 0. "101": the fence comes before W x in S.
 */
LITMUS(s_early_fence, "001 010 011 101 110 111", "001 010 011 110 111", "001 010 011 110 111") {
    TOGETHER(x_flag_y, flag_y_fence_x);
    sim_outcome("%u%u%u", r0, r1, r2);
}

THREAD(flag_fence_x) {
    r0 = th_load_relaxed(&z);
    th_fence_seq();
    r1 = th_load_relaxed(&x);
}
/* A fence before W x in S although the flag was seen. On ARM the store of z overtakes x's. */
LITMUS(s_early_fence_mp, ALL, NOT_10, NOT_10) {
    TOGETHER(x_then_flag, flag_fence_x);
    sim_outcome("%u%u", r0, r1);
}

THREAD(y_fence_x) {
    th_store_relaxed(&y, 1u);
    th_fence_seq();
    r1 = th_load_relaxed(&x);
}
THREAD(x_y) {
    th_store_seq(&x, 1u);
    r2 = th_load_seq(&y);
}
THREAD(fence_only) {
    th_fence_seq();
    r0 = th_load_relaxed(&x);
}
/* A third thread's fences change nothing about that. */
LITMUS3(s_fence_third, "001 010 011 101 110 111", "001 010 011 101 110 111",
        "001 010 011 101 110 111") {
    TOGETHER(fence_only, y_fence_x, x_y);
    sim_outcome("%u%u%u", r0, r1, r2);
}

/* ---- around three threads ---- */

THREAD(ring_x) {
    th_store_seq(&x, 1u);
    r0 = th_load_seq(&y);
}
THREAD(ring_y) {
    th_store_seq(&y, 1u);
    r1 = th_load_seq(&z);
}
THREAD(ring_z) {
    th_store_seq(&z, 1u);
    r2 = th_load_seq(&x);
}
#define NOT_000 "001 010 011 100 101 110 111"
/* Each load before the next store: a cycle. */
LITMUS3(s_three, NOT_000, NOT_000, NOT_000) {
    TOGETHER(ring_x, ring_y, ring_z);
    sim_outcome("%u%u%u", r0, r1, r2);
}

/* ---- mo is in S as well ---- */

THREAD(x_1_y) {
    th_store_seq(&x, 1u);
    r0 = th_load_seq(&y);
}
THREAD(y_x_2) {
    th_store_seq(&y, 1u);
    th_store_seq(&x, 2u);
    r1 = th_load_relaxed(&x);
}
/* "0" and 1 last in x: W y, W x 2, W x 1, R y 0: not. The outcome: r0, then the last of x. */
LITMUS(s_mo, "02 11 12", "02 11 12", "02 11 12") {
    TOGETHER(x_1_y, y_x_2);
    sim_outcome("%u%u", r0, th_load_relaxed(&x));
}

/*
 * ---- outcomes that RC11 allows and the simulator does not reach:
 * docs/history/reviews/simulator.md ----
 */

THREAD(x_2_flag) {
    th_store_seq(&x, 2u);
    th_store_relaxed(&y, 1u);
}
THREAD(flag_x_1) {
    r0 = th_load_relaxed(&y);
    th_store_seq(&x, 1u);
}
/* RC11 also allows 12: W x 1 before W x 2 in mo and S although the flag was seen. */
LITMUS(s_not_reached_mo, "01 02 11", "01 02 11", "01 02 11") {
    TOGETHER(x_2_flag, flag_x_1);
    sim_outcome("%u%u", r0, th_load_relaxed(&x));
}

THREAD(x_fence_y) {
    th_store_relaxed(&x, 1u);
    th_fence_seq();
    th_store_relaxed(&y, 1u);
}
THREAD(y_to_z) {
    r0 = th_load_relaxed(&y);
    th_store_relaxed(&z, 1u);
}
THREAD(z_fence_x) {
    r1 = th_load_relaxed(&z);
    th_fence_seq();
    r2 = th_load_relaxed(&x);
}
/* RC11 also allows 110: the second hands nothing on, so the fences may come the other way round. */
LITMUS3(s_not_reached_fences, "000 001 010 011 100 101 111", "000 001 010 011 100 101 111",
        "000 001 010 011 100 101 111") {
    TOGETHER(x_fence_y, y_to_z, z_fence_x);
    sim_outcome("%u%u%u", r0, r1, r2);
}
