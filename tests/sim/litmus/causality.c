/*
 * causality.c: knowledge that the second thread has from the first reaches the third: WRC, ISA2,
 * RWC, W+RWC; and cases in which fences must be cumulative (C++20's repair of C11, as in RC11).
 */
#include "litmus.h"

static unsigned x, y, z, r0, r1, r2;

#define ALL "000 001 010 011 100 101 110 111"
#define NOT_110 "000 001 010 011 100 101 111"
#define NOT_100 "000 001 010 011 101 110 111"

/* ---- WRC: x = 1; r0 = x, y = 1; r1 = y, r2 = x. "110": the third knows of it and misses it ----
 */

#define WRC(name, store_x, load_x, store_y, load_y, c11)                                           \
    THREAD(name##_first) {                                                                         \
        store_x(&x, 1u);                                                                           \
    }                                                                                              \
    THREAD(name##_second) {                                                                        \
        r0 = load_x(&x);                                                                           \
        store_y(&y, 1u);                                                                           \
    }                                                                                              \
    THREAD(name##_third) {                                                                         \
        r1 = load_y(&y);                                                                           \
        r2 = th_load_relaxed(&x);                                                                  \
    }                                                                                              \
    LITMUS3(name, c11, NOT_110, NOT_110) {                                                         \
        TOGETHER(name##_first, name##_second, name##_third);                                       \
        sim_outcome("%u%u%u", r0, r1, r2);                                                         \
    }

/* No order relates them. */
WRC(wrc_relaxed, th_store_relaxed, th_load_relaxed, th_store_relaxed, th_load_relaxed, ALL)

/* Happens-before is transitive. */
WRC(wrc, th_store_release, th_load_acquire, th_store_release, th_load_acquire, NOT_110)

/* x may be relaxed: R x 1 hb R x, and coherence does the rest. */
WRC(wrc_x_relaxed, th_store_relaxed, th_load_relaxed, th_store_release, th_load_acquire, NOT_110)

/* The third load does not acquire. */
WRC(wrc_no_acquire, th_store_release, th_load_acquire, th_store_release, th_load_relaxed, ALL)

/* The second store does not release, so that thread keeps its acquired knowledge to itself. */
WRC(wrc_no_release, th_store_release, th_load_acquire, th_store_relaxed, th_load_acquire, ALL)

/* ---- ISA2: x = 1, y = 1; r0 = y, z = 1; r1 = z, r2 = x ---- */

#define ISA2(name, load_y, between, store_z, c11)                                                  \
    THREAD(name##_first) {                                                                         \
        th_store_relaxed(&x, 1u);                                                                  \
        th_store_release(&y, 1u);                                                                  \
    }                                                                                              \
    THREAD(name##_second) {                                                                        \
        r0 = load_y(&y);                                                                           \
        between;                                                                                   \
        store_z(&z, 1u);                                                                           \
    }                                                                                              \
    THREAD(name##_third) {                                                                         \
        r1 = th_load_acquire(&z);                                                                  \
        r2 = th_load_relaxed(&x);                                                                  \
    }                                                                                              \
    LITMUS3(name, c11, NOT_110, NOT_110) {                                                         \
        TOGETHER(name##_first, name##_second, name##_third);                                       \
        sim_outcome("%u%u%u", r0, r1, r2);                                                         \
    }

/* Happens-before leads from the first to the second to the third. */
ISA2(isa2, th_load_acquire, NOTHING, th_store_release, NOT_110)

/* The second thread reads relaxed, so it has nothing to hand on. */
ISA2(isa2_no_acquire, th_load_relaxed, NOTHING, th_store_release, ALL)

/* The second thread stores relaxed. */
ISA2(isa2_no_release, th_load_acquire, NOTHING, th_store_relaxed, ALL)

/* An acquire fence, then a release fence, hand it on. */
#define BOTH_FENCES                                                                                \
    do {                                                                                           \
        th_fence_acquire();                                                                        \
        th_fence_release();                                                                        \
    } while (0)
ISA2(isa2_fences, th_load_relaxed, BOTH_FENCES, th_store_relaxed, NOT_110)

/* The two fences are in the wrong order: it publishes before it has taken. */
#define BOTH_FENCES_SWAPPED                                                                        \
    do {                                                                                           \
        th_fence_release();                                                                        \
        th_fence_acquire();                                                                        \
    } while (0)
ISA2(isa2_fences_swapped, th_load_relaxed, BOTH_FENCES_SWAPPED, th_store_relaxed, ALL)

/* ---- RWC: x = 1; r0 = x, r1 = y; y = 1, r2 = x. "100" ---- */

#define RWC(name, store_x, load, between1, store_y, between2, c11, tso)                            \
    THREAD(name##_first) {                                                                         \
        store_x(&x, 1u);                                                                           \
    }                                                                                              \
    THREAD(name##_second) {                                                                        \
        r0 = load(&x);                                                                             \
        between1;                                                                                  \
        r1 = load(&y);                                                                             \
    }                                                                                              \
    THREAD(name##_third) {                                                                         \
        store_y(&y, 1u);                                                                           \
        between2;                                                                                  \
        r2 = load(&x);                                                                             \
    }                                                                                              \
    LITMUS3(name, c11, tso, NOT_100) {                                                             \
        TOGETHER(name##_first, name##_second, name##_third);                                       \
        sim_outcome("%u%u%u", r0, r1, r2);                                                         \
    }

/*
 * F before F by R y 0 fr W y; back by R x 0 fr W x rf R x 1: C11 allowed it, having no rule for fr
 * and rf together; RC11 and C++20 forbid it.
 */
RWC(rwc_fences, th_store_relaxed, th_load_relaxed, th_fence_seq(), th_store_relaxed, th_fence_seq(),
    NOT_100, NOT_100)

/* Only the second thread has a fence; the third's load is early, on x86 too. */
RWC(rwc_fence_second, th_store_relaxed, th_load_acquire, th_fence_seq(), th_store_relaxed, NOTHING,
    ALL, ALL)

/* Only the third thread has one: x86 keeps the second's loads in order. */
RWC(rwc_fence_third, th_store_relaxed, th_load_acquire, NOTHING, th_store_relaxed, th_fence_seq(),
    ALL, NOT_100)

/* All accesses are in S. */
RWC(rwc_seq, th_store_seq, th_load_seq, NOTHING, th_store_seq, NOTHING, NOT_100, NOT_100)

/* ---- W+RWC: x = 1, y = 1; r0 = y, r1 = z; z = 1, r2 = x. "100" ---- */

#define W_RWC(name, store_y, load_y, between1, store_z, between2, load, c11, tso)                  \
    THREAD(name##_first) {                                                                         \
        th_store_relaxed(&x, 1u);                                                                  \
        store_y(&y, 1u);                                                                           \
    }                                                                                              \
    THREAD(name##_second) {                                                                        \
        r0 = load_y(&y);                                                                           \
        between1;                                                                                  \
        r1 = load(&z);                                                                             \
    }                                                                                              \
    THREAD(name##_third) {                                                                         \
        store_z(&z, 1u);                                                                           \
        between2;                                                                                  \
        r2 = load(&x);                                                                             \
    }                                                                                              \
    LITMUS3(name, c11, tso, NOT_100) {                                                             \
        TOGETHER(name##_first, name##_second, name##_third);                                       \
        sim_outcome("%u%u%u", r0, r1, r2);                                                         \
    }

/* F before F by fr on z; back by R x 0 fr W x hb F, which C11 did not count. */
W_RWC(w_rwc_fences, th_store_release, th_load_acquire, th_fence_seq(), th_store_relaxed,
      th_fence_seq(), th_load_relaxed, NOT_100, NOT_100)

/* The second thread's F takes the value of the relaxed load before it. */
W_RWC(w_rwc_fence_takes, th_store_release, th_load_relaxed, th_fence_seq(), th_store_relaxed,
      th_fence_seq(), th_load_relaxed, NOT_100, NOT_100)

/* Only the store to y does not release: x is not known to the second. */
W_RWC(w_rwc_no_release, th_store_relaxed, th_load_acquire, th_fence_seq(), th_store_relaxed,
      th_fence_seq(), th_load_relaxed, ALL, NOT_100)

/* seq_cst at z only: W x is not in S, so R x 0 has no edge in S at all. x86's xchg is a fence. */
W_RWC(w_rwc_seq, th_store_release, th_load_acquire, NOTHING, th_store_seq, NOTHING, th_load_seq,
      ALL, NOT_100)
