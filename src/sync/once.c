/*
 * once.c: a function that succeeds once.
 *
 *     word    bit 0  LOCKED   the list lock (wordlock.h)
 *             bit 1  WAITERS  the list is not empty
 *             bit 2  RUNNING  a caller runs its function, or has been given the turn
 *             bit 3  DONE     a function has succeeded; from then on the word is DONE alone
 *     owner   the th_self_id of the caller that runs its function, otherwise 0; TH_ID_TASK while a
 *             task has the turn (thrum_once_on_until), which may go on elsewhere
 *
 * Invariant, for all but the holder of LOCKED: WAITERS implies RUNNING. A caller whose function
 * fails hands RUNNING to the first waiter, so no caller passes the waiters. While LOCKED is set
 * only its holder changes the word. sync/LOCKS.md has the argument.
 */
#include "thrum/once.h"

#include <errno.h>
#include <stddef.h>

#include "base/check.h"
#include "core/state/thread.h"
#include "platform/platform.h"
#include "sync/owner.h"
#include "sync/waitlist.h"
#include "sync/wordlock.h"

#define RUNNING 4u
#define DONE 8u

/* The value of a wake that hands RUNNING to the waiter; that of a wake after DONE is 0. */
#define YOUR_TURN 1

/* The status of a wait that has ended with the turn, as in thrum/await.h. */
#define TURN 2

static inline th_waitlist list_of(thrum_once *once) {
    return (th_waitlist){&once->reserved_first, &once->reserved_last};
}

/* After a success: wakes all waiters. Any of them may free the once. */
static void tell_all(thrum_once *once) {
    th_owner_set(&once->reserved_owner, 0);
    uint32_t seen = RUNNING;
    /* pairs: thrum_once_run, run_slow, thrum_once_is_done; publishes the function's writes */
    if (th_cas_release(&once->reserved_word, &seen, DONE)) {
        return;
    }
    (void)th_word32_lock_list(&once->reserved_word);
    th_waiter *chain = th_waitlist_detach(list_of(once));
    th_word32_publish(&once->reserved_word, DONE);
    th_waitlist_wake_all(chain);
}

/* After a failure: the first waiter tries next. */
static void pass_on(thrum_once *once) {
    (void)th_word32_lock_list(&once->reserved_word);
    th_waiter *first = th_waitlist_pop(list_of(once));
    if (!first) {
        th_owner_set(&once->reserved_owner, 0);
        th_word32_publish(&once->reserved_word, 0);
        return;
    }
    first->value = YOUR_TURN;
    th_owner_set(&once->reserved_owner, th_owner_of(first));
    th_word32_publish(&once->reserved_word, th_word32_with(RUNNING, list_of(once)));
    th_waiter_let_go(first);
}

/* Ends the turn of a caller that has set RUNNING, or was handed it. */
static int finish(thrum_once *once, int result) {
    if (result < 0) {
        pass_on(once);
        return result;
    }
    tell_all(once);
    return 0;
}

/* Takes a waiter that gives up off the list. False: it was off the list already. */
static bool leave(void *object, th_waiter *me) {
    thrum_once *once = object;
    return th_word32_leave(&once->reserved_word, list_of(once), me, DONE);
}

/* From the state in which nothing runs and nothing is done. True: the caller has the turn. */
static TH_ALWAYS_INLINE bool begin(thrum_once *once, uint64_t self) {
    uint32_t seen = 0;
    /* pairs: th_word32_publish; the failed calls' writes. ABA: 0 is the whole state */
    if (th_cas_acquire(&once->reserved_word, &seen, RUNNING)) {
        th_owner_set(&once->reserved_owner, self);
        return true;
    }
    return false;
}

