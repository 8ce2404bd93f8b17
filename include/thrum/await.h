/*
 * thrum/await.h: waits that end in a run of an intrusive task. No stack waits meanwhile, and
 * nothing is allocated: what an event loop, or a coroutine, needs to wait as tasks do.
 *
 *     int code = thrum_sem_on_until(sem, &await, &task, THRUM_FOREVER);
 *     if (code == 0) {
 *         return;                         the task runs when the wait is over, and its body calls
 *     }                                       int code = thrum_await_end(&await);
 *     if (code == 1) {
 *         ...                             a unit has been taken at once; the task was not posted
 *     }
 *
 * Each call begins one wait for `task`, which must be neither posted nor running, nor serial, and
 * have no signal that nobody has received: its own body begins one with another task, or with this
 * one once it was made anew (thrum_task_init). It tries first. If there is nothing to wait for it
 * returns 1 (of a once and a barrier also 2), with what it asked for, also where the deadline has
 * passed, and the task is still the caller's. Otherwise the task is posted to the caller's
 * scheduler, as by thrum_task_post_until, and the wait stands in line with those of fibers and
 * threads, first come, first served. The task runs when the wait has got what it is for, when its
 * deadline comes, or when the task is cancelled (thrum_task_cancel, or a stop: when only such tasks
 * are left to wait without a deadline, it cancels them). What the waker wrote before is visible to
 * the body. Task and await may be used by the body, and be gone, before the call returns 0.
 *
 * The body begins with thrum_await_end, exactly once; until then the await, the task and what is
 * waited for must stay where they are. Until then the task's signal is the wait's own. A
 * thrum_task_wakeup from elsewhere ends the wait early.
 *
 * Descriptors have thrum_io_on_until, time has thrum_task_post_until.
 */
#ifndef THRUM_AWAIT_H
#define THRUM_AWAIT_H

#include "thrum/barrier.h"
#include "thrum/base.h"
#include "thrum/chan.h"
#include "thrum/cond.h"
#include "thrum/event.h"
#include "thrum/mutex.h"
#include "thrum/once.h"
#include "thrum/pool.h"
#include "thrum/rwlock.h"
#include "thrum/sem.h"
#include "thrum/spawn.h"
#include "thrum/task.h"
#include "thrum/tickets.h"
#include "thrum/waitgroup.h"

THRUM_BEGIN_DECLS

/* One wait, in the caller's memory. It needs no initializer. */
typedef struct thrum_await {
    uint64_t reserved[15];
} thrum_await;
THRUM_STATIC_ASSERT(sizeof(thrum_await) == 120, "part of the ABI");

/*
 * Waits until the event is signaled; an auto event is cleared by that. The deadline is an instant
 * on thrum_now's clock. A task may call it, or a thread that is bound to a scheduler. It never
 * suspends. It returns 1 when the event was signaled, 0 when the task has been posted (see the
 * top), or, with nothing begun, -ETIMEDOUT when it is not and the deadline has passed, -ESRCH
 * without a scheduler, -EBUSY in the task's own body, and the errors of thrum_task_post_until.
 */
THRUM_API THRUM_NODISCARD int thrum_event_on_until(thrum_event *event, thrum_await *await,
                                                   thrum_task *task, thrum_time deadline);

/*
 * Takes a unit of the semaphore. Callers, deadline and errors are those of thrum_event_on_until, as
 * are 0 and 1. It never suspends.
 */
THRUM_API THRUM_NODISCARD int thrum_sem_on_until(thrum_sem *sem, thrum_await *await,
                                                 thrum_task *task, thrum_time deadline);

/*
 * Takes n units, all at the same moment; of those that come later none is served before. Callers,
 * deadline and errors are those of thrum_event_on_until, as are 0 and 1; and -EINVAL for more than
 * THRUM_SEM_MAX. It never suspends.
 */
THRUM_API THRUM_NODISCARD int thrum_sem_on_n_until(thrum_sem *sem, unsigned n, thrum_await *await,
                                                   thrum_task *task, thrum_time deadline);

/*
 * Waits until the count is 0. Callers, deadline and errors are those of thrum_event_on_until, as
 * are 0 and 1. It never suspends.
 */
THRUM_API THRUM_NODISCARD int thrum_waitgroup_on_until(thrum_waitgroup *wg, thrum_await *await,
                                                       thrum_task *task, thrum_time deadline);

/*
 * Waits for the ticket's turn; the ticket keeps its place when the wait ends early. Callers,
 * deadline and errors are those of thrum_event_on_until, as are 0 and 1; and -EINVAL when the
 * ticket is not taken. It never suspends.
 */
THRUM_API THRUM_NODISCARD int thrum_ticket_on_until(thrum_ticket *ticket, thrum_await *await,
                                                    thrum_task *task, thrum_time deadline);

/*
 * Waits until the once is done, or the turn to do it comes. It returns 1 when it is done, and 2
 * when the turn is the caller's; of a wait thrum_await_end returns 0 or 2, also in a task that was
 * cancelled, or is late, if the turn was handed to it before. Who has the turn does what is to be
 * done, in any runs and on any threads, and calls thrum_once_finish once. Meanwhile others wait,
 * and nobody is told -EDEADLK: a wait for the once in what is to be done lasts for ever. Unlike a
 * fiber's, the wait is ended by a cancel. Else callers, deadline and errors are those of
 * thrum_event_on_until, and so is 0. It never suspends.
 */
THRUM_API THRUM_NODISCARD int thrum_once_on_until(thrum_once *once, thrum_await *await,
                                                  thrum_task *task, thrum_time deadline);
