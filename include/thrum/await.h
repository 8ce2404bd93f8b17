/*
 * thrum/await.h: waits that end in a run of an intrusive task. No stack waits meanwhile, and
 * nothing is allocated: an event loop or a coroutine can wait as tasks do.
 *
 *     int code = thrum_sem_on_until(sem, &await, &task, THRUM_FOREVER);
 *     if (code == 0) {
 *         return;                         the task runs when the wait is over, and its body calls
 *     }                                       int code = thrum_await_end(&await);
 *     if (code == 1) {
 *         ...                             a unit has been taken at once; the task was not posted
 *     }
 *
 * Each call begins one wait for `task`. The task must be neither posted nor running, nor serial,
 * and have no signal that was not received. Its own body begins a wait with another task, or with
 * this one once it was made anew (thrum_task_init).
 *
 * The call tries first. If it need not wait, it returns 1 (for a once and a barrier also 2), also
 * past the deadline, and the task is still the caller's. Otherwise it posts the task to the
 * caller's scheduler, as by thrum_task_post_until, and the wait is in line with those of other
 * tasks and threads, first come, first served. The task and the await may be used by the body, and
 * be gone, before the call returns 0.
 *
 * The task runs when the wait has succeeded, when its deadline comes, or when the task is
 * cancelled, by thrum_task_cancel or a stop. A stop cancels these tasks if only such tasks are left
 * to wait without a deadline. The body begins with thrum_await_end, exactly once. Until then the
 * await, the task and the object that is waited for must not move, and the task's signal is the
 * wait's own. A thrum_task_wakeup from elsewhere ends the wait early.
 *
 * For descriptors there is thrum_io_on_until, for time thrum_task_post_until.
 */
#ifndef THRUM_AWAIT_H
#define THRUM_AWAIT_H

#include "thrum/barrier.h"
#include "thrum/base.h"
#include "thrum/bcast.h"
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
 * Waits until the event is signaled. An auto event is cleared by that.
 *
 * Parameters:
 *   event     the event
 *   await     the memory of the wait; it needs no initializer
 *   task      the task that runs when the wait is over
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 1 when the event was signaled, and the task is not posted. 0 when the task is posted,
 *   and will call thrum_await_end. Else a negative error code; nothing is begun then.
 * Errors:
 *   -ETIMEDOUT  the deadline has passed, and the caller would have to wait
 *   -EBUSY      the task is posted already, or its own body is calling
 *   -EINVAL     await or task is NULL, the task is serial or has no body, or the worker that it is
 *               tied to has never taken part
 *   -ESRCH      the caller is a plain thread
 *   -ESHUTDOWN  in the child of a fork: the caller was a task or a bound thread in the parent
 * Context: a task or a bound thread; never suspends.
 * Ordering: the writes before the thrum_event_signal that lets this wait through are visible after
 *   a call that returned 1, and to the body.
 * Example:
 *    int code = thrum_event_on_until(&ready, &me->await, &me->task, THRUM_FOREVER);
 *    if (code == 1) {
 *        go_on(me); // it was signaled already
 *    }
 * See also: thrum_await_end, thrum_event_wait_until
 */
THRUM_API THRUM_NODISCARD int thrum_event_on_until(thrum_event *event, thrum_await *await,
                                                   thrum_task *task, thrum_time deadline);

/*
 * Takes a unit of the semaphore, or n units at the same moment. While a wait for n units is the
 * first in line, no later one is served before it.
 *
 * Parameters:
 *   sem       the semaphore
 *   n         how many units
 *   await     the memory of the wait; it needs no initializer
 *   task      the task that runs when the wait is over
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 1 when the units were taken, and the task is not posted. 0 when the task is posted, and
 *   will call thrum_await_end. Else a negative error code; nothing is begun then.
 * Errors:
 *   -ETIMEDOUT  the deadline has passed, and the caller would have to wait
 *   -EBUSY      the task is posted already, or its own body is calling
 *   -EINVAL     await or task is NULL, the task is serial or has no body, or the worker that it is
 *               tied to has never taken part, or n is above THRUM_SEM_MAX
 *   -EPIPE      the semaphore is closed
 *   -ESRCH      the caller is a plain thread
 *   -ESHUTDOWN  in the child of a fork: the caller was a task or a bound thread in the parent
 * Context: a task or a bound thread; never suspends.
 * Ordering: the writes before the thrum_sem_post that lets this wait through are visible after a
 *   call that returned 1, and to the body.
 * Example:
 *    int code = thrum_sem_on_until(&slots, &me->await, &me->task, thrum_after_s(1));
 *    if (code == 1) {
 *        go_on(me); // it has a unit
 *    }
 * See also: thrum_await_end, thrum_sem_wait_until
 */
