/*
 * thrum/fork.h: fork and join. A fork is a call that another worker may make while the caller does
 * something else. It lives in the caller's frame, and allocates nothing.
 *
 *     thrum_fork left;
 *     thrum_fork_start(&left, sort_left, &range);
 *     sort_right(&range);
 *     int result = thrum_fork_join(&left);
 *
 * If no worker has taken the fork, the join makes the call itself. Then a fork costs a few
 * nanoseconds, so fork everything that could run at the same time.
 *
 * The call is made by the caller's own task, at the join, or by a task of its own on any worker, at
 * any time between start and join. Do not rely on either. In both cases it is cancelled with the
 * caller. In a task of its own the call has the deadline (thrum_deadline) and the shield that the
 * caller had at the start; otherwise it has those of the caller at the join. At the join the
 * function runs as part of the caller: it is the same owner of locks, and has the same values under
 * keys. So it must not take a lock that its caller holds over the join, nor rely on a name or
 * values of its own.
 *
 * The caller and the function may block, wait for each other, and fork. Before a task suspends, it
 * leaves its forks to other workers.
 */
#ifndef THRUM_FORK_H
#define THRUM_FORK_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/*
 * A forked call, in the caller's memory. It needs no initializer, and must not move from its start
 * to its join.
 */
typedef struct thrum_fork {
    uint64_t reserved[12];
} thrum_fork;
THRUM_STATIC_ASSERT(sizeof(thrum_fork) == 96, "part of the ABI");

/*
 * Allows `fn(arg)` to be called from now on, on any worker. On a plain or bound thread the call is
 * made at once, by this call.
 *
 * Each start is followed by one thrum_fork_join, or by a thrum_fork_take_back that returns true, in
 * the same task. Join forks newest first.
 *
 * Parameters:
 *   fork  the memory of the fork, which lives until the join
 *   fn    the function
 *   arg   its argument; the data that it points to live until the join
 * Context: any thread; never suspends. On a plain or bound thread the function runs here, and may
 *   block.
 * Ordering: the writes before this call are visible to the function.
 * Misuse: the task ends before the join, or forks are joined in another order. It is noticed only
 *   while no other task has the forks.
 * Example: examples/fork_join.c
 * See also: thrum_fork_join, thrum_invoke, thrum_parallel_for
 */
THRUM_API void thrum_fork_start(thrum_fork *fork, thrum_fn fn, void *arg);

/*
 * Ends the fork: makes the call itself, or waits for the task that makes it. The call uses the
 * caller's frame, so a cancel does not end this wait. It ends the waits of the call, wherever that
 * is made.
 *
 * Parameters:
 *   fork  the fork, the newest one that the caller has not joined
 * Returns: the value that the function returned.
 * Errors: none.
 * Context: the task or thread that started the fork; may suspend; not cancellable.
 * Ordering: the writes of the function are visible after it.
 * Misuse: the fork is not the newest one; or the caller is in the child of a fork of the process,
 *   and started it in the parent.
 * Example: examples/fork_join.c
 * See also: thrum_fork_start, thrum_fork_take_back
 */
THRUM_API int thrum_fork_join(thrum_fork *fork);

/*
 * Takes the call back, in place of a join, if it has not begun.
 *
 * Parameters:
 *   fork  the fork, the newest one that the caller has not joined
 * Returns: true if the call has not begun and never will; the caller makes it itself, or omits it.
 *   False if it was left to another task, which makes it or has made it (as a rule if the caller
 *   has suspended), or if it was made at the start; thrum_fork_join must follow.
 * Context: the task or thread that started the fork; never suspends.
 * Ordering: none.
 * Example:
 *    if (thrum_fork_take_back(&left)) {
 *        sort_in_place(&range); // alone: it need not be left to others any more
 *    } else {
 *        (void)thrum_fork_join(&left);
 *    }
 * See also: thrum_fork_join
 */
THRUM_API bool thrum_fork_take_back(thrum_fork *fork);

THRUM_END_DECLS

#endif
