/*
 * mp.c: message passing. The writer stores x, then y; the reader loads y, then x. The outcome is
 * the values loaded; "10" is the message that was announced and is not there.
 */
#include "litmus.h"

static unsigned x, y, r0, r1;

#define ALL "00 01 10 11"
#define NOT_10 "00 01 11"

#define MP(name, before, store, load, after, c11)                                                  \
    THREAD(name##_writer) {                                                                        \
        th_store_relaxed(&x, 1u);                                                                  \
        before;                                                                                    \
        store(&y, 1u);                                                                             \
    }                                                                                              \
    THREAD(name##_reader) {                                                                        \
        r0 = load(&y);                                                                             \
        after;                                                                                     \
        r1 = th_load_relaxed(&x);                                                                  \
    }                                                                                              \
    LITMUS(name, c11, NOT_10, NOT_10) {                                                            \
        TOGETHER(name##_writer, name##_reader);                                                    \
        sim_outcome("%u%u", r0, r1);                                                               \
    }

/* No order relates anything. x86 keeps the order of stores and that of loads: never in tso. */
MP(mp_relaxed, NOTHING, th_store_relaxed, th_load_relaxed, NOTHING, ALL)

/* W x hb R x, so R x 0 would be older than a store that happens before it. */
MP(mp_release_acquire, NOTHING, th_store_release, th_load_acquire, NOTHING, NOT_10)

/* One side alone makes no hb. */
MP(mp_release_only, NOTHING, th_store_release, th_load_relaxed, NOTHING, ALL)

/* The release side alone makes none either. */
MP(mp_acquire_only, NOTHING, th_store_relaxed, th_load_acquire, NOTHING, ALL)

/* Two fences and a relaxed word between them make hb. */
MP(mp_fences, th_fence_release(), th_store_relaxed, th_load_relaxed, th_fence_acquire(), NOT_10)

/* A fence on one side meets an order on the other. */
MP(mp_fence_and_acquire, th_fence_release(), th_store_relaxed, th_load_acquire, NOTHING, NOT_10)

/* A fence on the other side meets an order on the first. */
MP(mp_release_and_fence, NOTHING, th_store_release, th_load_relaxed, th_fence_acquire(), NOT_10)

/* A seq_cst fence is a release fence and an acquire fence, too. */
MP(mp_fences_seq, th_fence_seq(), th_store_relaxed, th_load_relaxed, th_fence_seq(), NOT_10)

/* One fence alone orders nothing. */
MP(mp_fence_release_only, th_fence_release(), th_store_relaxed, th_load_relaxed, NOTHING, ALL)

/* The other fence alone orders nothing. */
MP(mp_fence_acquire_only, NOTHING, th_store_relaxed, th_load_relaxed, th_fence_acquire(), ALL)

/* An acquire fence where a release fence is needed: the kinds differ. */
MP(mp_fences_swapped, th_fence_acquire(), th_store_relaxed, th_load_relaxed, th_fence_release(),
   ALL)

/* A fence for the compiler alone orders nothing for the processors. */
MP(mp_fences_compiler, th_fence_compiler(), th_store_relaxed, th_load_relaxed, th_fence_compiler(),
   ALL)

/* seq_cst accesses to y are release and acquire as well. */
MP(mp_seq, NOTHING, th_store_seq, th_load_seq, NOTHING, NOT_10)

/* Read-modify-writes carry the order, too. */
#define OR_ONE(p, v) th_or_release(p, v)
#define READ_BY_RMW(p) th_xchg_acquire(p, 0u)
MP(mp_rmw, NOTHING, OR_ONE, READ_BY_RMW, NOTHING, NOT_10)

/* An exchange that only releases has read relaxed. */
#define READ_BY_RELEASE(p) th_add_release(p, 0u)
MP(mp_rmw_release_reads, NOTHING, th_store_release, READ_BY_RELEASE, NOTHING, ALL)

/* An exchange that only acquires has written relaxed. */
MP(mp_rmw_acquire_writes, NOTHING, th_xchg_acquire, th_load_acquire, NOTHING, ALL)

/* A compare-exchange that fails is a load of its second order: relaxed. */
static unsigned read_by_failing(unsigned *p) {
    unsigned expected = 7;
    th_cas_acq_rel(p, &expected, 8u);
    return expected;
}
MP(mp_cas_fails, NOTHING, th_store_release, read_by_failing, NOTHING, ALL)

/* The same, with an acquire as the second order. */
static unsigned read_by_failing_acquire(unsigned *p) {
    unsigned expected = 7;
    th_cas_acq_rel_acquire_both(p, &expected, 8u);
    return expected;
}
MP(mp_cas_fails_acquire, NOTHING, th_store_release, read_by_failing_acquire, NOTHING, NOT_10)

/* ---- fences in the wrong place ---- */

THREAD(late_writer) {
    th_store_relaxed(&x, 1u);
    th_store_relaxed(&y, 1u);
    th_fence_release();
}
THREAD(good_reader) {
    r0 = th_load_relaxed(&y);
    th_fence_acquire();
    r1 = th_load_relaxed(&x);
}
/* A release fence publishes by the stores that come after it. */
LITMUS(mp_fence_late, ALL, NOT_10, NOT_10) {
    TOGETHER(late_writer, good_reader);
    sim_outcome("%u%u", r0, r1);
}

THREAD(good_writer) {
    th_store_relaxed(&x, 1u);
    th_fence_release();
    th_store_relaxed(&y, 1u);
}
THREAD(early_reader) {
    th_fence_acquire();
    r0 = th_load_relaxed(&y);
    r1 = th_load_relaxed(&x);
}
/* An acquire fence takes the values seen by the loads before it. */
LITMUS(mp_fence_early, ALL, NOT_10, NOT_10) {
    TOGETHER(good_writer, early_reader);
    sim_outcome("%u%u", r0, r1);
}

/* ---- the message itself is read by something else than a load ---- */

THREAD(adder) {
    r0 = th_load_relaxed(&y);
    r1 = th_add_relaxed(&x, 0u);
}
/*
 * A read-modify-write may be before W x 1 in mo although that was executed: nothing else forbids
 * it. x86 has one memory.
 */
LITMUS(mp_read_by_rmw, ALL, NOT_10, NOT_10) {
    TOGETHER(good_writer, adder);
    sim_outcome("%u%u", r0, r1);
}

THREAD(failing) {
    r0 = th_load_relaxed(&y);
    r1 = 7;
    th_cas_acquire(&x, &r1, 8u);
}
/* A compare-exchange that fails is a load: it may see an old value. */
LITMUS(mp_read_by_cas, ALL, NOT_10, NOT_10) {
    TOGETHER(good_writer, failing);
    sim_outcome("%u%u", r0, r1);
}

/* ---- through two words ---- */

static unsigned z, r2;

THREAD(relaxed_writer) {
    th_store_relaxed(&x, 1u);
    th_store_release(&y, 1u);
    th_store_relaxed(&z, 1u);
}
THREAD(z_reader) {
    r0 = th_load_acquire(&z);
    r1 = th_load_relaxed(&y);
    r2 = th_load_relaxed(&x);
}
/*
 * A release store publishes by itself only: W z is relaxed and publishes nothing, R y is relaxed
 * and takes nothing, so every combination is allowed. In one order of stores: z needs y needs x.
 */
LITMUS(mp_release_is_no_fence, "000 001 010 011 100 101 110 111", "000 001 011 111",
       "000 001 011 111") {
    TOGETHER(relaxed_writer, z_reader);
    sim_outcome("%u%u%u", r0, r1, r2);
}
