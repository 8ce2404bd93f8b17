/*
 * tsan.c: the functions that -fsanitize=thread makes gcc and clang call.
 */
#include <string.h>

#include "engine.h"

#define SITE __builtin_return_address(0)
/*
 * A plain write of a thread comes after its own stores to the same place, also stores that are
 * still in its store buffer.
 */
#define OWN_FIRST(addr, size)                                                                      \
    do {                                                                                           \
        if (unlikely(E->current->buffered)) {                                                      \
            model_drain_at(E->current, (uintptr_t)(addr), (size));                                 \
        }                                                                                          \
    } while (0)
#define WATCH(addr, size, write)                                                                   \
    do {                                                                                           \
        if (is_watched()) {                                                                        \
            if (write) {                                                                           \
                OWN_FIRST(addr, size);                                                             \
            }                                                                                      \
            shadow_access((uintptr_t)(addr), (size), (write), false, SITE);                        \
        }                                                                                          \
    } while (0)

/* The names that compilers call; all else in the test kit's library is local to it. */
#pragma GCC visibility push(default)

#if !TH_KIT /* else race.c has it */
void __tsan_init(void);
void __tsan_init(void) {
}
#endif
void __tsan_func_entry(void *pc);
void __tsan_func_entry(void *pc) {
    (void)pc;
}
void __tsan_func_exit(void);
void __tsan_func_exit(void) {
}

#define PLAIN(size)                                                                                \
    void __tsan_read##size(void *a);                                                               \
    void __tsan_read##size(void *a) {                                                              \
        WATCH(a, size, false);                                                                     \
    }                                                                                              \
    void __tsan_write##size(void *a);                                                              \
    void __tsan_write##size(void *a) {                                                             \
        WATCH(a, size, true);                                                                      \
    }                                                                                              \
    void __tsan_read_write##size(void *a);                                                         \
    void __tsan_read_write##size(void *a) {                                                        \
        WATCH(a, size, true);                                                                      \
    }                                                                                              \
    void __tsan_volatile_read##size(void *a);                                                      \
    void __tsan_volatile_read##size(void *a) {                                                     \
        WATCH(a, size, false);                                                                     \
    }                                                                                              \
    void __tsan_volatile_write##size(void *a);                                                     \
    void __tsan_volatile_write##size(void *a) {                                                    \
        WATCH(a, size, true);                                                                      \
    }                                                                                              \
    void __tsan_unaligned_read##size(void *a);                                                     \
    void __tsan_unaligned_read##size(void *a) {                                                    \
        WATCH(a, size, false);                                                                     \
    }                                                                                              \
    void __tsan_unaligned_write##size(void *a);                                                    \
    void __tsan_unaligned_write##size(void *a) {                                                   \
        WATCH(a, size, true);                                                                      \
    }                                                                                              \
    void __tsan_unaligned_read_write##size(void *a);                                               \
    void __tsan_unaligned_read_write##size(void *a) {                                              \
        WATCH(a, size, true);                                                                      \
    }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

/* Of C++: the pointers to tables of virtual functions. */
void __tsan_vptr_update(void **a, void *value);
void __tsan_vptr_update(void **a, void *value) {
    if (*a != value) {
        WATCH(a, sizeof *a, true);
    }
}
void __tsan_vptr_read(void **a);
void __tsan_vptr_read(void **a) {
    WATCH(a, sizeof *a, false);
}

void __tsan_read_range(void *a, size_t size);
void __tsan_read_range(void *a, size_t size) {
    WATCH(a, size, false);
}
void __tsan_write_range(void *a, size_t size);
void __tsan_write_range(void *a, size_t size) {
    WATCH(a, size, true);
}

#pragma GCC visibility pop

void sim_wrote(const void *addr, size_t size) {
    WATCH(addr, size, true);
}

void sim_reads(const void *addr, size_t size) {
    WATCH(addr, size, false);
}

#pragma GCC visibility push(default)

/* Copies and fills that a compiler made of assignments; the linker sends them here (--wrap). */
void *__real_memcpy(void *to, const void *from, size_t n);
void *__real_memmove(void *to, const void *from, size_t n);
void *__real_memset(void *to, int value, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n);
void *__wrap_memmove(void *to, const void *from, size_t n);
void *__wrap_memset(void *to, int value, size_t n);

