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
THRUM_STATIC_ASSERT(sizeof(thrum_sem) == 24, "part of the ABI");

/* The largest value; a post beyond it aborts. */
#define THRUM_SEM_MAX INT32_MAX

/* clang-format off */
#define THRUM_SEM_INIT(n) { (uint64_t)(n) << 2, NULL, NULL }
/* clang-format on */

THRUM_API void thrum_sem_init(thrum_sem *sem, unsigned value);

/*
 * -EBUSY, unchanged, while it is waited for. It may be freed once every wait on it has returned: a
 * waiter that was woken is not waiting any more, but may not have returned yet.
 */
THRUM_API int thrum_sem_destroy(thrum_sem *sem);

/*
 * Takes one, waiting until there is one. Any thread; may suspend. 0: what was written before the
 * post that it took is visible. -ECANCELED: nothing was taken.
 */
THRUM_API THRUM_NODISCARD int thrum_sem_wait(thrum_sem *sem);
/* The same until the deadline: -ETIMEDOUT, and nothing was taken. */
THRUM_API THRUM_NODISCARD int thrum_sem_wait_until(thrum_sem *sem, thrum_time deadline);

/* Takes one if there is one, else -EAGAIN. Any thread; never suspends. */
THRUM_API THRUM_NODISCARD int thrum_sem_try_wait(thrum_sem *sem);

/*
 * The three calls above for n units at once: all or none. A caller that waits for n keeps its place
 * in the queue until it has them: those behind it wait, for however few, and units that come are
 * put by for it; when its time is out, or it is cancelled, they go to those behind it. 0 units: 0,
 * at once. -EINVAL: more than THRUM_SEM_MAX. thrum_sem_try_wait_n: -EAGAIN when there are fewer, or
 * somebody waits. Otherwise as above.
 */
THRUM_API THRUM_NODISCARD int thrum_sem_wait_n(thrum_sem *sem, unsigned n);
THRUM_API THRUM_NODISCARD int thrum_sem_wait_n_until(thrum_sem *sem, unsigned n,
                                                     thrum_time deadline);
THRUM_API THRUM_NODISCARD int thrum_sem_try_wait_n(thrum_sem *sem, unsigned n);

/* Gives one, to the first waiter if there is any, who may free the semaphore. Any thread; never
 * suspends. */
THRUM_API void thrum_sem_post(thrum_sem *sem);
/*
 * Gives n at once, as so many posts would, but nobody comes in between. 0: does nothing. A value
 * beyond THRUM_SEM_MAX aborts. Any thread; never suspends.
 */
THRUM_API void thrum_sem_post_n(thrum_sem *sem, unsigned n);

THRUM_END_DECLS

#endif
