/*
 * thrum/base.h: what every other header needs: time, error codes, function shapes, attributes.
 *
 * Conventions of the whole library
 *   - A call returns 0 or a count on success and a negative errno code on failure. It never reports
 *     through `errno`, since a fiber can move between threads.
 *   - Time is `thrum_time`: nanoseconds on the monotonic clock. Deadlines are absolute.
 *   - "Any thread" means a task of any scheduler, a thread that is bound to one
 *     (thrum_sched_bind), or a plain thread, which is neither. To a scheduler a thread is external
 *     if it neither runs one of its tasks nor is bound to it.
 *   - "It may suspend" means that a caller that has to wait gives its worker up, and may go on on
 *     another one, if it is a task; runs what is tied to it, if it is a bound thread; and blocks,
 *     if it is a plain thread. A call that never suspends may still take a lock for a moment.
 *   - A wait that can be cancelled returns -ECANCELED, having taken nothing, when the caller has
 *     been cancelled: a task by thrum_cancel, its scope, thrum_with_deadline or a stop past its
 *     deadline, a bound thread by the last two. Plain threads are never cancelled.
 *   - In the child of a fork a wait may return -ESHUTDOWN instead (thrum/sched.h).
 *   - A primitive whose struct a header shows lies in the caller's memory and allocates nothing. It
 *     must not move while it is in use. Its destroy call frees nothing and may be left out.
 *   - No call is safe in a signal handler unless its comment says so.
 *   - Misuse that no caller can handle prints one line (call, object, fiber) and aborts.
 */
#ifndef THRUM_BASE_H
#define THRUM_BASE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "thrum/windows/cxx.h"

/* The version of these headers; before 1.0 a minor version may change names. */
#define THRUM_VERSION_MAJOR 0
#define THRUM_VERSION_MINOR 1
#define THRUM_VERSION_PATCH 0

/* Not every C library has the code that calls return when they are refused by a stop. */
#ifndef ESHUTDOWN
#define ESHUTDOWN 10058
#endif

#ifdef __cplusplus
#define THRUM_BEGIN_DECLS extern "C" {
#define THRUM_END_DECLS }
#define THRUM_STATIC_ASSERT(cond, msg) static_assert(cond, msg)
#else
#define THRUM_BEGIN_DECLS
#define THRUM_END_DECLS
#if defined(__STDC_VERSION__) && __STDC_VERSION__ >= 201112L
#define THRUM_STATIC_ASSERT(cond, msg) _Static_assert(cond, msg)
#else
#define THRUM_STATIC_ASSERT(cond, msg) struct thrum_no_static_assert
#endif
#endif

/* The size of a public struct: where a pointer has 8 bytes, and where it has 4. */
#define THRUM_ABI_SIZE(type, wide, narrow)                                                         \
    THRUM_STATIC_ASSERT(sizeof(type) == (sizeof(void *) == 8 ? (wide) : (narrow)),                 \
                        "part of the ABI")

#if defined(__GNUC__)
#define THRUM_NODISCARD __attribute__((warn_unused_result))
#define THRUM_API __attribute__((visibility("default")))
#else
#define THRUM_NODISCARD
#define THRUM_API
#endif

THRUM_BEGIN_DECLS

/* Nanoseconds on the monotonic clock; as a deadline, an absolute instant on it. */
typedef int64_t thrum_time;

/* As a deadline, it never comes; as a duration, it is longer than any other. */
#define THRUM_FOREVER INT64_MAX

/*
 * A duration of n microseconds, milliseconds or seconds, in nanoseconds. It is constant if n is. n
 * is a whole number: of 1.5 the half is lost.
 */
#define THRUM_US(n) ((thrum_time)(n)*1000)
#define THRUM_MS(n) ((thrum_time)(n)*1000000)
#define THRUM_S(n) ((thrum_time)(n)*1000000000)

/*
 * What a spawned task runs; the shape of C11's thrd_start_t. The caller of the join gets its value.
 */
typedef int (*thrum_fn)(void *arg);

typedef struct thrum_sched thrum_sched;   /* a scheduler: its workers and its queues */
typedef struct thrum_handle thrum_handle; /* a spawned task that can be joined */

/*
 * Returns the present, in nanoseconds. Any thread and any signal handler may call it. It never
 * suspends and cannot fail.
 */
THRUM_API thrum_time thrum_now(void);

/*
 * Returns the instant that lies this far ahead of now, or THRUM_FOREVER where that would be beyond
 * it. A negative distance gives an instant in the past. Any thread and any signal handler may call
 * it. It never suspends and cannot fail.
 */
THRUM_API thrum_time thrum_after(thrum_time ns);
THRUM_API thrum_time thrum_after_us(int64_t us);
THRUM_API thrum_time thrum_after_ms(int64_t ms);
THRUM_API thrum_time thrum_after_s(int64_t s);

/*
 * Returns a short text for a code that a thrum call returned (a negative one, or 0 for "success"),
 * or that a function of the program returned as -errno. Codes that are not thrum's own get the
 * system's words. The text is constant and is never freed. Any thread and any signal handler may
 * call it. It never suspends and cannot fail.
 */
THRUM_API const char *thrum_strerror(int err);

/*
 * Returns "major.minor.patch" of the library that is linked. The text is constant and is never
 * freed. Any thread and any signal handler may call it. It never suspends and cannot fail.
 */
THRUM_API const char *thrum_version(void);

THRUM_END_DECLS

#endif
