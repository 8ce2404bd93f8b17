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
THRUM_STATIC_ASSERT(sizeof(thrum_waitgroup) == 24, "part of the ABI");

/* The count may be 0 to THRUM_WAITGROUP_MAX. */
#define THRUM_WAITGROUP_MAX INT32_MAX

/* clang-format off */
#define THRUM_WAITGROUP_INIT(n) { (uint64_t)(n) << 2, NULL, NULL }
/* clang-format on */

THRUM_API void thrum_waitgroup_init(thrum_waitgroup *wg, unsigned n);

/*
 * -EBUSY, unchanged, while it is waited for. It may be freed once every wait on it has returned: a
 * waiter that was woken is not waiting any more, but may not have returned yet.
 */
THRUM_API int thrum_waitgroup_destroy(thrum_waitgroup *wg);

/*
 * Adds n (may be negative) to the count; at 0 everyone who waits is woken. Add for a task before
 * you start it. Any thread; never suspends. Aborts when the count leaves its range.
 */
THRUM_API void thrum_waitgroup_add(thrum_waitgroup *wg, int n);

/* thrum_waitgroup_add(wg, -1). The waiter may free the waitgroup at once. */
THRUM_API void thrum_waitgroup_done(thrum_waitgroup *wg);

/*
 * Waits until the count is 0. Any thread; may suspend. 0: what was written before every done is
 * visible. -ECANCELED: the count is not 0 yet.
 */
THRUM_API THRUM_NODISCARD int thrum_waitgroup_wait(thrum_waitgroup *wg);
/* The same until the deadline: -ETIMEDOUT. */
THRUM_API THRUM_NODISCARD int thrum_waitgroup_wait_until(thrum_waitgroup *wg, thrum_time deadline);

THRUM_END_DECLS

#endif
