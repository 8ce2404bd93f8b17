/*
 * thrum/once.h: something that is done once, by whoever comes first; the others wait for it.
 *
 * The function may block; those who come meanwhile wait, tasks by suspending. If it fails, whoever
 * has waited longest tries next, with a function of its own. Not a cancellation point.
 */
#ifndef THRUM_ONCE_H
#define THRUM_ONCE_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

typedef struct thrum_once {
    uint32_t reserved_word;
    uint32_t reserved_pad;
    uint64_t reserved_owner;
    void *reserved_first;
    void *reserved_last;
} thrum_once;
THRUM_STATIC_ASSERT(sizeof(thrum_once) == 32, "part of the ABI");

/* clang-format off */
#define THRUM_ONCE_INIT { 0, 0, 0, NULL, NULL }
/* clang-format on */

/* Makes one that has not been done. */
THRUM_API void thrum_once_init(thrum_once *once);

/* Ends it; it is then as after the init. -EBUSY, unchanged, while its function runs. */
THRUM_API int thrum_once_destroy(thrum_once *once);

/*
 * Calls `fn(arg)` on the caller's stack, unless that was done before; waits while another call of
 * it runs. Any thread; may suspend. 0 once it is done: `fn` returned 0 or more, here or elsewhere,
 * and what it wrote is visible. A negative result of `fn` is returned to the caller that ran it,
 * and it counts as not done: the first of those who wait runs its own function then, or the next
 * caller. -EDEADLK when called from within `fn` by the same task (or thread); -EINVAL without `fn`.
 */
THRUM_API THRUM_NODISCARD int thrum_once_run(thrum_once *once, thrum_fn fn, void *arg);
/* The same, waiting for another's call until the deadline: -ETIMEDOUT, and `fn` was not called. */
THRUM_API THRUM_NODISCARD int thrum_once_run_until(thrum_once *once, thrum_fn fn, void *arg,
                                                   thrum_time deadline);

/* Whether it has been done; then what it wrote is visible. Any thread; never suspends. */
THRUM_API bool thrum_once_is_done(const thrum_once *once);

THRUM_END_DECLS

#endif
