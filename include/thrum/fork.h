/*
 * thrum/fork.h: a call that others may make while its caller does something else: fork and join in
 * the caller's frame, without allocation.
 *
 *     thrum_fork left;
 *     thrum_fork_start(&left, sort_left, &range);
 *     sort_right(&range);
 *     int result = thrum_fork_join(&left);
 *
 * A fork costs a few nanoseconds while no thief takes it: the join then makes the call itself. So
 * fork what could run at the same time, however much that is, and leave it to the scheduler.
 *
 * Do not rely on where the call is made: by the caller's own task, at the join, or by a task of the
 * call's own on any worker, at any time between start and join. Either way it is cancelled with the
 * caller. A task of its own has the deadline (thrum_deadline) and the shield that the caller had at
 * the start, the caller those that it has at the join; there the function runs as part of the
 * caller: it is the same owner of locks and has the same values under keys. So it must not lock
 * what its caller holds over the join, nor count on a name or values of its own.
 *
 * The caller and the function may block, wait for each other, and fork; a task that suspends leaves
 * its forks to others first.
 */
#ifndef THRUM_FORK_H
#define THRUM_FORK_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/* A forked call. It needs no initialization, and must not move from start to join. */
typedef struct thrum_fork {
    uint64_t reserved[12];
} thrum_fork;
THRUM_STATIC_ASSERT(sizeof(thrum_fork) == 96, "part of the ABI");

/*
 * Allows `fn(arg)` to be called from now on, on any worker; what was written before is visible to
 * it. Each start is followed by one join, or by a thrum_fork_take_back that says true, by the same
 * task, the youngest fork first; the record and what `arg` points to are the caller's, and live
 * until then. To end with a fork that is not joined, or to join in another order, is misuse (and
 * seen only while no other task has the forks). Any thread may call it; for a plain thread the call
 * is made here and now. For others it never suspends. It cannot fail.
 */
THRUM_API void thrum_fork_start(thrum_fork *fork, thrum_fn fn, void *arg);

/*
 * Returns what `fn(arg)` returned; what it wrote is visible. It makes the call itself, or waits for
 * the task that makes it. The task or thread that started the fork may call it. It may suspend. The
 * call uses the caller's frame, so a cancel does not end this wait: it ends those of the call,
 * wherever that is made. It cannot fail.
 */
THRUM_API int thrum_fork_join(thrum_fork *fork);

/*
 * Takes the call back, in place of a join. True: nobody has begun it, and nobody will; the caller
 * makes it itself, or leaves it. False: it was left to another task, which will make it, makes it
 * or has made it (as mostly once the caller has suspended), or it was made at the start, as for a
 * plain thread; thrum_fork_join must follow. The order is that of joins. The task or thread that
 * started the fork may call it. It never suspends.
 */
THRUM_API bool thrum_fork_take_back(thrum_fork *fork);

THRUM_END_DECLS

#endif
