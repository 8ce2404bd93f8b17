/*
 * Atomic<T>: std::atomic with the memory order in the name of each operation. A name without an
 * order is sequentially consistent.
 */
#ifndef THRUM_COMPAT_MG_BOX_ATOMIC_H
#define THRUM_COMPAT_MG_BOX_ATOMIC_H

#include <atomic>

#include "mg/box/Definitions.h"

/* The operations that add and subtract, with one memory order. */
#define THRUM_COMPAT_ARITHMETIC(suffix, order)                                                     \
    T FetchAdd##suffix(const T &value) {                                                           \
        return value_.fetch_add(value, std::memory_order_##order);                                 \
    }                                                                                              \
    T AddFetch##suffix(const T &value) {                                                           \
        return static_cast<T>(FetchAdd##suffix(value) + value);                                    \
    }                                                                                              \
    void Add##suffix(const T &value) {                                                             \
        FetchAdd##suffix(value);                                                                   \
    }                                                                                              \
    T FetchSub##suffix(const T &value) {                                                           \
        return value_.fetch_sub(value, std::memory_order_##order);                                 \
    }                                                                                              \
    T SubFetch##suffix(const T &value) {                                                           \
        return static_cast<T>(FetchSub##suffix(value) - value);                                    \
    }                                                                                              \
    void Sub##suffix(const T &value) {                                                             \
        FetchSub##suffix(value);                                                                   \
    }                                                                                              \
    T FetchIncrement##suffix() {                                                                   \
        return FetchAdd##suffix(1);                                                                \
    }                                                                                              \
    T IncrementFetch##suffix() {                                                                   \
        return AddFetch##suffix(1);                                                                \
    }                                                                                              \
    void Increment##suffix() {                                                                     \
        FetchAdd##suffix(1);                                                                       \
    }                                                                                              \
    T FetchDecrement##suffix() {                                                                   \
        return FetchSub##suffix(1);                                                                \
    }                                                                                              \
    T DecrementFetch##suffix() {                                                                   \
        return SubFetch##suffix(1);                                                                \
    }                                                                                              \
    void Decrement##suffix() {                                                                     \
        FetchSub##suffix(1);                                                                       \
    }

/* The operations that read and write, with one memory order; `failed` is that of a failed one. */
#define THRUM_COMPAT_EXCHANGES(suffix, order, failed)                                              \
    T Exchange##suffix(const T &value) {                                                           \
        return value_.exchange(value, std::memory_order_##order);                                  \
    }                                                                                              \
    T FetchBitOr##suffix(const T &value) {                                                         \
        return value_.fetch_or(value, std::memory_order_##order);                                  \
    }                                                                                              \
    T FetchBitAnd##suffix(const T &value) {                                                        \
        return value_.fetch_and(value, std::memory_order_##order);                                 \
    }                                                                                              \
    void BitOr##suffix(const T &value) {                                                           \
        value_.fetch_or(value, std::memory_order_##order);                                         \
    }                                                                                              \
    void BitAnd##suffix(const T &value) {                                                          \
        value_.fetch_and(value, std::memory_order_##order);                                        \
    }                                                                                              \
    bool CmpExchgWeak##suffix(T &expected, const T &value) {                                       \
        return value_.compare_exchange_weak(expected, value, std::memory_order_##order,            \
                                            std::memory_order_##failed);                           \
    }                                                                                              \
    bool CmpExchgStrong##suffix(T &expected, const T &value) {                                     \
        return value_.compare_exchange_strong(expected, value, std::memory_order_##order,          \
                                              std::memory_order_##failed);                         \
    }

namespace mg {
namespace box {

template <typename T> class Atomic {
  public:
    Atomic() = default;
    Atomic(const T &value) : value_(value) {
    }

    T LoadRelaxed() const {
        return value_.load(std::memory_order_relaxed);
    }
    T LoadAcquire() const {
        return value_.load(std::memory_order_acquire);
    }
    T Load() const {
        return value_.load();
    }
    void StoreRelaxed(const T &value) {
        value_.store(value, std::memory_order_relaxed);
    }
    void StoreRelease(const T &value) {
        value_.store(value, std::memory_order_release);
    }
    void Store(const T &value) {
        value_.store(value);
    }

    THRUM_COMPAT_EXCHANGES(Relaxed, relaxed, relaxed)
    THRUM_COMPAT_EXCHANGES(Acquire, acquire, relaxed)
    THRUM_COMPAT_EXCHANGES(Release, release, relaxed)
    THRUM_COMPAT_EXCHANGES(AcqRel, acq_rel, relaxed)
    THRUM_COMPAT_EXCHANGES(, seq_cst, relaxed)

    THRUM_COMPAT_ARITHMETIC(Relaxed, relaxed)
    THRUM_COMPAT_ARITHMETIC(Acquire, acquire)
    THRUM_COMPAT_ARITHMETIC(Release, release)
    THRUM_COMPAT_ARITHMETIC(AcqRel, acq_rel)
    THRUM_COMPAT_ARITHMETIC(, seq_cst)

  private:
    std::atomic<T> value_;
};

#undef THRUM_COMPAT_ARITHMETIC
#undef THRUM_COMPAT_EXCHANGES

using AtomicU8 = Atomic<uint8_t>;
using AtomicU16 = Atomic<uint16_t>;
using AtomicU32 = Atomic<uint32_t>;
using AtomicU64 = Atomic<uint64_t>;
using AtomicI8 = Atomic<int8_t>;
using AtomicI16 = Atomic<int16_t>;
using AtomicI32 = Atomic<int32_t>;
using AtomicI64 = Atomic<int64_t>;
using AtomicBool = Atomic<bool>;
using AtomicVoidPtr = Atomic<void *>;

} // namespace box
} // namespace mg

#endif
