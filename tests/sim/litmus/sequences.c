/*
 * sequences.c: release sequences, as C++20 has them: a release store and the read-modify-writes
 * that follow it in mo, by any thread. A store that is no read-modify-write ends it. A thread that
 * acquires from any of them knows the writes before the release store.
 */
#include "litmus.h"

static unsigned x, y, r0, r1, r2;

/* Each first thread stores y = 1 and publishes it in x; the last one reads x, then y. */
THREAD(publish) {
    th_store_relaxed(&y, 1u);
    th_store_release(&x, 1u);
}
THREAD(publish_by_fence) {
    th_store_relaxed(&y, 1u);
    th_fence_release();
    th_store_relaxed(&x, 1u);
}
THREAD(publish_by_rmw) {
    th_store_relaxed(&y, 1u);
    th_add_release(&x, 1u);
}
THREAD(take) {
    r0 = th_load_acquire(&x);
    r1 = th_load_relaxed(&y);
}
THREAD(take_by_fence) {
    r0 = th_load_relaxed(&x);
    th_fence_acquire();
    r1 = th_load_relaxed(&y);
}
THREAD(add_2) {
    th_add_relaxed(&x, 2u);
}
THREAD(publish_and_store) {
    th_store_relaxed(&y, 1u);
    th_store_release(&x, 1u);
    th_store_relaxed(&x, 2u);
}
THREAD(store_if_1) {
    r2 = th_load_relaxed(&x);
    if (r2 == 1) {
        th_store_relaxed(&x, 2u);
    }
}
THREAD(cas_1_3) {
    unsigned expected = 1;
    th_cas_relaxed(&x, &expected, 3u);
}

#define OUTCOME sim_outcome("%u%u", r0, r1)
#define ADDED "00 01 11 20 21 31"

/* 3 is 1 and then 2 added, relaxed, by another thread: it belongs to the sequence, so never 30. */
LITMUS3(seq_rmw, ADDED, ADDED, ADDED) {
    TOGETHER(publish, add_2, take);
    OUTCOME;
}

/* The same sequence behind a relaxed store that a release fence heads. */
LITMUS3(seq_rmw_fence, ADDED, ADDED, ADDED) {
    TOGETHER(publish_by_fence, add_2, take);
    OUTCOME;
}

/* The same, taken by an acquire fence. */
LITMUS3(seq_rmw_fences, ADDED, ADDED, ADDED) {
    TOGETHER(publish_by_fence, add_2, take_by_fence);
    OUTCOME;
}

/* A compare-exchange that succeeds continues it as well. */
LITMUS3(seq_cas, "00 01 11 31", "00 01 11 31", "00 01 11 31") {
    TOGETHER(publish, cas_1_3, take);
    OUTCOME;
}

/* A read-modify-write that releases heads its own sequence: 1, or 2 with 1 added, show it. */
LITMUS3(seq_head_rmw, ADDED, ADDED, ADDED) {
    TOGETHER(publish_by_rmw, add_2, take);
    OUTCOME;
}

/* C++20: a relaxed store of the same thread ends it: 20. C11 would have let it continue. */
LITMUS(seq_own_store, "00 01 11 20 21", "00 01 11 21", "00 01 11 21") {
    TOGETHER(publish_and_store, take);
    OUTCOME;
}

/* A relaxed store of another thread ends it, although that one has seen it. */
LITMUS3(seq_other_store, "00 01 11 20 21", "00 01 11 21", "00 01 11 21") {
    TOGETHER(publish, store_if_1, take);
    OUTCOME;
}

THREAD(add_and_read) {
    r0 = th_add_relaxed(&x, 2u);
    r1 = th_load_relaxed(&y);
}
/* A thread that continues a sequence relaxed does not itself see the published writes: 10. */
LITMUS(seq_continues_unaware, "00 01 10 11", "00 01 11", "00 01 11") {
    TOGETHER(publish, add_and_read);
    OUTCOME;
}

THREAD(add_fence_read) {
    r0 = th_add_relaxed(&x, 2u);
    th_fence_acquire();
    r1 = th_load_relaxed(&y);
}
/* The same, unless a fence takes it. */
LITMUS(seq_continues_fence, "00 01 11", "00 01 11", "00 01 11") {
    TOGETHER(publish, add_fence_read);
    OUTCOME;
}

/* ---- two publish by adding; a thread that reads both knows both ---- */

static unsigned z;

THREAD(publish_y) {
    th_store_relaxed(&y, 1u);
    th_add_release(&x, 1u);
}
THREAD(publish_z) {
    th_store_relaxed(&z, 1u);
    th_add_release(&x, 2u);
}
THREAD(take_both) {
    r0 = th_load_acquire(&x);
    r1 = th_load_relaxed(&y);
    r2 = th_load_relaxed(&z);
}
/* 1 knows y, 2 knows z, 3 both, as a counter of the last one out. */
LITMUS3(seq_counter, "000 001 010 011 110 111 201 211 311", "000 001 010 011 110 111 201 211 311",
        "000 001 010 011 110 111 201 211 311") {
    TOGETHER(publish_y, publish_z, take_both);
    sim_outcome("%u%u%u", r0, r1, r2);
}

THREAD(publish_z_relaxed) {
    th_store_relaxed(&z, 1u);
    th_add_relaxed(&x, 2u);
}
/* The second thread does not release: z is not known, whether it came first or last. */
LITMUS3(seq_counter_half, "000 001 010 011 110 111 200 201 210 211 310 311",
        "000 001 010 011 110 111 201 211 311", "000 001 010 011 110 111 201 211 311") {
    TOGETHER(publish_y, publish_z_relaxed, take_both);
    sim_outcome("%u%u%u", r0, r1, r2);
}

THREAD(acq_rel_add) {
    th_store_relaxed(&z, 1u);
    th_add_acq_rel(&x, 2u);
}
THREAD(store_x_5) {
    r0 = th_load_acquire(&x);
    if (r0 == 3) {
        th_store_release(&x, 5u);
    }
}
THREAD(take_5) {
    r1 = th_load_acquire(&x) == 5;
    r2 = th_load_relaxed(&y) + th_load_relaxed(&z);
}
/* Acquired knowledge is released again by the next store: a thread that sees 5 knows y and z. */
LITMUS4(seq_handed_on, "00 01 02 12", "00 01 02 12", "00 01 02 12") {
    TOGETHER(publish_y, acq_rel_add, store_x_5, take_5);
    sim_outcome("%u%u", r1, r2);
}
