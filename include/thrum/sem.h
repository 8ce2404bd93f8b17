/*
 * thrum/sem.h: a counting semaphore. Waiters are served first come, first served.
 */
#ifndef THRUM_SEM_H
#define THRUM_SEM_H

#include "thrum/base.h"

THRUM_BEGIN_DECLS

typedef struct thrum_sem {
    uint64_t reserved_word;
    void *reserved_first;
    void *reserved_last;
} thrum_sem;
THRUM_ABI_SIZE(thrum_sem, 24, 16);

/* The largest value; a post beyond it aborts. */
#define THRUM_SEM_MAX INT32_MAX

/* clang-format off */
#define THRUM_SEM_INIT(n) { (uint64_t)(n) << 2, NULL, NULL }
/* clang-format on */

/*
 * Makes a semaphore of that value, as THRUM_SEM_INIT does. It aborts for a value beyond
 * THRUM_SEM_MAX. Any thread may call it while no other uses the memory. It never suspends.
 */
THRUM_API void thrum_sem_init(thrum_sem *sem, unsigned value);

/*
 * Ends the semaphore, whose value is then 0. Any thread may call it. It never suspends. It returns
 * 0, or -EBUSY with the semaphore unchanged while it is waited for. The memory may be freed once
 * every wait on it has returned: a waiter that was woken is not waiting any more, but may not have
 * returned yet.
 */
THRUM_API int thrum_sem_destroy(thrum_sem *sem);

/*
 * Takes one unit, waiting until there is one; what was written before the post that gave it is
 * visible. Any thread may call it. It may suspend. It returns 0, or -ECANCELED when the caller is
 * cancelled and nothing was taken.
 */
THRUM_API THRUM_NODISCARD int thrum_sem_wait(thrum_sem *sem);
/* Does the same until the deadline. Past it, it returns -ETIMEDOUT, and nothing was taken. */
THRUM_API THRUM_NODISCARD int thrum_sem_wait_until(thrum_sem *sem, thrum_time deadline);

/*
 * Takes one unit if there is one. Any thread may call it. It never suspends. It returns 0, or
 * -EAGAIN when there is none.
 */
THRUM_API THRUM_NODISCARD int thrum_sem_try_wait(thrum_sem *sem);

/*
 * As thrum_sem_wait, thrum_sem_wait_until and thrum_sem_try_wait, for n units at once: they take
 * all or none. A caller that waits for n keeps its place in the queue until it has them: those
 * behind it wait, for however few, and units that come are set aside for it; when its time is out,
 * or it is cancelled, they go to those behind it. For 0 units they return 0 at once. They return
 * -EINVAL for more than THRUM_SEM_MAX, and thrum_sem_try_wait_n -EAGAIN when there are fewer, or
 * others wait. Otherwise they are as those.
 */
THRUM_API THRUM_NODISCARD int thrum_sem_wait_n(thrum_sem *sem, unsigned n);
THRUM_API THRUM_NODISCARD int thrum_sem_wait_n_until(thrum_sem *sem, unsigned n,
                                                     thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_sem_try_wait_n(thrum_sem *sem, unsigned n);

/*
 * Gives one unit, to the first waiter if there is any, which may then free the semaphore. Any
 * thread may call it. It never suspends. It aborts for a value beyond THRUM_SEM_MAX.
 */
THRUM_API void thrum_sem_post(thrum_sem *sem);
/*
 * Gives n units at once, as so many posts would, but no other caller comes in between. For 0 it
 * does nothing. Any thread may call it. It never suspends. It aborts for a value beyond
 * THRUM_SEM_MAX.
 */
THRUM_API void thrum_sem_post_n(thrum_sem *sem, unsigned n);

THRUM_END_DECLS

#endif
