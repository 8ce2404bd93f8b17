/*
 * Macros of the platform, the compiler and the language, under their names in serverbox.
 */
#ifndef THRUM_COMPAT_MG_BOX_DEFINITIONS_H
#define THRUM_COMPAT_MG_BOX_DEFINITIONS_H

#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <errno.h>
#include <new>

#if defined(_WIN32)
#define IS_PLATFORM_WIN 1
#else
#define IS_PLATFORM_WIN 0
#endif
#define IS_PLATFORM_UNIX (!IS_PLATFORM_WIN)
#define IS_PLATFORM_POSIX (!IS_PLATFORM_WIN)
#if defined(__linux__)
#define IS_PLATFORM_LINUX 1
#else
#define IS_PLATFORM_LINUX 0
#endif
#if defined(__APPLE__)
#define IS_PLATFORM_APPLE 1
#else
#define IS_PLATFORM_APPLE 0
#endif

#if defined(__clang__)
#define IS_COMPILER_CLANG 1
#define IS_COMPILER_GCC 0
#else
#define IS_COMPILER_CLANG 0
#define IS_COMPILER_GCC 1
#endif
#define IS_COMPILER_MSVC 0

/* Each is defined only if it holds, as in the original. */
#if __cplusplus >= 201402L
#define IS_CPP_AT_LEAST_14 1
#endif
#if __cplusplus >= 201703L
#define IS_CPP_AT_LEAST_17 1
#endif
#if __cplusplus > 201703L
#define IS_CPP_AT_LEAST_20 1
#endif

#if defined(NDEBUG)
#define IS_BUILD_RELEASE 1
#define IS_BUILD_DEBUG 0
#else
#define IS_BUILD_RELEASE 0
#define IS_BUILD_DEBUG 1
#endif

#define MG_FORCEINLINE inline __attribute__((always_inline))
#define MG_NOINLINE __attribute__((noinline))
#define MG_UNUSED_MEMBER __attribute__((unused))
#define MG_CACHE_LINE_SIZE 64

/* A deadline that never comes; the second name is the older one. */
#define MG_TIME_INFINITE UINT64_MAX
#define MG_DEADLINE_INFINITE UINT64_MAX

/* Names its arguments without evaluating them. */
#define MG_UNUSED(...) ((void)sizeof(mg::box::detail::Unused(__VA_ARGS__)))

/* Only clang checks formats, as in the original: programs have these on constructors, too. */
#if IS_COMPILER_CLANG
#define MG_STRFORMAT_PRINTF(text, first) __attribute__((format(printf, text, first)))
#define MG_STRFORMAT_SCANF(text, first) __attribute__((format(scanf, text, first)))
#else
#define MG_STRFORMAT_PRINTF(text, first)
#define MG_STRFORMAT_SCANF(text, first)
#endif

#define F_DECLARE_CLASS(outer, inner, name)                                                        \
    namespace outer {                                                                              \
    namespace inner {                                                                              \
    class name;                                                                                    \
    }                                                                                              \
    }
#define F_DECLARE_STRUCT(outer, inner, name)                                                       \
    namespace outer {                                                                              \
    namespace inner {                                                                              \
    struct name;                                                                                   \
    }                                                                                              \
    }

namespace mg {
namespace box {
namespace detail {

/* Declared only: MG_UNUSED takes its size. */
template <typename... Values> int Unused(const Values &...values);

} // namespace detail
} // namespace box
} // namespace mg

#endif
