/*
 * thrum/fork.h: a call that others may make while its caller does something else: fork and join in
 * the caller's frame, without allocation.
 *
 *     thrum_fork left;
 *     thrum_fork_start(&left, sort_left, &range);
 *     sort_right(&range);
 *     int result = thrum_fork_join(&left);
 *
 * A fork costs a few nanoseconds while nobody takes it: the join then makes the call itself. So
 * fork what could run at the same time, however much that is, and leave it to the scheduler.
 *
 * Who makes the call is not to be relied on: the caller's own task, at the join, or a task of its
 * own on any worker, at any time between start and join. Either way it is cancelled with the caller
 * and has the deadline (thrum_deadline) and the shield that the caller had at the start. In the
 * first case the function runs as part of the caller: it is the same owner of locks and has the
 * same fiber-local values. So it must not lock what its caller holds over the join, nor count on a
 * name or values of its own.
 *
 * Both may block, wait for each other, and fork; whoever suspends leaves its forks to others first.
 */
#ifndef THRUM_FORK_H
#define THRUM_FORK_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/* Needs no initialization. It lies still from start to join. */
typedef struct thrum_fork {
    uint64_t reserved[12];
} thrum_fork;
THRUM_STATIC_ASSERT(sizeof(thrum_fork) == 96, "part of the ABI");

/*
 * fn(arg) may be called from now on, by anyone; what was written before is visible to it. Each
 * start is followed by one join, by the same task, the youngest fork first; the record and what
 * `arg` points to live until then. A task that ends with a fork not joined, and joins in another
 * order, are misuse. Never suspends, never fails. From a thread that runs no task the call is made
 * here and now.
 */
THRUM_API void thrum_fork_start(thrum_fork *fork, thrum_fn fn, void *arg);

/*
 * What fn(arg) returned; what it wrote is visible. Makes the call itself, or waits for whoever
 * makes it: may suspend. The call uses the caller's frame, so a cancel does not end this wait: it
 * ends those of the call, wherever that is made.
 */
THRUM_API int thrum_fork_join(thrum_fork *fork);

THRUM_END_DECLS

#endif
