/*
 * thrum/poll.h: poll sources and embedded loops. A poll source is for operations that give no
 * completion notice. An embedded loop is a scheduler that runs inside another event loop.
 *
 * POLL SOURCES. Some operations give no completion notice and must be polled, such as those of a
 * message library or a graphics card. A poll source is a function that polls one of them. With MPI:
 *
 *     thrum_source_begin(source);               one more operation is under way
 *     MPI_Irecv(..., &request);
 *     thrum_sem_wait(&done);
 *
 * and the function, which the scheduler calls at intervals:
 *
 *     MPI_Test(&request, &flag, ...);
 *     if (flag) {
 *         thrum_sem_post(&done);
 *         thrum_source_end(source);
 *     }
 *
 * The scheduler calls it in a task, and only while operations are under way. For 50 µs after the
 * last begin or end, that task is queued again at once. After that, and always in a scheduler
 * without workers, it waits between two polls: 50 µs at first, then twice as long each time, up to
 * 1 ms. A worker that has nothing else to do sleeps meanwhile. So the completion of a long
 * operation is seen up to 1 ms late, plus the time that the system takes to wake a thread. Each
 * poll costs one run of a task, a thousand a second, as long as an operation is under way.
 *
 * EMBEDDED LOOPS. A scheduler without workers can run inside another event loop: that of a window
 * system, of libuv, or a loop of your own around epoll. The thread of the loop is bound to the
 * scheduler (thrum_sched_bind). The loop waits for one more descriptor and until one more deadline,
 * and makes one call in each turn:
 *
 *     for (;;) {
 *         thrum_poll_run(&next);                    runs all that can run
 *         wait for thrum_poll_fd() and the loop's own descriptors, until `next` (thrum_poll_ms);
 *         ...                                       the loop's own work, which may start tasks
 *     }
 *
 * From the first thrum_poll_run on, the descriptor becomes readable when any thread posts or wakes
 * a task, and when a descriptor is ready that a task waits for. So nothing is missed while the loop
 * waits. A loop may also call thrum_poll_run only when it is needed: when the descriptor is
 * readable, when `next` has come, and when the thread itself has waited since the last call, in
 * thrum_join for example.
 *
 * While poll sources have operations under way, `next` is at most 1 ms away. If the `ask` of a
 * source waits, `next` is the time at which that wait may end (libthrum-mpi: at most 64 ms away).
 * On Windows, and on platforms that have only POSIX, a set of descriptors is not a descriptor
 * itself. There `next` is at most 1 ms away once a task has waited for a descriptor. A ready
 * descriptor is seen at that time, or when the descriptor of the loop is readable.
 */
#ifndef THRUM_POLL_H
#define THRUM_POLL_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/*
 * Returns the descriptor that an embedded loop waits for. It becomes readable when thrum_poll_run
 * has something to do, and stays readable until that is called.
 *
 * It is the same as long as the thread is bound. It belongs to the library: the program only waits
 * for it, and neither reads nor closes it. Setting O_NONBLOCK on it does no harm. A loop that keeps
 * a list of its descriptors removes it before the thread unbinds or stops the scheduler.
 *
 * Returns: the descriptor, or a negative error code.
 * Errors:
 *   -ESRCH            the thread is not bound to a scheduler
 *   -EDEADLK          the caller is a task
 *   -EINVAL           the scheduler has workers
 *   -EMFILE, -ENFILE  the system has no descriptor left
 *   -ENOMEM           the system has no memory
 *   -ENOSPC           the system's limit of watched descriptors is reached
 *   -ENOSYS           in a sandbox without epoll or eventfd
 *   -ESHUTDOWN        in the child of a fork (thrum/sched.h): the caller was a task or a bound
 *                     thread of the parent
 * Context: any thread that is bound, outside of tasks; never suspends.
 * Ordering: none.
 * Example: examples/in_epoll.c
 * See also: thrum_poll_run, thrum_poll_ms
 */
THRUM_API THRUM_NODISCARD int thrum_poll_fd(void);

/*
 * Runs everything that can run on this thread. It returns when nothing is left that can, including
 * everything that was started meanwhile. So tasks that always have something to do keep the loop
 * from waiting.
 *
 * Call it in each turn of the loop, right before the loop waits. If this thread posts or wakes
 * something between the call and the wait, the descriptor becomes readable, as it does for other
 * threads. The same holds if that makes `*next` earlier. The call itself does not sleep; the tasks
 * that it runs may wait.
 *
 * Parameters:
 *   next  gets the latest time for the next call, on the clock of thrum_now, or THRUM_FOREVER; may
 *         be NULL
 * Returns: 0, or a negative error code with `*next` unchanged.
 * Errors:
 *   -ESRCH            the thread is not bound to a scheduler
 *   -EDEADLK          the caller is a task
 *   -EINVAL           the scheduler has workers
 *   -EMFILE, -ENFILE  the system has no descriptor left
 *   -ENOMEM           the system has no memory
 *   -ENOSPC           the system's limit of watched descriptors is reached
 *   -ENOSYS           in a sandbox without epoll or eventfd
 *   -ESHUTDOWN        in the child of a fork (thrum/sched.h): the caller was a task or a bound
 *                     thread of the parent
 * Context: any thread that is bound, outside of tasks; never suspends.
 * Ordering: none beyond that of the tasks that it runs.
 * Example: examples/in_epoll.c
 * See also: thrum_poll_fd, thrum_poll_ms, thrum_sched_bind
 */
