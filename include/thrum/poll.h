/*
 * thrum/poll.h: a scheduler without workers in a loop that is not its own: that of a window system,
 * of libuv, a program's own around epoll.
 *
 * The thread of the loop is bound to the scheduler (thrum_sched_bind). The loop waits for one
 * descriptor besides its own, until one deadline besides its own, and makes one call in each turn:
 *
 *     for (;;) {
 *         thrum_poll_run(&next);                    runs what can run, and says what to wait for
 *         wait for thrum_poll_fd() and the loop's own descriptors, until `next`;
 *         ...                                       the loop's own work, which may start tasks
 *     }
 *
 * Nothing that is posted, by whichever thread, and no descriptor that a task waits for, is missed
 * meanwhile: the descriptor is readable then.
 */
#ifndef THRUM_POLL_H
#define THRUM_POLL_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/*
 * Returns the descriptor that becomes readable when thrum_poll_run has something to do. It is the
 * library's, the same as long as the thread is bound, and only to be waited for: nobody reads,
 * changes or closes it. Only a thread that is bound to a scheduler without workers may call it,
 * from outside of tasks. It never suspends. Errors: -ESRCH on a thread that is not bound, -EDEADLK
 * from a task, -EINVAL when the scheduler has workers, -EMFILE, -ENFILE, -ENOMEM.
 */
THRUM_API THRUM_NODISCARD int thrum_poll_fd(void);

/*
 * Runs what can run on this thread, until nothing is left that can: also what that starts. `*next`
 * (may be NULL) is the time at which to call it again at the latest, or THRUM_FOREVER. It is called
 * in each turn of the loop, right before that waits; what is posted after it, and before the wait,
 * by this thread, is run in the next turn. It does not sleep; what it runs may wait as ever.
 * Callers and errors are those of thrum_poll_fd. It never suspends its caller.
 */
THRUM_API THRUM_NODISCARD int thrum_poll_run(thrum_time *next);

THRUM_END_DECLS

#endif