/* 1: it is done. TURN: the turn is the caller's, or, of a waiter of no stack, the task's. */
static int stand(void *object, th_waiter *me, bool late) {
    thrum_once *once = object;
    const uint64_t self = th_owner_of(me);
    for (;;) {
        uint32_t seen = th_word32_look(&once->reserved_word);
        if ((seen & DONE) != 0) {
            return 1;
        }
        if ((seen & RUNNING) != 0 && self && th_owner_is(&once->reserved_owner, self)) {
            return -EDEADLK;
        }
        if (seen == 0) {
            if (begin(once, self ? self : TH_ID_TASK)) {
                return TURN;
            }
        } else if (late) {
            return -ETIMEDOUT;
        } else if (th_word32_lock(&once->reserved_word, seen)) {
            th_waitlist_push(list_of(once), me);
            th_word32_publish(&once->reserved_word, seen | TH_WORD_WAITERS);
            return 0;
        }
    }
}

/* In the woken run: the cause. The once may be gone, unless it is this task's turn. */
static void is_told(void *object, th_waiter *waiter) {
    int *status = &((th_await *)(void *)waiter)->status;
    *status = 0;
    if (waiter->value == YOUR_TURN) {
        th_owner_set(&((thrum_once *)object)->reserved_owner, TH_ID_TASK);
        *status = TURN;
    }
}

static const th_wait_kind waits = {
    .on = TH_ON_ONCE, .stand = stand, .leave = leave, .got = is_told};

static TH_NOINLINE int run_slow(thrum_once *once, thrum_fn fn, void *arg, thrum_time deadline) {
    if (!fn) {
        return -EINVAL;
    }
    th_owner_waiter me;
    th_waiter_init(&me.waiter, TH_ON_ONCE, once);
    me.self = th_self_id();
    me.waiter.shielded = true; /* not a cancellation point */
    me.waiter.timed = deadline != THRUM_FOREVER || th_waits_alone();
    int code = stand(once, &me.waiter, false);
    if (!code) {
        code = th_wait_queued(&waits, once, &me.waiter, me.waiter.timed, deadline);
        /* unless it is this waiter's turn, the once may be gone */
        code = code ? code : me.waiter.value == YOUR_TURN ? TURN : 1;
    }
    return code == TURN ? finish(once, fn(arg)) : code > 0 ? 0 : code;
}

int thrum_once_run(thrum_once *once, thrum_fn fn, void *arg) {
    /* pairs: tell_all, th_word32_publish; the function's writes are visible */
    if (th_likely(th_load_acquire(&once->reserved_word) == DONE)) {
        return 0;
    }
    return run_slow(once, fn, arg, THRUM_FOREVER);
}

int thrum_once_run_until(thrum_once *once, thrum_fn fn, void *arg, thrum_time deadline) {
    return run_slow(once, fn, arg, deadline);
}

bool thrum_once_is_done(const thrum_once *once) {
    /* pairs: tell_all, th_word32_publish; the function's writes are visible */
    return th_load_acquire(&once->reserved_word) == DONE;
}

/* ---- waits of tasks ---- */

int thrum_once_on_until(thrum_once *once, thrum_await *await, thrum_task *task,
                        thrum_time deadline) {
    return th_await_on(&waits, once, await, task, deadline);
}

void thrum_once_finish(thrum_once *once, int result) {
    /* relaxed: the caller's own turn */
    if (th_unlikely((th_load_relaxed(&once->reserved_word) & RUNNING) == 0)) {
        th_misuse("thrum_once_finish", "nobody has the turn", once);
    }
    (void)finish(once, result);
}

/* ---- the beginning and the end ---- */

void thrum_once_init(thrum_once *once) {
    *once = (thrum_once)THRUM_ONCE_INIT;
}

int thrum_once_destroy(thrum_once *once) {
    /* pairs: tell_all, th_word32_publish; the caller sees all that the last calls wrote */
    if ((th_load_acquire(&once->reserved_word) & ~DONE) != 0) {
        return -EBUSY;
    }
    *once = (thrum_once)THRUM_ONCE_INIT;
    return 0;
}
