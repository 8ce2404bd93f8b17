/*
 * thrum/sem.h: counting semaphores.
 *
 * A semaphore has a value, the number of units that can be taken. A wait takes units, a post gives
 * units. Waiters are served in the order in which they come. A semaphore has no owner: any caller
 * may post to it.
 */
#ifndef THRUM_SEM_H
#define THRUM_SEM_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

/*
 * A semaphore. It is in the caller's memory, owns nothing, and must not be moved or copied while it
 * is in use.
 */
typedef struct thrum_sem {
    uint64_t reserved_word;
    void *reserved_first;
    void *reserved_last;
} thrum_sem;
THRUM_ABI_SIZE(thrum_sem, 24, 16);

/* The largest value of a semaphore, in units. */
#define THRUM_SEM_MAX INT32_MAX

/*
 * Makes a semaphore. THRUM_SEM_INIT is the same as an initializer, also for static variables.
 *
 * Parameters:
 *   sem    the memory of the semaphore, which no other thread uses during the call
 *   value  the units that can be taken at first, 0 to THRUM_SEM_MAX
 * Context: any thread; never suspends.
 * Ordering: none.
 * Misuse: thrum_sem_init: the value is above THRUM_SEM_MAX. THRUM_SEM_INIT does not check it.
 * Example:
 *    thrum_sem slots;
 *    thrum_sem_init(&slots, 8);
 * See also: thrum_sem_destroy
 */
/* clang-format off */
#define THRUM_SEM_INIT(n) { (uint64_t)(n) << 2, NULL, NULL }
/* clang-format on */
THRUM_API void thrum_sem_init(thrum_sem *sem, unsigned value);

/*
 * Ends the semaphore, whose value is then 0. It frees nothing and may be omitted.
 *
 * The memory may be freed once every wait on it has returned: a waiter that was woken no longer
 * waits, but may not have returned yet.
 *
 * Parameters:
 *   sem  a semaphore that nobody waits for
 * Returns: 0, or -EBUSY with the semaphore unchanged.
 * Errors:
 *   -EBUSY  a caller waits for the semaphore
 * Context: any thread; never suspends.
 * Ordering: on success, the writes before all previous posts are visible.
 * See also: thrum_sem_init
 */
THRUM_API int thrum_sem_destroy(thrum_sem *sem);

/*
 * Takes one unit. thrum_sem_wait waits until there is one, thrum_sem_wait_until gives up at the
 * deadline, and thrum_sem_try_wait does not wait. If there is a unit, it is taken even if the
 * deadline has passed or the caller has been cancelled.
 *
 * Parameters:
 *   sem       an initialized semaphore
 *   deadline  thrum_sem_wait_until only: when to give up, an instant from thrum_after or
 *             THRUM_FOREVER
 * Returns: 0 with one unit taken, or a negative error code with nothing taken.
 * Errors:
 *   -ECANCELED  the caller was cancelled; not from thrum_sem_try_wait
 *   -ETIMEDOUT  thrum_sem_wait_until: the deadline passed
 *   -EAGAIN     thrum_sem_try_wait: there is no unit
 *   -EPIPE      the semaphore is closed, or was closed during the wait
 *   -ESHUTDOWN  in the child of a fork (thrum/sched.h): no thread is left to end the wait
 * Context: any thread; may suspend; cancellable. thrum_sem_try_wait never suspends.
 * Ordering: on success, the writes before the post that gave the unit are visible.
 * Example: examples/semaphore.c
 * See also: thrum_sem_post, thrum_sem_wait_n, thrum_sem_on_until
 */
THRUM_API THRUM_NODISCARD int thrum_sem_wait(thrum_sem *sem);
THRUM_API THRUM_NODISCARD int thrum_sem_wait_until(thrum_sem *sem, thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_sem_try_wait(thrum_sem *sem);

/*
 * Takes n units at once, all or none. thrum_sem_wait_n waits until it has them,
 * thrum_sem_wait_n_until gives up at the deadline, and thrum_sem_try_wait_n does not wait.
 *
 * A caller that waits keeps its place in the queue until it has all units. Units that come are set
 * aside for it, and the callers behind it wait, however few units they need. If it gives up, those
 * units go to the callers behind it.
 *
 * Parameters:
 *   sem       an initialized semaphore
 *   n         the number of units, at most THRUM_SEM_MAX; for 0 the calls return 0 at once
 *   deadline  thrum_sem_wait_n_until only: when to give up, an instant from thrum_after or
 *             THRUM_FOREVER
 * Returns: 0 with n units taken, or a negative error code with nothing taken.
 * Errors:
 *   -EINVAL     n is above THRUM_SEM_MAX
 *   -ECANCELED  the caller was cancelled; not from thrum_sem_try_wait_n
 *   -ETIMEDOUT  thrum_sem_wait_n_until: the deadline passed
 *   -EAGAIN     thrum_sem_try_wait_n: there are fewer units, or others wait
 *   -EPIPE      the semaphore is closed, or was closed during the wait
 *   -ESHUTDOWN  in the child of a fork (thrum/sched.h): no thread is left to end the wait
 * Context: any thread; may suspend; cancellable. thrum_sem_try_wait_n never suspends.
 * Ordering: on success, the writes before the posts that gave the units are visible.
 * Example:
 *    int err = thrum_sem_wait_n_until(&slots, 4, thrum_after_ms(100));
 *    if (err == 0) {
 *        use_four_slots();
 *        thrum_sem_post_n(&slots, 4);
 *    }
 * See also: thrum_sem_post_n, thrum_sem_wait, thrum_sem_on_n_until
 */
THRUM_API THRUM_NODISCARD int thrum_sem_wait_n(thrum_sem *sem, unsigned n);
THRUM_API THRUM_NODISCARD int thrum_sem_wait_n_until(thrum_sem *sem, unsigned n,
                                                     thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_sem_try_wait_n(thrum_sem *sem, unsigned n);

/*
 * Gives one unit, or n units at once. Waiters get them in their order; units that no waiter needs
 * raise the value. A waiter that is served may free the semaphore at once.
 *
 * thrum_sem_post_n does as much as n posts, but no other caller comes in between. For 0 it does
 * nothing.
 *
 * Parameters:
 *   sem  an initialized semaphore
 *   n    thrum_sem_post_n only: the number of units
 * Context: any thread; never suspends.
 * Ordering: the writes before the call are visible to the waits that take the units.
 * Misuse: the value would become larger than THRUM_SEM_MAX.
 * Example: examples/semaphore.c
 * See also: thrum_sem_wait, thrum_sem_wait_n
 */
THRUM_API void thrum_sem_post(thrum_sem *sem);
THRUM_API void thrum_sem_post_n(thrum_sem *sem, unsigned n);

/*
 * Closes the semaphore. Callers that wait get -EPIPE, and so does every later wait. The units that
 * nobody has taken are lost, and so are units posted later.
 *
 * Parameters:
 *   sem  an initialized semaphore
 * Returns: 0, or -EPIPE with nothing changed.
 * Errors:
 *   -EPIPE  the semaphore is closed already
 * Context: any thread; never suspends.
 * Ordering: the writes before the call are visible to the callers that get -EPIPE by it.
 * Example:
 *    thrum_sem_close(&slots); // no new work begins
 * See also: thrum_sem_wait, thrum_sem_destroy
 */
THRUM_API int thrum_sem_close(thrum_sem *sem);

THRUM_END_DECLS

#endif
