/*
 * thrum/once.h: a once, for work that is done one time, by the first caller. Other callers wait
 * until it is done. If it fails, the caller that has waited longest tries next, with a function of
 * its own.
 *
 * The function may block; tasks that wait for it suspend. A cancel does not end a wait for a once.
 * An intrusive task can wait without a stack, and do the work in as many runs as it likes
 * (thrum_once_on_until and thrum_once_finish in thrum/await.h).
 */
#ifndef THRUM_ONCE_H
#define THRUM_ONCE_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/* A once. The caller owns its memory, and makes it by thrum_once_init or THRUM_ONCE_INIT. */
typedef struct thrum_once {
    uint32_t reserved_word;
    uint32_t reserved_pad;
    uint64_t reserved_owner;
    void *reserved_first;
    void *reserved_last;
} thrum_once;
THRUM_ABI_SIZE(thrum_once, 32, 24);

/*
 * Makes a once that has not been done. THRUM_ONCE_INIT is the same as an initializer, also for
 * static variables.
 *
 * Parameters:
 *   once  the memory of the once, which no other thread uses during the call
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    static thrum_once tables = THRUM_ONCE_INIT;
 * See also: thrum_once_run
 */
/* clang-format off */
#define THRUM_ONCE_INIT { 0, 0, 0, NULL, NULL }
/* clang-format on */
THRUM_API void thrum_once_init(thrum_once *once);

/*
 * Ends the once, which is then as after the init. It frees nothing and may be omitted.
 *
 * Parameters:
 *   once  the once
 * Returns: 0, or a negative error code; the once is then unchanged.
 * Errors:
 *   -EBUSY  its function runs, or an intrusive task has the turn
 * Context: any thread; never suspends.
 * Ordering: the writes of earlier functions are visible after a call that returned 0.
 */
THRUM_API int thrum_once_destroy(thrum_once *once);

/*
 * Calls `fn(arg)` on the caller's stack, unless the once is done, and waits while another caller's
 * function runs. thrum_once_run_until waits for that until the deadline.
 *
 * The once is done when a function returns 0 or more. If it returns a negative value, the once is
 * not done: then the first waiter, or else the next caller, runs a function of its own.
 *
 * Parameters:
 *   once      the once
 *   fn        the function
 *   arg       its argument
 *   deadline  thrum_once_run_until only: when to stop waiting for another caller's function, an
 *             instant from thrum_after or THRUM_FOREVER
 * Returns: 0 when the once is done, here or by another caller; the negative value that fn returned
 *   here; or a negative error code, with fn not called.
 * Errors:
 *   -EDEADLK    the caller is in the function of this once
 *   -EINVAL     fn is NULL
 *   -ETIMEDOUT  thrum_once_run_until only: the deadline passed
 *   -ESHUTDOWN  in the child of a fork (thrum/sched.h): no thread is left to do it
 * Context: any thread; may suspend; not cancellable.
 * Ordering: the writes of the function that did it are visible after a call that returned 0.
 * Example:
 *    static int load(void *arg) { return read_tables(arg); } // 0, or a negative code
 *    int err = thrum_once_run(&tables, load, "tables.bin");
 * See also: thrum_once_is_done, thrum_once_on_until
 */
THRUM_API THRUM_NODISCARD int thrum_once_run(thrum_once *once, thrum_fn fn, void *arg);
THRUM_API THRUM_NODISCARD int thrum_once_run_until(thrum_once *once, thrum_fn fn, void *arg,
                                                   thrum_time deadline);

/*
 * Returns whether the once is done.
 *
 * Parameters:
 *   once  the once
 * Returns: true if it is done.
 * Context: any thread; never suspends.
 * Ordering: the writes of the function that did it are visible after a call that returned true.
 * See also: thrum_once_run
 */
THRUM_API bool thrum_once_is_done(const thrum_once *once);

THRUM_END_DECLS

#endif
