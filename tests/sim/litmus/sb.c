/*
 * sb.c: store buffering, the race that Dekker's algorithm decides. Each thread stores its word,
 * then loads the other's. The outcome is the values loaded; "00" is neither seeing the other.
 */
#include "litmus.h"
#include "platform/platform.h"

static unsigned x, y, z, r0, r1;

#define ALL "00 01 10 11"
#define NOT_00 "01 10 11"

#define SB(name, store0, between0, load0, store1, between1, load1, c11, tso)                       \
    THREAD(name##_first) {                                                                         \
        store0(&x, 1u);                                                                            \
        between0;                                                                                  \
        r0 = load0(&y);                                                                            \
    }                                                                                              \
    THREAD(name##_second) {                                                                        \
        store1(&y, 1u);                                                                            \
        between1;                                                                                  \
        r1 = load1(&x);                                                                            \
    }                                                                                              \
    LITMUS(name, c11, tso, NOT_00) {                                                               \
        TOGETHER(name##_first, name##_second);                                                     \
        sim_outcome("%u%u", r0, r1);                                                               \
    }
#define SB_SAME(name, store, between, load, c11, tso)                                              \
    SB(name, store, between, load, store, between, load, c11, tso)

/* No order relates a store and a load of two words, on x86 neither. */
SB_SAME(sb_relaxed, th_store_relaxed, NOTHING, th_load_relaxed, ALL, ALL)

/* Release and acquire order nothing between a store and a later load. */
SB_SAME(sb_release_acquire, th_store_release, NOTHING, th_load_acquire, ALL, ALL)

/* All four are in one order S: the thread that stores second loads the other's. */
SB_SAME(sb_seq, th_store_seq, NOTHING, th_load_seq, NOT_00, NOT_00)

/* R y 0 is fr before W y 1, so the first fence comes before the second; and the other way round. */
SB_SAME(sb_fences, th_store_relaxed, th_fence_seq(), th_load_relaxed, NOT_00, NOT_00)

/* One fence alone: the other thread may still be seen late. */
SB(sb_fence_first, th_store_relaxed, th_fence_seq(), th_load_relaxed, th_store_relaxed, NOTHING,
   th_load_relaxed, ALL, ALL)

/* The same with the fence in the other thread. */
SB(sb_fence_second, th_store_relaxed, NOTHING, th_load_relaxed, th_store_relaxed, th_fence_seq(),
   th_load_relaxed, ALL, ALL)

/* Acquire and release fences do not decide this race. */
SB_SAME(sb_fences_weak, th_store_relaxed, th_fence_release(), th_load_acquire, ALL, ALL)

/* seq_cst stores and relaxed loads: the loads are not in S. x86 pays the fence at the store. */
SB_SAME(sb_seq_store_only, th_store_seq, NOTHING, th_load_relaxed, ALL, NOT_00)

/* Loads are in S, the stores are not. */
SB_SAME(sb_seq_load_only, th_store_relaxed, NOTHING, th_load_seq, ALL, ALL)

/*
 * A fence meets seq_cst accesses: F, R y 0 fr W y in S; then R x; R x 0 fr W x hb F. A cycle in S,
 * in RC11 as in C++20.
 */
SB(sb_fence_meets_seq, th_store_relaxed, th_fence_seq(), th_load_relaxed, th_store_seq, NOTHING,
   th_load_seq, NOT_00, NOT_00)

/* The same with a load that is not in S: no edge leads back to the fence. */
SB(sb_fence_meets_seq_store, th_store_relaxed, th_fence_seq(), th_load_relaxed, th_store_seq,
   NOTHING, th_load_relaxed, ALL, NOT_00)

/* The same with a store that is not in S. */
SB(sb_fence_meets_seq_load, th_store_relaxed, th_fence_seq(), th_load_relaxed, th_store_relaxed,
   NOTHING, th_load_seq, ALL, ALL)

/* A read-modify-write is no fence, even if it is one on x86: loads after it may be early. */
SB_SAME(sb_rmw, th_xchg_acq_rel, NOTHING, th_load_acquire, ALL, NOT_00)

/* The same with a seq_cst one, if the loads are not seq_cst. */
SB_SAME(sb_rmw_seq, th_xchg_seq, NOTHING, th_load_acquire, ALL, NOT_00)

/* With seq_cst loads all are in S. */
SB_SAME(sb_rmw_seq_loads, th_xchg_seq, NOTHING, th_load_seq, NOT_00, NOT_00)

/* Two acq_rel read-modify-writes of one word decide it: the second reads from the first. */
SB_SAME(sb_same_rmw, th_store_relaxed, th_add_acq_rel(&z, 1u), th_load_relaxed, NOT_00, NOT_00)

/* Read-modify-writes that are meant as fences, each of a word of its own, decide nothing in C11. */
SB(sb_rmws_apart, th_store_relaxed, th_add_seq(&z, 1u), th_load_relaxed, th_store_relaxed,
   th_fence_seq(), th_load_relaxed, ALL, NOT_00)

/* There are only fences for the compiler. */
SB_SAME(sb_compiler, th_store_relaxed, th_fence_compiler(), th_load_relaxed, ALL, ALL)

/*
 * One side pays for both: the barrier puts a fence into the other thread, before its store, its
 * load, or after. Before: it loads after the barrier's first fence. Between: as sb_fences. After:
 * its store comes before the barrier's end.
 */
SB(sb_barrier_second, th_store_relaxed, th_fence_compiler(), th_load_relaxed, th_store_relaxed,
   sim_check(th_os_barrier()), th_load_relaxed, NOT_00, NOT_00)

/* The thread that pays has the lower number. */
SB(sb_barrier_first, th_store_relaxed, sim_check(th_os_barrier()), th_load_relaxed,
   th_store_relaxed, th_fence_compiler(), th_load_relaxed, NOT_00, NOT_00)

/* ---- the loads of read-modify-writes ---- */

THREAD(first_rmw) {
    th_store_relaxed(&x, 1u);
    r0 = th_add_acq_rel(&y, 0u);
}
THREAD(second_rmw) {
    th_store_relaxed(&y, 1u);
    r1 = th_add_acq_rel(&x, 0u);
}
/* Each may read 0 and be before the other's store in mo; x86 drains its buffer first. */
LITMUS(sb_rmw_loads, ALL, NOT_00, NOT_00) {
    TOGETHER(first_rmw, second_rmw);
    sim_outcome("%u%u", r0, r1);
}

/* ---- three threads: fences are cumulative ---- */

static unsigned r2;
#define ALL_3 "000 001 010 011 100 101 110 111"
#define NOT_000 "001 010 011 100 101 110 111"

THREAD(ring_x) {
    th_store_relaxed(&x, 1u);
    th_fence_seq();
    r0 = th_load_relaxed(&y);
}
THREAD(ring_y) {
    th_store_relaxed(&y, 1u);
    th_fence_seq();
    r1 = th_load_relaxed(&z);
}
THREAD(ring_z) {
    th_store_relaxed(&z, 1u);
    th_fence_seq();
    r2 = th_load_relaxed(&x);
}
/* Each fence would come before the next one, all around. */
LITMUS3(sb_three, NOT_000, NOT_000, NOT_000) {
    TOGETHER(ring_x, ring_y, ring_z);
    sim_outcome("%u%u%u", r0, r1, r2);
}

THREAD(ring_z_weak) {
    th_store_release(&z, 1u);
    r2 = th_load_acquire(&x);
}
/* One thread has no fence: the ring of fences is open. */
LITMUS3(sb_three_one_open, ALL_3, ALL_3, NOT_000) {
    TOGETHER(ring_x, ring_y, ring_z_weak);
    sim_outcome("%u%u%u", r0, r1, r2);
}
