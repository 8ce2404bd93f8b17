/*
 * Atomic operations on plain integers and pointers, sequentially consistent except for the flags.
 * Add and CompareExchange return the previous value, Increment and Decrement the new one.
 */
#ifndef THRUM_COMPAT_MG_COMMON_ATOMIC_H
#define THRUM_COMPAT_MG_COMMON_ATOMIC_H

#include "mg/common/Types.h"

/* The operations that a type of integers has; `name` ends their names. */
#define THRUM_COMPAT_INTEGER(name, type)                                                           \
    inline type AtomicLoad##name(const type *at) {                                                 \
        return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                              \
    }                                                                                              \
    inline type AtomicExchange##name(type *at, type value) {                                       \
        return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);                                   \
    }                                                                                              \
    inline type AtomicCompareExchange##name(type *at, type value, type expected) {                 \
        __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_SEQ_CST,                 \
                                    __ATOMIC_SEQ_CST);                                             \
        return expected;                                                                           \
    }                                                                                              \
    inline type AtomicAdd##name(type *at, type value) {                                            \
        return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);                                    \
    }                                                                                              \
    inline type AtomicIncrement##name(type *at) {                                                  \
        return __atomic_add_fetch(at, 1, __ATOMIC_SEQ_CST);                                        \
    }                                                                                              \
    inline type AtomicDecrement##name(type *at) {                                                  \
        return __atomic_sub_fetch(at, 1, __ATOMIC_SEQ_CST);                                        \
    }

namespace mg {
namespace common {

THRUM_COMPAT_INTEGER(, int32_t)
THRUM_COMPAT_INTEGER(U32, uint32_t)
THRUM_COMPAT_INTEGER(64, int64_t)
THRUM_COMPAT_INTEGER(U64, uint64_t)

template <typename T> inline T *AtomicLoadPtr(T **at) {
    return __atomic_load_n(at, __ATOMIC_SEQ_CST);
}
template <typename T> inline T *AtomicExchangePtr(T **at, T *value) {
    return __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);
}
template <typename T> inline T *AtomicCompareExchangePtr(T **at, T *value, T *expected) {
    __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
}

/* A flag is 0 or 1; setting and clearing it return the value before. */
inline int32_t AtomicFlagTest(const int32_t *flag) {
    return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}
inline int32_t AtomicFlagSet(int32_t *flag) {
    return __atomic_exchange_n(flag, 1, __ATOMIC_ACQ_REL);
}
inline int32_t AtomicFlagClear(int32_t *flag) {
    return __atomic_exchange_n(flag, 0, __ATOMIC_ACQ_REL);
}

inline void CompilerBarrier() {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

} // namespace common
} // namespace mg

#undef THRUM_COMPAT_INTEGER

#endif
