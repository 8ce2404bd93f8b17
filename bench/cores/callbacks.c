/*
 * callbacks.c: the functions that -fsanitize=thread and -fsanitize-coverage=trace-pc make gcc call:
 * here they charge the cost of the access, or of the block of code.
 */
#include <string.h>

#include "machine.h"

#define SITE __builtin_return_address(0)
#define AT(a) ((uintptr_t)(a))

void __tsan_init(void);
void __tsan_init(void) {
}
void __tsan_func_entry(void *pc);
void __tsan_func_entry(void *pc) {
    (void)pc;
}
void __tsan_func_exit(void);
void __tsan_func_exit(void) {
}
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) {
    machine_block();
}

#define ONE(name, size, kind)                                                                      \
    void __tsan_##name(void *a);                                                                   \
    void __tsan_##name(void *a) {                                                                  \
        machine_access(AT(a), size, kind, SITE);                                                   \
    }
#define PLAIN(size)                                                                                \
    ONE(read##size, size, READ)                                                                    \
    ONE(write##size, size, WRITE)                                                                  \
    ONE(read_write##size, size, WRITE)                                                             \
    ONE(volatile_read##size, size, READ)                                                           \
    ONE(volatile_write##size, size, WRITE)                                                         \
    ONE(unaligned_read##size, size, READ)                                                          \
    ONE(unaligned_write##size, size, WRITE)                                                        \
    ONE(unaligned_read_write##size, size, WRITE)
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

void __tsan_read_range(void *a, size_t size);
void __tsan_read_range(void *a, size_t size) {
    machine_access(AT(a), size, READ, SITE);
}
void __tsan_write_range(void *a, size_t size);
void __tsan_write_range(void *a, size_t size) {
    machine_access(AT(a), size, WRITE, SITE);
}

void *__real_memcpy(void *to, const void *from, size_t n);
void *__real_memmove(void *to, const void *from, size_t n);
void *__real_memset(void *to, int value, size_t n);
void *__wrap_memcpy(void *to, const void *from, size_t n);
void *__wrap_memmove(void *to, const void *from, size_t n);
void *__wrap_memset(void *to, int value, size_t n);

static void copied(void *to, const void *from, size_t n, const void *site) {
    if (n != 0) {
        machine_access(AT(from), n, READ, site);
        machine_access(AT(to), n, WRITE, site);
    }
}

void *__wrap_memcpy(void *to, const void *from, size_t n) {
    copied(to, from, n, SITE);
    return __real_memcpy(to, from, n);
}

void *__wrap_memmove(void *to, const void *from, size_t n) {
    copied(to, from, n, SITE);
    return __real_memmove(to, from, n);
}

void *__wrap_memset(void *to, int value, size_t n) {
    if (n != 0) {
        machine_access(AT(to), n, WRITE, SITE);
    }
    return __real_memset(to, value, n);
}

/* ---- atomics ---- */

/* A store that is sequentially consistent is an exchange, as gcc makes it. */
#define SEQ 5

#define RMW_OP(bits, type, name, expression)                                                       \
    type __tsan_atomic##bits##_##name(volatile type *a, type v, int order);                        \
    type __tsan_atomic##bits##_##name(volatile type *a, type v, int order) {                       \
        (void)order;                                                                               \
        machine_access(AT(a), sizeof(type), RMW, SITE);                                            \
        const type was = *a;                                                                       \
        *a = (type)(expression);                                                                   \
        return was;                                                                                \
    }
#define CAS_OP(bits, type, name)                                                                   \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile type *a, type *expected, type want, \
                                                      int order, int failure);                     \
    int __tsan_atomic##bits##_compare_exchange_##name(volatile type *a, type *expected, type want, \
                                                      int order, int failure) {                    \
        (void)order, (void)failure;                                                                \
        machine_access(AT(a), sizeof(type), RMW, SITE);                                            \
        const type was = *a;                                                                       \
        if (was == *expected) {                                                                    \
            *a = want;                                                                             \
            return 1;                                                                              \
        }                                                                                          \
        *expected = was;                                                                           \
        return 0;                                                                                  \
    }
#define ATOMICS(bits, type)                                                                        \
    type __tsan_atomic##bits##_load(const volatile type *a, int order);                            \
    type __tsan_atomic##bits##_load(const volatile type *a, int order) {                           \
        (void)order;                                                                               \
        machine_access(AT(a), sizeof(type), READ_ATOMIC, SITE);                                    \
        return *a;                                                                                 \
    }                                                                                              \
    void __tsan_atomic##bits##_store(volatile type *a, type v, int order);                         \
    void __tsan_atomic##bits##_store(volatile type *a, type v, int order) {                        \
        machine_access(AT(a), sizeof(type), order == SEQ ? RMW : WRITE_ATOMIC, SITE);              \
        *a = v;                                                                                    \
    }                                                                                              \
    RMW_OP(bits, type, exchange, v)                                                                \
    RMW_OP(bits, type, fetch_add, was + v)                                                         \
    RMW_OP(bits, type, fetch_sub, was - v)                                                         \
    RMW_OP(bits, type, fetch_and, was &v)                                                          \
    RMW_OP(bits, type, fetch_or, was | v)                                                          \
    RMW_OP(bits, type, fetch_xor, was ^ v)                                                         \
    RMW_OP(bits, type, fetch_nand, ~(was & v))                                                     \
    CAS_OP(bits, type, strong)                                                                     \
    CAS_OP(bits, type, weak)                                                                       \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *a, type expected, type want,    \
                                                    int order, int failure);                       \
    type __tsan_atomic##bits##_compare_exchange_val(volatile type *a, type expected, type want,    \
                                                    int order, int failure) {                      \
        (void)order, (void)failure;                                                                \
        machine_access(AT(a), sizeof(type), RMW, SITE);                                            \
        const type was = *a;                                                                       \
        if (was == expected)                                                                       \
            *a = want;                                                                             \
        return was;                                                                                \
    }
ATOMICS(8, uint8_t)
ATOMICS(16, uint16_t)
ATOMICS(32, uint32_t)
ATOMICS(64, uint64_t)

void __tsan_atomic_thread_fence(int order);
void __tsan_atomic_thread_fence(int order) {
    if (order == SEQ) {
        machine_fence(); /* weaker ones cost nothing on x86 */
    }
}

void __tsan_atomic_signal_fence(int order);
void __tsan_atomic_signal_fence(int order) {
    (void)order;
}
