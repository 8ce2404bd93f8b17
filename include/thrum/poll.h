/*
 * thrum/poll.h: other things to wait for than descriptors, and loops of others.
 *
 * POLL SOURCES. Some things tell nobody when they have happened, and have to be asked: a library
 * for messages, a graphics card. A poll source is a function that asks one of them. With MPI:
 *
 *     thrum_source_begin(source);               one more operation is under way
 *     MPI_Irecv(..., &request);
 *     thrum_sem_wait(&done);
 *
 * and the function, which the scheduler calls every so often:
 *
 *     MPI_Test(&request, &flag, ...);
 *     if (flag) {
 *         thrum_sem_post(&done);
 *         thrum_source_end(source);
 *     }
 *
 * It is asked only while operations are under way, by a task, which is posted again each time. For
 * 50 us after the last begin or end that task is queued at once, so it is asked as often as its
 * turn comes. After that, and from the beginning in a scheduler without workers, it waits between
 * two times: 50 us at first, then twice as long each time, up to 1 ms, so that a worker that has
 * nothing else to do sleeps in between. So the end of an operation that is long under way is seen
 * up to 1 ms late, and what the system takes to wake a thread; and a source costs a run of a task
 * each time, a thousand a second, as long as anything is under way.
 *
 * OTHER LOOPS. A scheduler without workers can live in a loop that is not its own: that of a window
 * system, of libuv, a program's own around epoll. The thread of the loop is bound to the scheduler
 * (thrum_sched_bind). The loop waits for one descriptor besides its own, until one deadline besides
 * its own, and makes one call in each turn:
 *
 *     for (;;) {
 *         thrum_poll_run(&next);                    runs what can run, and says what to wait for
 *         wait for thrum_poll_fd() and the loop's own descriptors, until `next` (thrum_poll_ms);
 *         ...                                       the loop's own work, which may start tasks
 *     }
 *
 * From the first thrum_poll_run on, nothing that is posted or woken, by whichever thread, and no
 * descriptor that a task waits for, is missed while the loop waits: the descriptor is readable
 * then. So a loop may also call thrum_poll_run only when the descriptor is readable, when `next`
 * has come, and when the thread itself has waited for something (thrum_join, ...) since the last
 * call. While poll sources have operations under way, `next` is 1 ms away at most; where the `ask`
 * of one waits, it is when that wait may end (libthrum-mpi's: 64 ms at most). Where a set of
 * descriptors is none itself, as on Windows and on nothing but POSIX, `next` is 1 ms away at most
 * from the first time on that a task has waited for a descriptor: that is seen then, or when the
 * descriptor is readable.
 */
#ifndef THRUM_POLL_H
#define THRUM_POLL_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/*
 * Returns the descriptor that becomes readable when thrum_poll_run has something to do, and stays
 * so until that is called. It is the library's, the same as long as the thread is bound, and only
 * to be waited for: nobody reads or closes it; that O_NONBLOCK is set on it does no harm. A loop
 * that keeps a list of its descriptors takes it off before the thread unbinds or stops the
 * scheduler. Only a thread that is bound to a scheduler without workers may call it, from outside
 * of tasks. It never suspends. Errors: -ESRCH on a thread that is not bound, -EDEADLK from a task,
 * -EINVAL when the scheduler has workers, -EMFILE, -ENFILE, -ENOMEM.
 */
THRUM_API THRUM_NODISCARD int thrum_poll_fd(void);

/*
 * Runs what can run on this thread, until nothing is left that can: also what that starts, so tasks
 * that always have something to do keep the loop from its wait. `*next` (may be NULL) becomes the
 * time at which to call it again at the latest, or THRUM_FOREVER. It is called in each turn of the
 * loop, right before that waits; what this thread posts or wakes between the two makes the
 * descriptor readable, as what other threads do, also where it brings `next` forward. It does not
 * sleep; what it runs may wait as ever. Callers and errors, which leave `*next` as it was, are
 * those of thrum_poll_fd. It never suspends its caller.
 */
THRUM_API THRUM_NODISCARD int thrum_poll_run(thrum_time *next);

/*
 * Returns the time from now until `next` as poll() and epoll_wait() take it: in milliseconds,
 * rounded up, since a loop that came back too early would only turn once more; -1 for
 * THRUM_FOREVER, 0 for what has passed, INT_MAX for what is further away. A loop that counts from a
 * time of its own, rounded down as libuv's is, adds one. Any thread may call it. It never suspends
 * and cannot fail.
 */
THRUM_API int thrum_poll_ms(thrum_time next);

/* A poll source. It belongs to its scheduler, and ends with that at the latest. */
typedef struct thrum_source thrum_source;

/*
 * Makes a poll source of a scheduler (NULL: the caller's), which calls ask(arg) as said above, in a
 * task: `ask` may call anything, and may wait; it is never called by two tasks at a time. Any
 * thread may call it while the scheduler is not being stopped. It never suspends. Errors: -EINVAL
 * for NULL, or without a scheduler; -ENOMEM.
 */
THRUM_API THRUM_NODISCARD int thrum_source_open(thrum_source **out, thrum_sched *sched,
                                                void (*ask)(void *arg), void *arg);

/*
 * Counts an operation that is about to begin, and has the source asked until it has ended. What the
 * caller wrote before is visible to `ask`. While operations are under way the scheduler is not idle
 * (thrum_sched_wait_idle), and a stop waits for their end. Any thread may call it. It never
 * suspends. Errors, with nothing counted: -EINVAL for NULL; -ESHUTDOWN for an external caller while
 * the scheduler stops, or in the child of a fork, unless the source is being asked anyway.
 */
THRUM_API THRUM_NODISCARD int thrum_source_begin(thrum_source *source);

/*
 * Counts the end of an operation, after what it lets go on was made ready: mostly by `ask`, but any
 * thread may call it, also when the operation was given up, or failed to begin. Within a call of
 * `ask` the two may come in either order, and what goes on may close the source at once: the close
 * waits for that call of `ask`. Elsewhere a close that comes before this call returns -EBUSY, so
 * what goes on and closes the source has to know that the end was counted. It never suspends and
 * cannot fail; an end without a begin stops the program.
 */
THRUM_API void thrum_source_end(thrum_source *source);

/*
 * Ends the source: afterwards `ask` does not run, and its argument may go. Waits for a call of
 * `ask` that is under way. Any thread may call it. It may suspend. Errors, with the source
 * unchanged: -EINVAL for NULL, -EBUSY while operations are under way, -EDEADLK from `ask` itself.
 */
THRUM_API int thrum_source_close(thrum_source *source);

THRUM_END_DECLS

#endif