/*
 * Ends the turn: with a result of 0 or more the once is done, and what was written before is
 * visible to whoever sees that; with a negative one it is not, and the first waiter has the turn,
 * or else the next caller. After a result of 0 or more a waiter may free the once at once. Who has
 * the turn may call it, on any thread. It never suspends. It aborts when nobody has it.
 */
THRUM_API void thrum_once_finish(thrum_once *once, int result);

/*
 * Borrows n objects of the pool, all at the same moment. The array stays where it is until
 * thrum_await_end, which calls the constructors of a pool that does not preserve its objects, and
 * returns what one failed with, all objects being the pool's again; with 0, and with 1 here, they
 * are the program's. A constructor may fail with any code, also one that the wait itself ends with:
 * items[0] tells them apart if it was NULL before this call. It is not NULL after a constructor's
 * code, and still NULL after any other, here as there. A pool without a capacity makes what is
 * missing at once, and is never waited for. Callers, deadline and errors are those of
 * thrum_event_on_until, as are 0 and 1; and those of thrum_pool_borrow_n. It suspends only where
 * the constructors do, or the destructors of those that were made before one failed.
 */
THRUM_API THRUM_NODISCARD int thrum_pool_borrow_on_until(thrum_pool *pool, void *items[], size_t n,
                                                         thrum_await *await, thrum_task *task,
                                                         thrum_time deadline);

/*
 * Sends the element, which stays where it is until thrum_await_end. Callers, deadline and results
 * are those of thrum_event_on_until, and -EPIPE for a channel that is closed, -ENOMEM. It never
 * suspends.
 */
THRUM_API THRUM_NODISCARD int thrum_chan_send_on_until(thrum_chan *chan, const void *elem,
                                                       thrum_await *await, thrum_task *task,
                                                       thrum_time deadline);

/*
 * Receives an element, whose place stays where it is until thrum_await_end. Callers, deadline and
 * results are those of thrum_event_on_until, and -EPIPE for a channel that is closed and empty. It
 * never suspends.
 */
THRUM_API THRUM_NODISCARD int thrum_chan_recv_on_until(thrum_chan *chan, void *elem,
                                                       thrum_await *await, thrum_task *task,
                                                       thrum_time deadline);

/*
 * Waits until the task of the handle has ended; then thrum_join returns at once, and the caller
 * still has to call it. Nobody else joins or detaches it meanwhile. Callers, deadline and errors
 * are those of thrum_event_on_until, as are 0 and 1; and -EDEADLK for the caller's own handle,
 * -EINVAL for NULL, -ESHUTDOWN in the child of a fork when the task is the parent's and had not
 * ended. It never suspends.
 */
THRUM_API THRUM_NODISCARD int thrum_join_on_until(thrum_handle *handle, thrum_await *await,
                                                  thrum_task *task, thrum_time deadline);

/*
 * Locks the mutex. With 1 it is the caller's, with 0 the run's that thrum_await_end has returned 0
 * to: the same run unlocks it, since the next one is another owner. A caller that holds it may
 * begin the wait, which ends after its unlock. Once the task stands first in line no running caller
 * takes the mutex before it. Unlike a fiber's, the wait is ended by a cancel. Callers, deadline and
 * errors are those of thrum_event_on_until. It never suspends.
 */
THRUM_API THRUM_NODISCARD int thrum_mutex_on_until(thrum_mutex *mutex, thrum_await *await,
                                                   thrum_task *task, thrum_time deadline);

/*
 * Locks for reading, or for writing. What unlocks is, for writing, the run that has it, as for
 * thrum_mutex_on_until. Callers, deadline and errors are those of thrum_event_on_until, as are 0
 * and 1. They never suspend.
 */
THRUM_API THRUM_NODISCARD int thrum_rwlock_rdlock_on_until(thrum_rwlock *lock, thrum_await *await,
                                                           thrum_task *task, thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_rwlock_wrlock_on_until(thrum_rwlock *lock, thrum_await *await,
                                                           thrum_task *task, thrum_time deadline);

/*
 * Waits for a signal to the cond. The caller holds the mutex, which is unlocked when it returns 0:
 * the body, after thrum_await_end, locks it again (thrum_mutex_on_until), whatever the code, before
 * it looks at the condition or frees anything. With any other result the mutex is held as before; 1
 * says that a signal has come. Callers, deadline and errors are those of thrum_event_on_until. It
 * never suspends. It aborts when the mutex is not the caller's.
 */
THRUM_API THRUM_NODISCARD int thrum_cond_on_until(thrum_cond *cond, thrum_mutex *mutex,
                                                  thrum_await *await, thrum_task *task,
                                                  thrum_time deadline);

/*
 * Comes to the barrier. It returns 1 to the last to come, and 2 where another was the last while
 * the task could not be posted; else callers, deadline and results are those of
 * thrum_event_on_until. One whose wait ends early has not come, unless the last one was faster:
 * then thrum_await_end returns 0. It never suspends.
 */
THRUM_API THRUM_NODISCARD int thrum_barrier_on_until(thrum_barrier *barrier, thrum_await *await,
                                                     thrum_task *task, thrum_time deadline);

/*
 * Ends the wait; only the task's body may call it, before anything else that concerns the wait. It
 * suspends only where a pool's constructor does. It returns 0 when the wait has got what it is for
 * (of a once 0 or 2), also when the task was cancelled or the deadline came after that. Otherwise
 * it has got nothing: -EPIPE when the channel was closed, -ECANCELED when the task was cancelled,
 * -ETIMEDOUT when the deadline came, -EAGAIN when something else has woken the task, or the code of
 * a pool's constructor, which may be any (thrum_pool_borrow_on_until says how to tell).
 */
THRUM_API THRUM_NODISCARD int thrum_await_end(thrum_await *await);

THRUM_END_DECLS

#endif