void *__wrap_memcpy(void *to, const void *from, size_t n) {
    if (n) {
        WATCH(from, n, false);
        WATCH(to, n, true);
    }
    return __real_memcpy(to, from, n);
}

void *__wrap_memmove(void *to, const void *from, size_t n) {
    if (n) {
        WATCH(from, n, false);
        WATCH(to, n, true);
    }
    return __real_memmove(to, from, n);
}

void *__wrap_memset(void *to, int value, size_t n) {
    if (n) {
        WATCH(to, n, true);
    }
    return __real_memset(to, value, n);
}

/* Newer compilers call these instead. */
void *__tsan_memcpy(void *to, const void *from, size_t n) __attribute__((alias("__wrap_memcpy")));
void *__tsan_memmove(void *to, const void *from, size_t n) __attribute__((alias("__wrap_memmove")));
void *__tsan_memset(void *to, int value, size_t n) __attribute__((alias("__wrap_memset")));

/* ---- atomics ---- */

#define RMW(bits, type, name, op)                                                                  \
    type __tsan_atomic##bits##_##name(volatile type *a, type v, int order);                        \
    type __tsan_atomic##bits##_##name(volatile type *a, type v, int order) {                       \
        return (type)model_rmw((void *)(uintptr_t)a, sizeof(type), op, (uint64_t)v, order, SITE);  \
    }
#define ATOMICS(bits, type)                                                                        \
    type __tsan_atomic##bits##_load(const volatile type *a, int order);                            \
    type __tsan_atomic##bits##_load(const volatile type *a, int order) {                           \
        return (type)model_load((void *)(uintptr_t)a, sizeof(type), order, SITE);                  \
    }                                                                                              \
    void __tsan_atomic##bits##_store(volatile type *a, type v, int order);                         \
    void __tsan_atomic##bits##_store(volatile type *a, type v, int order) {                        \
        model_store((void *)(uintptr_t)a, sizeof(type), (uint64_t)v, order, SITE);                 \
    }                                                                                              \
    RMW(bits, type, exchange, RMW_XCHG)                                                            \
    RMW(bits, type, fetch_add, RMW_ADD)                                                            \
    RMW(bits, type, fetch_sub, RMW_SUB)                                                            \
    RMW(bits, type, fetch_and, RMW_AND)                                                            \
    RMW(bits, type, fetch_or, RMW_OR)                                                              \
    RMW(bits, type, fetch_xor, RMW_XOR)                                                            \
    RMW(bits, type, fetch_nand, RMW_NAND)                                                          \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile type *a, type *expected, type want, \
                                                      int order, int failure);                     \
    int __tsan_atomic##bits##_compare_exchange_strong(volatile type *a, type *expected, type want, \
                                                      int order, int failure) {                    \
        type was = (type)model_cas((void *)(uintptr_t)a, sizeof(type), (uint64_t)*expected,        \
                                   (uint64_t)want, order, failure, SITE);                          \
        bool same = was == *expected;                                                              \
        *expected = was;                                                                           \
        return same;                                                                               \
    }                                                                                              \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile type *a, type *expected, type want,   \
                                                    int order, int failure);                       \
    int __tsan_atomic##bits##_compare_exchange_weak(volatile type *a, type *expected, type want,   \
                                                    int order, int failure) {                      \
        type was = (type)model_cas((void *)(uintptr_t)a, sizeof(type), (uint64_t)*expected,        \
                                   (uint64_t)want, order, failure, SITE);                          \
        bool same = was == *expected;                                                              \
        *expected = was;                                                                           \
        return same;                                                                               \
    }                                                                                              \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *a, type expected, type want,    \
                                                    int order, int failure);                       \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *a, type expected, type want,    \
                                                    int order, int failure) {                      \
        return (type)model_cas((void *)(uintptr_t)a, sizeof(type), (uint64_t)expected,             \
                               (uint64_t)want, order, failure, SITE);                              \
    }
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order) {
    model_fence(order, SITE);
}

/* A fence for the compiler alone: the simulator executes in program order anyway. */
void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order) {
    (void)order;
}

#pragma GCC visibility pop