THRUM_API THRUM_NODISCARD int thrum_poll_run(thrum_time *next);

/*
 * Returns the time until `next` in ms, as poll and epoll_wait take it. It is rounded up, since a
 * loop that returned too early would only turn once more. A loop that counts from a time of its
 * own, rounded down as libuv's is, adds 1.
 *
 * Parameters:
 *   next  an instant on the clock of thrum_now, from thrum_poll_run
 * Returns: the time in milliseconds; -1 for THRUM_FOREVER, 0 for an instant in the past, INT_MAX
 *   for one that is further away.
 * Errors: none.
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example: examples/in_epoll.c
 * See also: thrum_poll_run
 */
THRUM_API int thrum_poll_ms(thrum_time next);

/*
 * A poll source. It belongs to its scheduler: thrum_source_close ends it, and so does the end of
 * the scheduler.
 */
typedef struct thrum_source thrum_source;

/*
 * Makes a poll source. While operations are under way, the scheduler calls `ask(arg)` in a task, at
 * the intervals that the head of this header describes. `ask` may make any call and may wait; no
 * two calls of it overlap.
 *
 * Parameters:
 *   out    gets the source
 *   sched  the scheduler, which must not be stopping; NULL: that of the caller
 *   ask    the function that polls
 *   arg    its argument, which stays the caller's until thrum_source_close has returned 0
 * Returns: 0, or a negative error code with *out unchanged.
 * Errors:
 *   -EINVAL  out or ask is NULL, or sched is NULL and the caller has no scheduler
 *   -ENOMEM  there is no memory
 * Context: any thread; never suspends.
 * Ordering: none.
 * Example:
 *    thrum_source *source;
 *    int err = thrum_source_open(&source, NULL, poll_the_card, &card);
 * See also: thrum_source_begin, thrum_source_close
 */
THRUM_API THRUM_NODISCARD int thrum_source_open(thrum_source **out, thrum_sched *sched,
                                                void (*ask)(void *arg), void *arg);

/*
 * Counts an operation that is about to begin. The source is polled until its end is counted by
 * thrum_source_end.
 *
 * While operations are under way, the scheduler is not idle (thrum_sched_wait_idle), and a stop
 * waits for their end.
 *
 * Parameters:
 *   source  the source
 * Returns: 0, or a negative error code with nothing counted.
 * Errors:
 *   -EINVAL     source is NULL
 *   -ESHUTDOWN  the caller is external and the scheduler stops, or is that of a fork's parent; not
 *               if the source is being polled anyway
 * Context: any thread; never suspends.
 * Ordering: the writes before the call are visible to `ask`.
 * Example:
 *    int err = thrum_source_begin(source);
 *    if (err == 0) {
 *        start_copy(&card, &done);
 *        err = thrum_sem_wait(&done);
 *    }
 * See also: thrum_source_end
 */
THRUM_API THRUM_NODISCARD int thrum_source_begin(thrum_source *source);

/*
 * Counts the end of an operation, also if it was given up or failed to begin. Mostly `ask` calls
 * it, but any thread may. First wake the waiter of the operation, then count its end.
 *
 * Within a call of `ask` the order of the two does not matter, and the waiter may close the source
 * at once: thrum_source_close waits for that call of `ask`. Elsewhere a close that comes before
 * this call returns -EBUSY. So a caller that closes the source must know that the end was counted.
 *
 * Parameters:
 *   source  the source
 * Context: any thread; never suspends.
 * Ordering: the writes before the call are visible after a thrum_source_close that returns 0.
 * Misuse: no operation is under way.
 * See also: thrum_source_begin, thrum_source_close
 */
THRUM_API void thrum_source_end(thrum_source *source);

/*
 * Ends the source. It waits for a call of `ask` that is in progress. Afterwards `ask` is not
 * called, and its argument may be freed.
 *
 * Parameters:
 *   source  the source, without operations under way
 * Returns: 0, or a negative error code with the source unchanged.
 * Errors:
 *   -EINVAL   source is NULL
 *   -EBUSY    operations are under way
 *   -EDEADLK  the caller is `ask` itself
 * Context: any thread; may suspend; not cancellable.
 * Ordering: on success, the writes of `ask`, and those before each thrum_source_end, are visible.
 * See also: thrum_source_open, thrum_source_end
 */
THRUM_API int thrum_source_close(thrum_source *source);

THRUM_END_DECLS

#endif
