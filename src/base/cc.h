/*
 * cc.h: the compiler extensions beyond C11 that the library uses, and no others; and lists that are
 * linked through their nodes.
 */
#ifndef TH_CC_H
#define TH_CC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define th_likely(x) __builtin_expect(!!(x), 1)
#define th_unlikely(x) __builtin_expect(!!(x), 0)

/* The pointer is not NULL: where the compiler sees all, it would warn of a write to address 0. */
#define th_known(p)                                                                                \
    do {                                                                                           \
        if (!(p)) {                                                                                \
            __builtin_unreachable();                                                               \
        }                                                                                          \
    } while (0)

#define TH_NOINLINE __attribute__((noinline))
#define TH_ALWAYS_INLINE inline __attribute__((always_inline))
#define TH_NORETURN __attribute__((noreturn))
#define TH_COLD __attribute__((cold, noinline))
#if defined(__clang__)
#define TH_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))
#else /* C's own printf; where the system has an older one, gcc means that by the plain word */
#define TH_PRINTF(fmt, first) __attribute__((format(gnu_printf, fmt, first)))
#endif
#define TH_UNUSED __attribute__((unused))
#define TH_NODISCARD __attribute__((warn_unused_result))
/* For declarations of foreign objects: the amalgamation hides all that it declares. */
#define TH_FOREIGN __attribute__((visibility("default")))

/* The distance between words that two threads write: two lines, which are fetched in pairs. */
#define TH_CACHE_LINE 128

#define th_container(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

/* Puts a node before the first one of a list whose nodes have their neighbours in two fields. */
#define TH_LIST_PUSH(first_, node_, next_, prev_)                                                  \
    do {                                                                                           \
        (node_)->prev_ = NULL;                                                                     \
        (node_)->next_ = *(first_);                                                                \
        if (*(first_)) {                                                                           \
            (*(first_))->prev_ = (node_);                                                          \
        }                                                                                          \
        *(first_) = (node_);                                                                       \
    } while (0)

/* Takes it off such a list. */
#define TH_LIST_TAKE(first_, node_, next_, prev_)                                                  \
    do {                                                                                           \
        if ((node_)->next_) {                                                                      \
            (node_)->next_->prev_ = (node_)->prev_;                                                \
        }                                                                                          \
        *((node_)->prev_ ? &(node_)->prev_->next_ : (first_)) = (node_)->next_;                    \
    } while (0)

/* Takes a node out of a list that is linked by the field `next_`. False: it is not there. */
#define TH_UNLINK(first_, node_, next_)                                                            \
    ({                                                                                             \
        __auto_type link_ = (first_);                                                              \
        while (*link_ && *link_ != (node_)) {                                                      \
            link_ = &(*link_)->next_;                                                              \
        }                                                                                          \
        const bool found_ = *link_;                                                                \
        if (found_) {                                                                              \
            *link_ = (*link_)->next_;                                                              \
        }                                                                                          \
        found_;                                                                                    \
    })

/*
 * The sanitizer that this is built for; gcc and clang report it in different ways. The simulator's
 * build (TH_SIM) has the thread sanitizer's callbacks, but none of its limits.
 */
#if defined(TH_SIM)
#define TH_TSAN 0
#elif defined(__SANITIZE_THREAD__)
#define TH_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define TH_TSAN 1
#endif
#endif
#ifndef TH_TSAN
#define TH_TSAN 0
#endif

/* A limit that is smaller in the simulator, so that its worlds reach it. */
#ifdef TH_SIM
#define TH_LIMIT(real_, simulated_) (simulated_)
#else
#define TH_LIMIT(real_, simulated_) (real_)
#endif
/* The same, with another value in the test kit. */
#if defined(TH_KIT) && TH_KIT
#define TH_LIMIT_OR(real_, kit_, simulated_) (kit_)
#else
#define TH_LIMIT_OR(real_, kit_, simulated_) TH_LIMIT(real_, simulated_)
#endif

#if defined(__SANITIZE_ADDRESS__)
#define TH_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TH_ASAN 1
#endif
#endif
#ifndef TH_ASAN
#define TH_ASAN 0
#endif

/*
 * Fetches a cache line for writing. The compilers' builtin does so only when all processors of the
 * target have the instruction.
 */
#if defined(__x86_64__) && !defined(TH_SIM)
#define th_prefetch_write(at_) __asm__ volatile("prefetchw %0" : : "m"(*(at_)))
#else
#define th_prefetch_write(at_) __builtin_prefetch((at_), 1)
#endif

/*
 * Marks a function that the thread sanitizer does not see at all, not even its entry: it may leave
 * in another context than it entered in (base/annotate.h). noipa: without it gcc, from -O2 on, has
 * the caller load values that the function only reads, and there the sanitizer sees the load.
 */
#if !TH_TSAN
#define TH_NO_TSAN
#elif defined(__clang__) /* noinline: it would be seen inside a function that is seen */
#define TH_NO_TSAN __attribute__((disable_sanitizer_instrumentation, noinline))
#else
#define TH_NO_TSAN __attribute__((no_sanitize_thread, noipa))
#endif

/* The same for functions that are inlined in all other builds. */
#if TH_TSAN
#define TH_INLINE_NO_TSAN TH_NO_TSAN TH_UNUSED
#define TH_ALWAYS_INLINE_NO_TSAN TH_INLINE_NO_TSAN
#else
#define TH_INLINE_NO_TSAN inline
#define TH_ALWAYS_INLINE_NO_TSAN TH_ALWAYS_INLINE
#endif

/* Marks a function that reads whole stacks, also between the variables of other functions. */
#if TH_ASAN
#define TH_NO_ASAN __attribute__((no_sanitize_address))
#else
#define TH_NO_ASAN
#endif

#endif
