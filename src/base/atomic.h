/*
 * atomic.h: the only file that touches the compiler's atomic builtins.
 *
 * The order is part of the name. Objects are plain integers and pointers (public headers serve C++,
 * which knows no _Atomic); a field that several threads write carries an `x` in front of its name.
 * At each use, an acquire or release names its partner, a relaxed explains why it is enough, and a
 * seq_cst names the store-load race that it decides; tools/check/style resolves the names.
 */
#ifndef TH_ATOMIC_H
#define TH_ATOMIC_H

#include "base/cc.h"

#if defined(__i386__)
/*
 * A word of 64 bits may lie across two cache lines here, since the ABI aligns it to 4 bytes: then a
 * plain load or store of it is none, only a locked compare-exchange is. All other operations are.
 */
static TH_ALWAYS_INLINE uint64_t th_load_wide(const volatile void *p) {
    uint64_t value = 0;
    __atomic_compare_exchange_n((volatile uint64_t *)(uintptr_t)p, &value, (uint64_t)0, false,
                                __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return value;
}

static TH_ALWAYS_INLINE void th_store_wide(volatile void *p, uint64_t value) {
    uint64_t before = 0;
    while (!__atomic_compare_exchange_n((volatile uint64_t *)p, &before, value, false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
}

#define th_load(p, order)                                                                          \
    ({                                                                                             \
        union {                                                                                    \
            __typeof__(__atomic_load_n((p), __ATOMIC_RELAXED)) as;                                 \
            uint64_t wide;                                                                         \
        } got_;                                                                                    \
        if (sizeof got_.as == 8)                                                                   \
            got_.wide = th_load_wide(p);                                                           \
        else                                                                                       \
            got_.as = __atomic_load_n((p), (order));                                               \
        got_.as;                                                                                   \
    })
#define th_store(p, v, order)                                                                      \
    ({                                                                                             \
        union {                                                                                    \
            __typeof__(__atomic_load_n((p), __ATOMIC_RELAXED)) as;                                 \
            uint64_t wide;                                                                         \
        } put_;                                                                                    \
        put_.as = (v);                                                                             \
        if (sizeof put_.as == 8)                                                                   \
            th_store_wide((p), put_.wide);                                                         \
        else                                                                                       \
            __atomic_store_n((p), put_.as, (order));                                               \
    })
#else
#define th_load(p, order) __atomic_load_n((p), (order))
#define th_store(p, v, order) __atomic_store_n((p), (v), (order))
#endif

#define th_load_relaxed(p) th_load((p), __ATOMIC_RELAXED)
#define th_load_acquire(p) th_load((p), __ATOMIC_ACQUIRE)
#define th_load_seq(p) th_load((p), __ATOMIC_SEQ_CST)

#define th_store_relaxed(p, v) th_store((p), (v), __ATOMIC_RELAXED)
#define th_store_release(p, v) th_store((p), (v), __ATOMIC_RELEASE)
#define th_store_seq(p, v) th_store((p), (v), __ATOMIC_SEQ_CST)

#define th_xchg_relaxed(p, v) __atomic_exchange_n((p), (v), __ATOMIC_RELAXED)
#define th_xchg_acquire(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQUIRE)
#define th_xchg_release(p, v) __atomic_exchange_n((p), (v), __ATOMIC_RELEASE)
#define th_xchg_acq_rel(p, v) __atomic_exchange_n((p), (v), __ATOMIC_ACQ_REL)
#define th_xchg_seq(p, v) __atomic_exchange_n((p), (v), __ATOMIC_SEQ_CST)

#define th_add_relaxed(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELAXED)
#define th_add_acquire(p, v) __atomic_fetch_add((p), (v), __ATOMIC_ACQUIRE)
#define th_add_release(p, v) __atomic_fetch_add((p), (v), __ATOMIC_RELEASE)
#define th_add_acq_rel(p, v) __atomic_fetch_add((p), (v), __ATOMIC_ACQ_REL)
#define th_add_seq(p, v) __atomic_fetch_add((p), (v), __ATOMIC_SEQ_CST)
#define th_sub_relaxed(p, v) __atomic_fetch_sub((p), (v), __ATOMIC_RELAXED)
#define th_sub_release(p, v) __atomic_fetch_sub((p), (v), __ATOMIC_RELEASE)
#define th_sub_acq_rel(p, v) __atomic_fetch_sub((p), (v), __ATOMIC_ACQ_REL)
#define th_sub_acquire(p, v) __atomic_fetch_sub((p), (v), __ATOMIC_ACQUIRE)
#define th_sub_seq(p, v) __atomic_fetch_sub((p), (v), __ATOMIC_SEQ_CST)
#define th_or_relaxed(p, v) __atomic_fetch_or((p), (v), __ATOMIC_RELAXED)
#define th_or_acquire(p, v) __atomic_fetch_or((p), (v), __ATOMIC_ACQUIRE)
#define th_or_release(p, v) __atomic_fetch_or((p), (v), __ATOMIC_RELEASE)
#define th_or_acq_rel(p, v) __atomic_fetch_or((p), (v), __ATOMIC_ACQ_REL)
#define th_or_seq(p, v) __atomic_fetch_or((p), (v), __ATOMIC_SEQ_CST)
#define th_and_relaxed(p, v) __atomic_fetch_and((p), (v), __ATOMIC_RELAXED)
#define th_and_acquire(p, v) __atomic_fetch_and((p), (v), __ATOMIC_ACQUIRE)
#define th_and_acq_rel(p, v) __atomic_fetch_and((p), (v), __ATOMIC_ACQ_REL)
#define th_and_seq(p, v) __atomic_fetch_and((p), (v), __ATOMIC_SEQ_CST)

/*
 * Compare-exchange: true when *p was *expected and is now `want`; otherwise *expected becomes *p.
 * The strong form fails only for a different value. On failure the load is relaxed unless the name
 * ends in `_acquire_both`.
 */
#define th_cas_relaxed(p, expected, want)                                                          \
    th_cas((p), (expected), (want), __ATOMIC_RELAXED, __ATOMIC_RELAXED)
#define th_cas_acquire(p, expected, want)                                                          \
    th_cas((p), (expected), (want), __ATOMIC_ACQUIRE, __ATOMIC_RELAXED)
#define th_cas_release(p, expected, want)                                                          \
    th_cas((p), (expected), (want), __ATOMIC_RELEASE, __ATOMIC_RELAXED)
#define th_cas_acq_rel(p, expected, want)                                                          \
    th_cas((p), (expected), (want), __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)
#define th_cas_acq_rel_acquire_both(p, expected, want)                                             \
    th_cas((p), (expected), (want), __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)
#define th_cas_seq(p, expected, want)                                                              \
    th_cas((p), (expected), (want), __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)

/* For TH_NO_TSAN functions, where the thread sanitizer must not see the exchange either. */
#define th_cas_release_unseen(p, expected, want)                                                   \
    __atomic_compare_exchange_n((p), (expected), (want), false, __ATOMIC_RELEASE, __ATOMIC_RELAXED)

#if !TH_TSAN || defined(TH_SIM) || defined(__clang__)
#define th_cas(p, expected, want, order, order_failed)                                             \
    __atomic_compare_exchange_n((p), (expected), (want), false, (order), (order_failed))
#else
/*
 * gcc's thread sanitizer keeps *expected in memory, since its run time takes the address, and
 * records the write to it as an access of the caller's context. But two contexts use one stack in
 * turn (base/annotate.h), and would seem to race for that word. So here it is passed by value.
 */
TH_FOREIGN uint32_t __tsan_atomic32_compare_exchange_val(volatile uint32_t *p, uint32_t expected,
                                                         uint32_t want, int on_success,
                                                         int on_failure);
TH_FOREIGN uint64_t __tsan_atomic64_compare_exchange_val(volatile uint64_t *p, uint64_t expected,
                                                         uint64_t want, int on_success,
                                                         int on_failure);

static TH_ALWAYS_INLINE uint64_t th_cas_by_value(volatile void *p, size_t size, uint64_t expected,
                                                 uint64_t want, int on_success, int on_failure) {
    return size == sizeof(uint32_t)
               ? __tsan_atomic32_compare_exchange_val(p, (uint32_t)expected, (uint32_t)want,
                                                      on_success, on_failure)
               : __tsan_atomic64_compare_exchange_val(p, expected, want, on_success, on_failure);
}

#define th_cas(p, expected, want, order, order_failed)                                             \
    ({                                                                                             \
        __typeof__(*(p)) want_ = (want);                                                           \
        __typeof__(*(p)) asked_ = *(expected);                                                     \
        _Static_assert(sizeof want_ == 4 || sizeof want_ == 8, "no other sizes");                  \
        __typeof__(*(p)) was_ = (__typeof__(*(p)))th_cas_by_value(                                 \
            (p), sizeof want_, (uint64_t)asked_, (uint64_t)want_, (order), (order_failed));        \
        *(expected) = was_;                                                                        \
        was_ == asked_;                                                                            \
    })
#endif

/*
 * The thread sanitizers do not know fences (gcc refuses them there). Those builds add to a shared
 * word instead (annotate.c), which is as strong for the purposes here. The simulator, which
 * compiles the same way, gives __tsan_atomic_thread_fence its true meaning (TH_SIM).
 */
#if TH_TSAN && !defined(TH_SIM)
void th_fence_for_tsan(void);
#define th_fence_seq() th_fence_for_tsan()
#define th_fence_acquire() th_fence_for_tsan()
#define th_fence_release() th_fence_for_tsan()
#else
#define th_fence_seq() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define th_fence_acquire() __atomic_thread_fence(__ATOMIC_ACQUIRE)
#define th_fence_release() __atomic_thread_fence(__ATOMIC_RELEASE)
#endif

/*
 * Orders the accesses of this thread for the compiler only; the processors are ordered by another
 * thread's th_os_barrier. The thread sanitizers' runtimes and the simulator get their accesses in
 * program order anyway.
 */
#define th_fence_compiler() __atomic_signal_fence(__ATOMIC_SEQ_CST)

/* Adds to a counter that only this thread writes; others may read it. No locked instruction. */
static inline void th_count(uint64_t *xcounter, uint64_t n) {
    /* relaxed: only this thread writes, and readers only want some recent value */
    th_store_relaxed(xcounter, th_load_relaxed(xcounter) + n);
}

#endif
