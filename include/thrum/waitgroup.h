/*
 * thrum/waitgroup.h: waiting until a number of things is done.
 */
#ifndef THRUM_WAITGROUP_H
#define THRUM_WAITGROUP_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

typedef struct thrum_waitgroup {
    uint64_t reserved_word;
    void *reserved_first;
    void *reserved_last;
} thrum_waitgroup;
THRUM_ABI_SIZE(thrum_waitgroup, 24, 16);

/* The count may be 0 to THRUM_WAITGROUP_MAX. */
#define THRUM_WAITGROUP_MAX INT32_MAX

/* clang-format off */
#define THRUM_WAITGROUP_INIT(n) { (uint64_t)(n) << 2, NULL, NULL }
/* clang-format on */

/*
 * Makes a waitgroup whose count is n, as THRUM_WAITGROUP_INIT does. It aborts for a count beyond
 * THRUM_WAITGROUP_MAX. Any thread may call it while no other uses the memory. It never suspends.
 */
THRUM_API void thrum_waitgroup_init(thrum_waitgroup *wg, unsigned n);

/*
 * Ends the waitgroup, whose count is then 0. Any thread may call it. It never suspends. It returns
 * 0, or -EBUSY with the waitgroup unchanged while it is waited for. The memory may be freed once
 * every wait on it has returned: a waiter that was woken is not waiting any more, but may not have
 * returned yet.
 */
THRUM_API int thrum_waitgroup_destroy(thrum_waitgroup *wg);

/*
 * Adds n, which may be negative, to the count; at 0 all waiters are woken. Add for a task before
 * you start it. Any thread may call it. It never suspends. It aborts when the count leaves its
 * range.
 */
THRUM_API void thrum_waitgroup_add(thrum_waitgroup *wg, int n);

/*
 * Does thrum_waitgroup_add(wg, -1). When the count is 0, the waiter may free the waitgroup at once.
 * Any thread may call it. It never suspends. It aborts when the count is 0 already.
 */
THRUM_API void thrum_waitgroup_done(thrum_waitgroup *wg);

/*
 * Waits until the count is 0; what was written before every done is visible. Any thread may call
 * it. It may suspend. It returns 0, or -ECANCELED when the caller is cancelled before the count is
 * 0.
 */
THRUM_API THRUM_NODISCARD int thrum_waitgroup_wait(thrum_waitgroup *wg);
/* Does the same until the deadline. Past it, it returns -ETIMEDOUT. */
THRUM_API THRUM_NODISCARD int thrum_waitgroup_wait_until(thrum_waitgroup *wg, thrum_time deadline);

THRUM_END_DECLS

#endif
