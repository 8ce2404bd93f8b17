/*
 * thrum/base.h: the basis of every other header: time, error codes, function types, attributes.
 *
 * These conventions hold for the whole library:
 *   - A call returns 0 or a count on success and a negative errno code on failure. It never reports
 *     through `errno`, because a task can continue on another thread.
 *   - Time is `thrum_time`: nanoseconds on the monotonic clock. Deadlines are absolute.
 *   - "Any thread" is a task of any scheduler, a thread that is bound to a scheduler
 *     (thrum_sched_bind), or a plain thread, which is neither. To a scheduler, a thread is external
 *     if it neither runs one of its tasks nor is bound to it.
 *   - "May suspend" means that the caller may have to wait. A task then gives up its worker and may
 *     continue on another one. A bound thread runs its tied tasks, and a plain thread blocks. A
 *     call that never suspends may still take a lock for a moment.
 *   - "Cancellable" means that a wait in the call returns -ECANCELED, and has taken nothing, when
 *     the caller is cancelled. A task is cancelled by thrum_cancel, its scope, thrum_with_deadline
 *     or a stop past its deadline, a bound thread by the last two. Plain threads are never
 *     cancelled.
 *   - In the child of a fork a wait may return -ESHUTDOWN instead (thrum/sched.h).
 *   - An object whose struct is in a header is memory of the caller and allocates nothing. It must
 *     not move while it is in use. Its destroy call frees nothing and may be omitted.
 *   - No call is safe in a signal handler unless its Context names signal handlers.
 *   - Misuse that no caller can handle prints one line (call, object, task) and aborts.
 */
#ifndef THRUM_BASE_H
#define THRUM_BASE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "thrum/windows/cxx.h"

/*
 * The version of these headers, as in thrum_version. Before 1.0 a minor version may change names.
 */
#define THRUM_VERSION_MAJOR 0
#define THRUM_VERSION_MINOR 1
#define THRUM_VERSION_PATCH 0

/* Calls return this code after a stop. Some C libraries do not define it. */
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

/*
 * Asserts the size of a public struct, which is part of the ABI: `wide` bytes if a pointer has 8
 * bytes, `narrow` bytes if it has 4.
 */
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

/* A time in ns on the monotonic clock. A deadline is an instant on it, a duration a distance. */
typedef int64_t thrum_time;

/* As a deadline, an instant that never comes; as a duration, one that is longer than any other. */
#define THRUM_FOREVER INT64_MAX

/*
 * A duration of n microseconds, milliseconds or seconds, in ns. It is a constant expression if n is
 * one. n is an integer: the fraction of 1.5 is lost. A deadline is an instant: thrum_after_ms(100),
 * not THRUM_MS(100).
 */
#define THRUM_US(n) ((thrum_time)(n)*1000)
#define THRUM_MS(n) ((thrum_time)(n)*1000000)
#define THRUM_S(n) ((thrum_time)(n)*1000000000)

/*
 * The function of a spawned task, with the type of C11's thrd_start_t. thrum_join gets its result.
 */
typedef int (*thrum_fn)(void *arg);

/* A scheduler: its workers and queues. thrum_sched_start makes it, thrum_sched_stop frees it. */
typedef struct thrum_sched thrum_sched;

/* A spawned task, from thrum_spawn until thrum_join or thrum_detach. */
typedef struct thrum_handle thrum_handle;

/*
 * Returns the current time.
 *
 * Returns: the time in ns on the monotonic clock.
 * Context: any thread and any signal handler; never suspends.
 * Ordering: none.
 * Example:
 *    thrum_time begin = thrum_now();
 *    work();
 *    printf("%lld us\n", (long long)(thrum_now() - begin) / 1000);
 * See also: thrum_after
 */
THRUM_API thrum_time thrum_now(void);

/*
 * Returns the deadline that is this far ahead of the current time, in nanoseconds, microseconds,
 * milliseconds or seconds.
 *
 * Parameters:
 *   ns  the distance in nanoseconds; a negative one is in the past
 *   us  the distance in microseconds
 *   ms  the distance in milliseconds
 *   s   the distance in seconds
 * Returns: the instant, or THRUM_FOREVER if it would be beyond that.
 * Context: any thread and any signal handler; never suspends.
 * Ordering: none.
 * Example:
 *    int err = thrum_event_wait_until(&event, thrum_after_ms(100));
 * See also: thrum_now
 */
THRUM_API thrum_time thrum_after(thrum_time ns);
THRUM_API thrum_time thrum_after_us(int64_t us);
THRUM_API thrum_time thrum_after_ms(int64_t ms);
THRUM_API thrum_time thrum_after_s(int64_t s);

/*
 * Returns a short description of an error code. Codes that thrum does not use itself have the
 * description of the system.
 *
 * Parameters:
 *   err  a negative code that a thrum call returned, or that a function of the program returned as
 *        -errno; or 0
 * Returns: a constant text, which is never freed; "success" for 0.
 * Context: any thread and any signal handler; never suspends.
 * Ordering: none.
 * Example:
 *    fprintf(stderr, "cannot start: %s\n", thrum_strerror(err));
 */
THRUM_API const char *thrum_strerror(int err);

/*
 * Returns the version of the library that is linked.
 *
 * Returns: "major.minor.patch", a constant text, which is never freed.
 * Context: any thread and any signal handler; never suspends.
 * Ordering: none.
 * Example:
 *    printf("thrum %s\n", thrum_version());
 */
THRUM_API const char *thrum_version(void);

/*
 * The priority of a task: a flag of thrum_attr, or the argument of thrum_task_set_priority. Queued
 * tasks of high priority come before normal ones, and tasks of low priority run when there is
 * nothing else. None waits for ever (docs/policies.md). A running task is never interrupted.
 */
#define THRUM_HIGH 4u
#define THRUM_NORMAL 8u
#define THRUM_LOW 16u

THRUM_END_DECLS

#endif
