/*
 * barrier.c: the barrier.
 *
 *     word    bit 0        LOCKED   the list lock (wordlock.h)
 *             bit 1        WAITERS  the list is not empty
 *             bits 2 to 31          the number of callers that have arrived
 *     n       the number of participants; constant
 *
 * Invariant, for all but the holder of LOCKED: the callers that have arrived stand on the list, and
 * are fewer than n. The last to arrive takes all of them off and opens the barrier in one step; so
 * a waiter has arrived if it *stands on the list* at that moment, even when its time is out.
 * While LOCKED is set only its holder changes the word. sync/README.md has the argument.
 */
#include "thrum/barrier.h"

#include <errno.h>

#include "base/check.h"
#include "core/state/thread.h"
#include "core/task/await.h"
#include "core/wait/wait.h"
#include "platform/platform.h"
#include "sync/waitlist.h"
#include "sync/wordlock.h"

#define ONE (1u << TH_WORD_SHIFT)

static inline th_waitlist list_of(thrum_barrier *barrier) {
    return (th_waitlist){&barrier->reserved_first, &barrier->reserved_last};
}

/* Takes the list lock; returns how many have arrived. */
static uint32_t lock_list(thrum_barrier *barrier) {
    return th_word32_lock_list(&barrier->reserved_word) >> TH_WORD_SHIFT;
}

static void unlock_list(thrum_barrier *barrier, uint32_t arrived) {
    th_word32_publish(&barrier->reserved_word, arrived ? arrived * ONE | TH_WORD_WAITERS : 0);
}

/* Takes a waiter that gives up off the list. False: it was off the list, so it has arrived. */
static bool leave(void *object, th_waiter *me) {
    thrum_barrier *barrier = object;
    uint32_t arrived = lock_list(barrier);
    bool listed = th_waitlist_leave(list_of(barrier), me);
    unlock_list(barrier, listed ? arrived - 1 : arrived);
    return listed;
}

/*
 * True: the caller is the last, and has opened the barrier. False: the waiter is queued, or, where
 * it is too late, has not come.
 */
static TH_ALWAYS_INLINE bool arrive(thrum_barrier *barrier, th_waiter *me, bool late) {
    uint32_t arrived = lock_list(barrier);
    if (arrived + 1 < barrier->reserved_n) {
        if (!late) {
            th_waitlist_push(list_of(barrier), me);
            arrived++;
        }
        unlock_list(barrier, arrived);
        return false;
    }
    th_waiter *chain = th_waitlist_detach(list_of(barrier));
    unlock_list(barrier, 0);
    th_waitlist_wake_all(chain);
    return true;
}

static TH_ALWAYS_INLINE int wait(thrum_barrier *barrier, bool timed, thrum_time deadline) {
    th_waiter me;
    th_waiter_init_for(&me, TH_ON_BARRIER, barrier, timed, leave);
    if (arrive(barrier, &me, false)) {
        return 1;
    }
    /* after a wake the barrier may be gone */
    if (!timed) {
        return th_waiter_result(th_waiter_wait(&me));
    }
    int result = th_waiter_result(th_waiter_wait_until(&me, deadline));
    return result && leave(barrier, &me) ? result : 0;
}

int thrum_barrier_wait(thrum_barrier *barrier) {
    return wait(barrier, false, THRUM_FOREVER);
}

int thrum_barrier_wait_until(thrum_barrier *barrier, thrum_time deadline) {
    return wait(barrier, true, deadline);
}

int thrum_barrier_on_until(thrum_barrier *barrier, thrum_await *await, thrum_task *task,
                           thrum_time deadline) {
    int code = th_await_init(await, task, TH_ON_BARRIER, barrier, leave);
    if (code) {
        return code;
    }
    bool late = deadline != THRUM_FOREVER && deadline <= th_os_now();
    if (arrive(barrier, &th_await_of(await)->waiter, late)) {
        return 1;
    }
    if (late) {
        return -ETIMEDOUT;
    }
    code = th_await_post(await, deadline);
    return code == 1 ? 2 : code; /* another was the last */
}

void thrum_barrier_init(thrum_barrier *barrier, unsigned n) {
    if (n == 0 || n > THRUM_BARRIER_MAX) {
        th_misuse("thrum_barrier_init", "not from 1 to THRUM_BARRIER_MAX participants", barrier);
    }
    *barrier = (thrum_barrier)THRUM_BARRIER_INIT(n);
}

int thrum_barrier_destroy(thrum_barrier *barrier) {
    /* pairs: th_word32_publish; the caller sees all that the last calls wrote */
    if (th_load_acquire(&barrier->reserved_word) != 0) {
        return -EBUSY;
    }
    *barrier = (thrum_barrier)THRUM_BARRIER_INIT(0);
    return 0;
}
