/*
 * thrum/once.h: something that is done once, by the first caller; the others wait for it.
 *
 * The function may block; callers that come meanwhile wait, tasks by suspending. If it fails, the
 * caller that has waited longest tries next, with a function of its own. Waiting for a once is not
 * cancelled. An intrusive task waits without a stack, and does what is to be done in as many runs
 * as it likes, by thrum_once_on_until and thrum_once_finish (thrum/await.h).
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
THRUM_ABI_SIZE(thrum_once, 32, 24);

/* clang-format off */
#define THRUM_ONCE_INIT { 0, 0, 0, NULL, NULL }
/* clang-format on */

/*
 * Makes a once that has not been done, as THRUM_ONCE_INIT does. Any thread may call it while no
 * other uses the memory. It never suspends and cannot fail.
 */
THRUM_API void thrum_once_init(thrum_once *once);

/*
 * Ends the once, which is then as after the init. Any thread may call it. It never suspends. It
 * returns 0, or -EBUSY with the once unchanged while its function runs, or an intrusive task has
 * the turn.
 */
THRUM_API int thrum_once_destroy(thrum_once *once);

/*
 * Calls `fn(arg)` on the caller's stack, unless that was done before; waits while another caller's
 * function runs. Any thread may call it. It may suspend, and is not cancelled. It returns 0 once it
 * is done: `fn` returned 0 or more, here or elsewhere, and what it wrote is visible. A negative
 * result of `fn` is returned to the caller that ran it, and it counts as not done: then the first
 * waiter, or else the next caller, runs a function of its own. Errors, with `fn` not called:
 * -EDEADLK from within `fn` by the same task (or thread); -EINVAL without `fn`.
 */
THRUM_API THRUM_NODISCARD int thrum_once_run(thrum_once *once, thrum_fn fn, void *arg);
/*
 * Does the same, waiting for another caller's function until the deadline. Past it, it returns
 * -ETIMEDOUT, and `fn` was not called.
 */
THRUM_API THRUM_NODISCARD int thrum_once_run_until(thrum_once *once, thrum_fn fn, void *arg,
                                                   thrum_time deadline);

/*
 * Returns whether it has been done; if so, what the function wrote is visible. Any thread may call
 * it. It never suspends and cannot fail.
 */
THRUM_API bool thrum_once_is_done(const thrum_once *once);

THRUM_END_DECLS

#endif
