/*
 * barrier.c: the barrier.
 *
 *     word    bit 0        LOCKED   the list lock (wordlock.h)
 *             bit 1        WAITERS  the list is not empty
 *             bits 2 to 31          the number of callers that have arrived
 *     n       the number of participants; constant
 *
 * Invariant, for all but the holder of LOCKED: the callers that have arrived are on the list, and
 * are fewer than n. The last to arrive takes all of them off and opens the barrier in one step; so
 * a waiter has arrived if it is *on the list* at that moment, even if its time is out. While LOCKED
 * is set only its holder changes the word. sync/COUNTERS.md has the argument.
 */
#include "thrum/barrier.h"

#include <errno.h>

#include "base/check.h"
#include "core/state/thread.h"
#include "core/task/await.h"
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

/* The last one opens the barrier. */
static TH_ALWAYS_INLINE int stand(void *object, th_waiter *me, bool late) {
    thrum_barrier *barrier = object;
    uint32_t arrived = lock_list(barrier);
    if (arrived + 1 < barrier->reserved_n) {
        if (!late) {
            th_waitlist_push(list_of(barrier), me);
            arrived++;
        }
        unlock_list(barrier, arrived);
        return late ? -ETIMEDOUT : 0;
    }
    th_waiter *chain = th_waitlist_detach(list_of(barrier));
    unlock_list(barrier, 0);
    th_waitlist_wake_all(chain);
    return 1;
}

static const th_wait_kind waits = {.on = TH_ON_BARRIER, .stand = stand, .leave = leave};

int thrum_barrier_wait_until(thrum_barrier *barrier, thrum_time deadline) {
    const bool timed = deadline != THRUM_FOREVER;
    th_waiter me;
    th_waiter_init_for(&me, TH_ON_BARRIER, barrier, timed, leave);
    int code = stand(barrier, &me, false);
    return code ? code : th_wait_queued(&waits, barrier, &me, timed, deadline);
}

int thrum_barrier_wait(thrum_barrier *barrier) {
    return thrum_barrier_wait_until(barrier, THRUM_FOREVER);
}

int thrum_barrier_on_until(thrum_barrier *barrier, thrum_await *await, thrum_task *task,
                           thrum_time deadline) {
    int code = th_await_init(await, task, &waits, barrier);
    if (!code) {
        code = stand(barrier, &th_await_of(await)->waiter, th_is_late(deadline));
    }
    if (code) {
        return code;
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
