/*
 * Assertions, which print one line and abort. MG_BOX_ASSERT holds in every build, MG_DEV_ASSERT
 * only without NDEBUG.
 */
#ifndef THRUM_COMPAT_MG_BOX_ASSERT_H
#define THRUM_COMPAT_MG_BOX_ASSERT_H

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include "mg/box/Definitions.h"

#define MG_BOX_ASSERT(condition)                                                                   \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            mg::box::AssertS(#condition, __FILE__, __LINE__);                                      \
        }                                                                                          \
    } while (false)

#define MG_BOX_ASSERT_F(condition, ...)                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            mg::box::AssertF(#condition, __FILE__, __LINE__, __VA_ARGS__);                         \
        }                                                                                          \
    } while (false)

#if IS_BUILD_DEBUG
#define MG_DEV_ASSERT MG_BOX_ASSERT
#define MG_DEV_ASSERT_F MG_BOX_ASSERT_F
#else
#define MG_DEV_ASSERT MG_UNUSED
#define MG_DEV_ASSERT_F MG_UNUSED
#endif

namespace mg {
namespace box {

[[noreturn]] inline void AssertS(const char *expression, const char *file, int line) {
    std::fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, expression);
    std::abort();
}

[[noreturn]] MG_STRFORMAT_PRINTF(4, 5) inline void AssertF(const char *expression, const char *file,
                                                           int line, const char *format, ...) {
    std::va_list args;
    va_start(args, format);
    std::fprintf(stderr, "%s:%d: assertion failed: %s: ", file, line, expression);
    std::vfprintf(stderr, format, args);
    std::fputc('\n', stderr);
    va_end(args);
    std::abort();
}

} // namespace box
} // namespace mg

#endif
