/*
 * marl/debug.h: assertions, which end the program with one line on stderr. They are checked unless
 * NDEBUG is defined; MARL_DEBUG_ENABLED, defined as 0 or 1 before the headers, decides instead.
 *
 * The expansions end with a semicolon, so a call may be written without one. As in marl, compilers
 * do not compare the arguments with the format, so no program gets new warnings.
 */
#ifndef THRUM_COMPAT_MARL_DEBUG_H
#define THRUM_COMPAT_MARL_DEBUG_H

#include "thrum.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#ifndef MARL_DEBUG_ENABLED
#if !defined(NDEBUG) || defined(DCHECK_ALWAYS_ON)
#define MARL_DEBUG_ENABLED 1
#else
#define MARL_DEBUG_ENABLED 0
#endif
#endif

namespace marl {

/* Prints the message to stderr and aborts, whether assertions are checked or not. */
[[noreturn]] inline void fatal(const char *format, ...) {
    va_list args;
    va_start(args, format);
    std::vfprintf(stderr, format, args);
    va_end(args);
    std::abort();
}

/* Prints the message to stdout, as marl does. */
inline void warn(const char *format, ...) {
    va_list args;
    va_start(args, format);
    std::vfprintf(stdout, format, args);
    va_end(args);
}

namespace detail {

/* The two above with a word before the message and the end of the line after it. */
[[noreturn]] inline void stop(const char *kind, const char *format, ...) {
    va_list args;
    va_start(args, format);
    std::fputs(kind, stderr);
    std::vfprintf(stderr, format, args);
    std::fputc('\n', stderr);
    va_end(args);
    std::abort();
}

inline void tell(const char *kind, const char *format, ...) {
    va_list args;
    va_start(args, format);
    std::fputs(kind, stdout);
    std::vfprintf(stdout, format, args);
    std::fputc('\n', stdout);
    va_end(args);
}

/* An error of thrum that marl has no result for. */
inline void must(const char *call, int err) {
    if (err != 0) {
        stop("marl: ", "%s: %s", call, thrum_strerror(err));
    }
}

} // namespace detail

#if MARL_DEBUG_ENABLED
#define MARL_FATAL(...) ::marl::detail::stop("", __VA_ARGS__);
#define MARL_ASSERT(cond, ...)                                                                     \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            ::marl::detail::stop("ASSERT: ", __VA_ARGS__);                                         \
        }                                                                                          \
    } while (false);
#define MARL_ASSERT_HAS_BOUND_SCHEDULER(feature) ::marl::assert_has_bound_scheduler(feature);
#define MARL_UNREACHABLE() MARL_FATAL("UNREACHABLE")
#define MARL_WARN(...) ::marl::detail::tell("WARNING: ", __VA_ARGS__);
#else
#define MARL_FATAL(...)
#define MARL_ASSERT(cond, ...)
#define MARL_ASSERT_HAS_BOUND_SCHEDULER(feature)
#define MARL_UNREACHABLE()
#define MARL_WARN(...)
#endif

/* Asserts that the caller is a task, or a thread with a bound scheduler. */
inline void assert_has_bound_scheduler(const char *feature) {
    (void)feature;
    MARL_ASSERT(thrum_sched_current(), "%s requires a marl::Scheduler to be bound", feature)
}

} // namespace marl

#endif