THRUM_API THRUM_NODISCARD int thrum_sem_on_until(thrum_sem *sem, thrum_await *await,
                                                 thrum_task *task, thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_sem_on_n_until(thrum_sem *sem, unsigned n, thrum_await *await,
                                                   thrum_task *task, thrum_time deadline);

/*
 * Waits until the count of the waitgroup is 0.
 *
 * Parameters:
 *   wg        the waitgroup
 *   await     the memory of the wait; it needs no initializer
 *   task      the task that runs when the wait is over
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 1 when the count was 0, and the task is not posted. 0 when the task is posted, and will
 *   call thrum_await_end. Else a negative error code; nothing is begun then.
 * Errors:
 *   -ETIMEDOUT  the deadline has passed, and the caller would have to wait
 *   -EBUSY      the task is posted already, or its own body is calling
 *   -EINVAL     await or task is NULL, the task is serial or has no body, or the worker that it is
 *               tied to has never taken part
 *   -ESRCH      the caller is a plain thread
 *   -ESHUTDOWN  in the child of a fork: the caller was a task or a bound thread in the parent
 * Context: a task or a bound thread; never suspends.
 * Ordering: the writes before each thrum_waitgroup_done are visible after a call that returned 1,
 *   and to the body.
 * Example:
 *    int code = thrum_waitgroup_on_until(&parts, &me->await, &me->task, THRUM_FOREVER);
 *    if (code == 1) {
 *        go_on(me); // all parts are done
 *    }
 * See also: thrum_await_end, thrum_waitgroup_wait_until
 */
THRUM_API THRUM_NODISCARD int thrum_waitgroup_on_until(thrum_waitgroup *wg, thrum_await *await,
                                                       thrum_task *task, thrum_time deadline);

/*
 * Waits for the ticket's turn. The ticket keeps its place if the wait ends early.
 *
 * Parameters:
 *   ticket    the ticket
 *   await     the memory of the wait; it needs no initializer
 *   task      the task that runs when the wait is over
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 1 when the turn has come, and the task is not posted. 0 when the task is posted, and
 *   will call thrum_await_end. Else a negative error code; nothing is begun then.
 * Errors:
 *   -ETIMEDOUT  the deadline has passed, and the caller would have to wait
 *   -EBUSY      the task is posted already, or its own body is calling
 *   -EINVAL     await or task is NULL, the task is serial or has no body, or the worker that it is
 *               tied to has never taken part, or the ticket is not taken
 *   -ESRCH      the caller is a plain thread
 *   -ESHUTDOWN  in the child of a fork: the caller was a task or a bound thread in the parent
 * Context: a task or a bound thread; never suspends.
 * Ordering: the writes before the thrum_ticket_done of all earlier tickets are visible after a call
 *   that returned 1, and to the body.
 * Example:
 *    int code = thrum_ticket_on_until(&me->ticket, &me->await, &me->task, THRUM_FOREVER);
 *    if (code == 1) {
 *        output(me); // its turn has come
 *    }
 * See also: thrum_await_end, thrum_ticket_wait_until, thrum_ticket_on_call
 */
THRUM_API THRUM_NODISCARD int thrum_ticket_on_until(thrum_ticket *ticket, thrum_await *await,
                                                    thrum_task *task, thrum_time deadline);

/*
 * Waits until the once is done, or the turn to do it comes. The code that has the turn does the
 * work, in any runs and on any threads, and calls thrum_once_finish once.
 *
 * thrum_await_end returns 0 when the once is done, and 2 with the turn. It returns these also in a
 * task that was cancelled, or is late, if it was handed the turn before. A cancel ends this wait,
 * unlike a wait of thrum_once_run. While some code has the turn, others wait and none gets
 * -EDEADLK: a wait for the once in that code never ends.
 *
 * Parameters:
 *   once      the once
 *   await     the memory of the wait; it needs no initializer
 *   task      the task that runs when the wait is over
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 1 when the once is done, and 2 when the caller has the turn; the task is then not
 *   posted. 0 when the task is posted, and will call thrum_await_end. Else a negative error code;
 *   nothing is begun then.
 * Errors:
 *   -ETIMEDOUT  the deadline has passed, and the caller would have to wait
 *   -EBUSY      the task is posted already, or its own body is calling
 *   -EINVAL     await or task is NULL, the task is serial or has no body, or the worker that it is
 *               tied to has never taken part
 *   -ESRCH      the caller is a plain thread
 *   -ESHUTDOWN  in the child of a fork: the caller was a task or a bound thread in the parent
 * Context: a task or a bound thread; never suspends.
 * Ordering: the writes of the code that did it are visible after a call that returned 1, and to the
 *   body if thrum_await_end returns 0.
 * Example:
 *    int code = thrum_once_on_until(&tables, &me->await, &me->task, THRUM_FOREVER);
 *    if (code == 2) {
 *        thrum_once_finish(&tables, load_tables()); // its turn: here, or in any later run
 *    }
 * See also: thrum_once_finish, thrum_await_end, thrum_once_run
 */
THRUM_API THRUM_NODISCARD int thrum_once_on_until(thrum_once *once, thrum_await *await,
                                                  thrum_task *task, thrum_time deadline);

/*
 * Ends the turn that thrum_once_on_until or thrum_await_end returned. With a result of 0 or more
 * the once is done, and a waiter may free it at once. With a negative one it is not done, and the
 * first waiter, or else the next caller, has the turn.
 *
 * Parameters:
 *   once    the once
 *   result  0 or more if the work is done, a negative value if it has failed
 * Context: the code that has the turn, on any thread; never suspends.
 * Ordering: the writes before this call are visible to every caller that finds the once done.
 * Misuse: no code has the turn.
 * See also: thrum_once_on_until
 */
THRUM_API void thrum_once_finish(thrum_once *once, int result);

/*
 * Borrows n objects of the pool, all at the same moment. If the pool has no capacity, it makes the
 * missing objects at once, and this call never returns 0.
 *
 * thrum_await_end calls the constructors if the pool does not preserve its objects. If one fails,
 * it returns the constructor's code, and all objects are the pool's again. With 0 from
 * thrum_await_end, or 1 from this call, the objects are the program's. A constructor may fail with
 * any code, also one that the wait itself may end with. To distinguish them, set items[0] to NULL
 * before this call: after a constructor's code, here or there, it is not NULL, and after any other
 * code it still is.
 *
 * Parameters:
 *   pool      the pool
 *   items     gets the objects; it stays in place until thrum_await_end
 *   n         how many objects
 *   await     the memory of the wait; it needs no initializer
 *   task      the task that runs when the wait is over
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 1 when the objects were borrowed, and the task is not posted. 0 when the task is posted,
 *   and will call thrum_await_end. Else the code that a constructor failed with, or a negative
 *   error code; nothing is begun then.
 * Errors:
 *   -ETIMEDOUT  the deadline has passed, and the caller would have to wait
 *   -EBUSY      the task is posted already, or its own body is calling
 *   -EINVAL     await or task is NULL, the task is serial or has no body, or the worker that it is
 *               tied to has never taken part, or n is above the capacity
 *   -ESRCH      the caller is a plain thread
 *   -ESHUTDOWN  in the child of a fork: the caller was a task or a bound thread in the parent
 *   -ENOMEM     the pool has no capacity, and there is no memory for an object
 * Context: a task or a bound thread; may suspend; not cancellable. It suspends only if the
 *   constructors do, or the destructors of objects that were made before one failed.
 * Ordering: the writes before the thrum_pool_give_back that lets this wait through are visible
 *   after a call that returned 1, and to the body.
 * Example:
 *    int code = thrum_pool_borrow_on_until(pool, me->items, 2, &me->await, &me->task, until);
 *    if (code == 1) {
 *        go_on(me); // both were there
 *    }
 * See also: thrum_await_end, thrum_pool_borrow_n_until
 */
THRUM_API THRUM_NODISCARD int thrum_pool_borrow_on_until(thrum_pool *pool, void *items[], size_t n,
                                                         thrum_await *await, thrum_task *task,
                                                         thrum_time deadline);

/*
 * Sends the element to the channel, or receives one from it.
 *
 * Parameters:
 *   chan      the channel
 *   elem      the element that is sent, or the place of the one that is received; it stays in place
 *             until thrum_await_end
 *   await     the memory of the wait; it needs no initializer
 *   task      the task that runs when the wait is over
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 1 when the element was sent or received, and the task is not posted. 0 when the task is
 *   posted, and will call thrum_await_end. Else a negative error code; nothing is begun then.
 * Errors:
 *   -ETIMEDOUT  the deadline has passed, and the caller would have to wait
 *   -EBUSY      the task is posted already, or its own body is calling
 *   -EINVAL     await or task is NULL, the task is serial or has no body, or the worker that it is
 *               tied to has never taken part
 *   -ESRCH      the caller is a plain thread
 *   -ESHUTDOWN  in the child of a fork: the caller was a task or a bound thread in the parent
 *   -EPIPE      the channel is closed; for a receive, also empty
 *   -ENOMEM     a send: there is no memory for the element
 * Context: a task or a bound thread; never suspends.
 * Ordering: the writes before a send are visible after the receive of its element, and to the body
 *   of that.
 * Example:
 *    int code = thrum_chan_recv_on_until(lines, &me->line, &me->await, &me->task, THRUM_FOREVER);
 *    if (code == 1) {
 *        use(&me->line); // there was one
 *    }
 * See also: thrum_await_end, thrum_chan_send_until, thrum_chan_recv_until
 */
THRUM_API THRUM_NODISCARD int thrum_chan_send_on_until(thrum_chan *chan, const void *elem,
                                                       thrum_await *await, thrum_task *task,
                                                       thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_chan_recv_on_until(thrum_chan *chan, void *elem,
                                                       thrum_await *await, thrum_task *task,
                                                       thrum_time deadline);

/*
 * Receives the next element of a broadcast channel, or its newest one.
 *
 * Parameters:
 *   receiver  the receiver, which no other call uses until thrum_await_end
 *   elem      the place of the element; it stays in place until thrum_await_end
 *   await     the memory of the wait; it needs no initializer
 *   task      the task that runs when the wait is over
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 1 when the element was received, and the task is not posted. 0 when the task is posted,
 *   and will call thrum_await_end. Else a negative error code; nothing is begun then.
 * Errors:
 *   -ETIMEDOUT  the deadline has passed, and the caller would have to wait
 *   -EBUSY      the task is posted already, or its own body is calling
 *   -EINVAL     await or task is NULL, the task is serial or has no body, or the worker that it is
 *               tied to has never taken part
 *   -ESRCH      the caller is a plain thread
 *   -ESHUTDOWN  in the child of a fork: the caller was a task or a bound thread in the parent
 *   -EPIPE      the channel is closed, and the receiver has received all elements
 *   -EOVERFLOW  thrum_bcast_recv_on_until: the receiver has missed elements, which it skips
 * Context: a task or a bound thread; never suspends.
 * Ordering: the writes before the send are visible after the call that received, or to the body.
 * Example:
 *    int code = thrum_bcast_recv_on_until(&me->news, &me->item, &me->await, &me->task, until);
 * See also: thrum_await_end, thrum_bcast_recv_until, thrum_bcast_recv_latest_until
 */
THRUM_API THRUM_NODISCARD int thrum_bcast_recv_on_until(thrum_bcast_receiver *receiver, void *elem,
                                                        thrum_await *await, thrum_task *task,
                                                        thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_bcast_recv_latest_on_until(thrum_bcast_receiver *receiver,
                                                               void *elem, thrum_await *await,
                                                               thrum_task *task,
                                                               thrum_time deadline);

/*
 * Waits until the task of the handle has ended. Then thrum_join returns at once; the caller still
 * has to call it. No other code joins or detaches the handle meanwhile.
 *
 * Parameters:
 *   handle    the task that is waited for
 *   await     the memory of the wait; it needs no initializer
 *   task      the task that runs when the wait is over
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 1 when that task has ended, and the task is not posted. 0 when the task is posted, and
 *   will call thrum_await_end. Else a negative error code; nothing is begun then.
 * Errors:
 *   -ETIMEDOUT  the deadline has passed, and the caller would have to wait
 *   -EBUSY      the task is posted already, or its own body is calling
 *   -EINVAL     await or task is NULL, the task is serial or has no body, or the worker that it is
 *               tied to has never taken part, or handle is NULL
 *   -ESRCH      the caller is a plain thread
 *   -ESHUTDOWN  in the child of a fork: the caller was a task or a bound thread in the parent, or
 *               the task is the parent's and had not ended
 *   -EDEADLK    the handle is the caller's own
 * Context: a task or a bound thread; never suspends.
 * Ordering: the writes of that task are visible after a call that returned 1, and to the body.
 * Misuse: the handle was joined or detached before.
 * Example:
 *    int code = thrum_join_on_until(me->child, &me->await, &me->task, THRUM_FOREVER);
 *    if (code == 1) {
 *        code = thrum_join(me->child, &me->result); // at once
 *    }
 * See also: thrum_await_end, thrum_join_until
 */
THRUM_API THRUM_NODISCARD int thrum_join_on_until(thrum_handle *handle, thrum_await *await,
                                                  thrum_task *task, thrum_time deadline);

/*
 * Locks the mutex. If the call returns 1, the caller owns it. If the call returns 0, the run whose
 * thrum_await_end returns 0 owns it. The same run unlocks it, because the next run is another
 * owner.
 *
 * A caller that holds the mutex may begin the wait, which ends after its unlock. Once the task is
 * first in line, no running caller takes the mutex before it. A cancel ends this wait, unlike a
 * wait of thrum_mutex_lock.
 *
 * Parameters:
 *   mutex     the mutex
 *   await     the memory of the wait; it needs no initializer
 *   task      the task that runs when the wait is over
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 1 when the caller has locked the mutex, and the task is not posted. 0 when the task is
 *   posted, and will call thrum_await_end. Else a negative error code; nothing is begun then.
 * Errors:
 *   -ETIMEDOUT  the deadline has passed, and the caller would have to wait
 *   -EBUSY      the task is posted already, or its own body is calling
 *   -EINVAL     await or task is NULL, the task is serial or has no body, or the worker that it is
 *               tied to has never taken part
 *   -ESRCH      the caller is a plain thread
 *   -ESHUTDOWN  in the child of a fork: the caller was a task or a bound thread in the parent
 * Context: a task or a bound thread; never suspends.
 * Ordering: the writes before the last thrum_mutex_unlock are visible after a call that returned 1,
 *   and to the body.
 * Example:
 *    int code = thrum_mutex_on_until(&lock, &me->await, &me->task, THRUM_FOREVER);
 *    if (code == 1) {
 *        change(me);
 *        thrum_mutex_unlock(&lock);
 *    }
 * See also: thrum_await_end, thrum_mutex_lock_until
 */
THRUM_API THRUM_NODISCARD int thrum_mutex_on_until(thrum_mutex *mutex, thrum_await *await,
                                                   thrum_task *task, thrum_time deadline);

/*
 * Locks for reading, or for writing. A lock for writing belongs to one run, like a mutex
 * (thrum_mutex_on_until): the run that has locked it unlocks it.
 *
 * Parameters:
 *   lock      the rwlock
 *   await     the memory of the wait; it needs no initializer
 *   task      the task that runs when the wait is over
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 1 when the caller has the lock, and the task is not posted. 0 when the task is posted,
 *   and will call thrum_await_end. Else a negative error code; nothing is begun then.
 * Errors:
 *   -ETIMEDOUT  the deadline has passed, and the caller would have to wait
 *   -EBUSY      the task is posted already, or its own body is calling
 *   -EINVAL     await or task is NULL, the task is serial or has no body, or the worker that it is
 *               tied to has never taken part
 *   -ESRCH      the caller is a plain thread
 *   -ESHUTDOWN  in the child of a fork: the caller was a task or a bound thread in the parent
 * Context: a task or a bound thread; never suspends.
 * Ordering: the writes before the last unlock by a writer, and for a writer also by the readers,
 *   are visible after a call that returned 1, and to the body.
 * Example:
 *    int code = thrum_rwlock_rdlock_on_until(&table, &me->await, &me->task, THRUM_FOREVER);
 *    if (code == 1) {
 *        look_up(me);
 *        thrum_rwlock_unlock(&table);
 *    }
 * See also: thrum_await_end, thrum_rwlock_rdlock_until, thrum_rwlock_wrlock_until
 */
THRUM_API THRUM_NODISCARD int thrum_rwlock_rdlock_on_until(thrum_rwlock *lock, thrum_await *await,
                                                           thrum_task *task, thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_rwlock_wrlock_on_until(thrum_rwlock *lock, thrum_await *await,
                                                           thrum_task *task, thrum_time deadline);

/*
 * Waits for a signal to the cond. The caller holds the mutex, which is unlocked when the call
 * returns 0. After thrum_await_end the body locks it again (thrum_mutex_on_until), with any code,
 * before it reads the condition or frees anything. After any other result the mutex is held as
 * before.
 *
 * Parameters:
 *   cond      the cond
 *   mutex     the mutex of the condition, which the caller holds
 *   await     the memory of the wait; it needs no initializer
 *   task      the task that runs when the wait is over
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 1 when a signal has come, and the task is not posted. 0 when the task is posted, and
 *   will call thrum_await_end. Else a negative error code; nothing is begun then.
 * Errors:
 *   -ETIMEDOUT  the deadline has passed, and the caller would have to wait
 *   -EBUSY      the task is posted already, or its own body is calling
 *   -EINVAL     await or task is NULL, the task is serial or has no body, or the worker that it is
 *               tied to has never taken part
 *   -ESRCH      the caller is a plain thread
 *   -ESHUTDOWN  in the child of a fork: the caller was a task or a bound thread in the parent
 * Context: a task or a bound thread; never suspends.
 * Ordering: as for the mutex: writes under it are visible after it is locked again.
 * Misuse: the caller does not hold the mutex.
 * Example:
 *    while (!me->ready && code == 1) { // with the mutex
 *        code = thrum_cond_on_until(&changed, &lock, &me->await, &me->task, THRUM_FOREVER);
 *    }
 * See also: thrum_await_end, thrum_mutex_on_until, thrum_cond_wait_until
 */
THRUM_API THRUM_NODISCARD int thrum_cond_on_until(thrum_cond *cond, thrum_mutex *mutex,
                                                  thrum_await *await, thrum_task *task,
                                                  thrum_time deadline);

/*
 * Arrives at the barrier, and waits for the others. If the wait ends early, the caller has not
 * arrived, unless the last one arrived first: then thrum_await_end returns 0.
 *
 * Parameters:
 *   barrier   the barrier
 *   await     the memory of the wait; it needs no initializer
 *   task      the task that runs when the wait is over
 *   deadline  when to give up, an instant from thrum_after or THRUM_FOREVER
 * Returns: 1 when the caller was the last to arrive; 2 when another was the last while the task
 *   could not be posted; the task is then not posted. 0 when the task is posted, and will call
 *   thrum_await_end. Else a negative error code; nothing is begun then.
 * Errors:
 *   -ETIMEDOUT  the deadline has passed, and the caller would have to wait
 *   -EBUSY      the task is posted already, or its own body is calling
 *   -EINVAL     await or task is NULL, the task is serial or has no body, or the worker that it is
 *               tied to has never taken part
 *   -ESRCH      the caller is a plain thread
 *   -ESHUTDOWN  in the child of a fork: the caller was a task or a bound thread in the parent
 * Context: a task or a bound thread; never suspends.
 * Ordering: the writes of all participants before they arrived are visible after a call that
 *   returned 1 or 2, and to the body.
 * Example:
 *    int code = thrum_barrier_on_until(&phase, &me->await, &me->task, THRUM_FOREVER);
 *    if (code > 0) {
 *        go_on(me); // all have arrived; with 1 the caller was the last
 *    }
 * See also: thrum_await_end, thrum_barrier_wait_until
 */
THRUM_API THRUM_NODISCARD int thrum_barrier_on_until(thrum_barrier *barrier, thrum_await *await,
                                                     thrum_task *task, thrum_time deadline);

/*
 * Ends the wait, in the body of its task. The body calls it exactly once, before anything else that
 * concerns the wait.
 *
 * Parameters:
 *   await  the wait
 * Returns: 0 when the wait has succeeded, also if a cancel or the deadline came after that. 2 for a
 *   once whose turn the task has. Else the code that a pool's constructor failed with, or a
 *   negative error code, with nothing taken. thrum_pool_borrow_on_until describes how to
 *   distinguish these two.
 * Errors:
 *   -ECANCELED  the task was cancelled
 *   -ETIMEDOUT  the deadline came
 *   -EAGAIN     something else has woken the task
 *   -EPIPE      the channel or the semaphore was closed
 * Context: the task's body; may suspend; not cancellable. It suspends only if a pool's constructor
 *   does.
 * Ordering: as the call that began the wait promises for the body.
 * Example:
 *    static void body(thrum_task *self, void *arg) {
 *        struct client *me = arg;
 *        int code = thrum_await_end(&me->await);
 *        go_on(me, code);
 *    }
 */
THRUM_API THRUM_NODISCARD int thrum_await_end(thrum_await *await);

THRUM_END_DECLS

#endif
