/*
 * once.c: a function that succeeds once.
 *
 *     word    bit 0  LOCKED   the list lock (wordlock.h)
 *             bit 1  WAITERS  the list is not empty
 *             bit 2  RUNNING  a caller runs its function, or has been told to
 *             bit 3  DONE     a function has succeeded; from then on the word is DONE alone
 *     owner   the th_self_id of the caller that runs its function, otherwise 0
 *
 * Invariant, for all but the holder of LOCKED: WAITERS implies RUNNING. A caller whose function
 * fails hands RUNNING to the first waiter, so no caller passes the waiters. While LOCKED is set
 * only its holder changes the word. sync/README.md has the argument.
 */
#include "thrum/once.h"

#include <errno.h>

#include "base/check.h"
#include "core/ready/waiter.h"
#include "core/state/thread.h"
#include "core/wait/wait.h"
#include "sync/waitlist.h"
#include "sync/wordlock.h"

#define RUNNING 4u
#define DONE 8u

/* The value of a wake that hands RUNNING to the waiter; that of a wake after DONE is 0. */
#define YOUR_TURN 1

/* Lives on the waiter's stack. */
struct once_waiter {
    th_waiter waiter; /* the list's element; it must be the first field */
    uint64_t self;    /* its th_self_id; constant */
};

static inline th_waitlist list_of(thrum_once *once) {
    return (th_waitlist){&once->reserved_first, &once->reserved_last};
}

/* Only ever compared with the caller's own number (mutex_owner.h). */
static inline void set_owner(thrum_once *once, uint64_t self) {
    /* relaxed: see above */
    th_store_relaxed(&once->reserved_owner, self);
}

static inline bool is_owner(const thrum_once *once, uint64_t self) {
    /* relaxed: see above */
    return th_load_relaxed(&once->reserved_owner) == self;
}

/* After a success: wakes all waiters. Any of them may free the once. */
static void tell_all(thrum_once *once) {
    set_owner(once, 0);
    uint32_t seen = RUNNING;
    /* pairs: thrum_once_run, run_slow, thrum_once_is_done; publishes what the function wrote */
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
        set_owner(once, 0);
        th_word32_publish(&once->reserved_word, 0);
        return;
    }
    first->value = YOUR_TURN;
    set_owner(once, ((struct once_waiter *)(void *)first)->self);
    uint32_t waiters = th_waitlist_is_empty(list_of(once)) ? 0 : TH_WORD_WAITERS;
    th_word32_publish(&once->reserved_word, RUNNING | waiters);
    th_waiter_let_go(first);
}

/* Runs the caller's function; the caller has set RUNNING, or was handed it. */
static int run_it(thrum_once *once, thrum_fn fn, void *arg) {
    int result = fn(arg);
    if (result < 0) {
        pass_on(once);
        return result;
    }
    tell_all(once);
    return 0;
}

/* Takes a waiter off the list whose time is out and that was not woken. */
static void leave(thrum_once *once, th_waiter *me) {
    unsigned spins = 0;
    for (;;) {
        /* pairs: th_word32_publish; a thread that took the waiter off no longer touches it */
        uint32_t seen = th_load_acquire(&once->reserved_word);
        if ((seen & DONE) != 0) {
            return; /* the list is empty */
        }
        if ((seen & TH_WORD_LOCKED) != 0) {
            th_backoff(&spins);
        } else if (th_word32_lock(&once->reserved_word, seen)) {
            th_waitlist_leave(list_of(once), me);
            uint32_t waiters = th_waitlist_is_empty(list_of(once)) ? 0 : TH_WORD_WAITERS;
            th_word32_publish(&once->reserved_word, (seen & RUNNING) | waiters);
            return;
        }
    }
}

/* With the list lock, which it gives up; `seen` is the word without LOCKED. */
static int wait_for_it(thrum_once *once, uint32_t seen, uint64_t self, thrum_fn fn, void *arg,
                       thrum_time deadline) {
    struct once_waiter me;
    th_waiter_init(&me.waiter, TH_ON_ONCE, once);
    me.self = self;
    me.waiter.shielded = true; /* not a cancellation point */
    me.waiter.timed = deadline != THRUM_FOREVER || th_waits_alone();
    th_waitlist_push(list_of(once), &me.waiter);
    th_word32_publish(&once->reserved_word, seen | TH_WORD_WAITERS);
    int result = th_waiter_result(th_waiter_wait_until(&me.waiter, deadline));
    if (result) {
        leave(once, &me.waiter);
        return result;
    }
    /* unless it is this waiter's turn, the once may be gone */
    return me.waiter.value == YOUR_TURN ? run_it(once, fn, arg) : 0;
}

static TH_NOINLINE int run_slow(thrum_once *once, thrum_fn fn, void *arg, thrum_time deadline) {
    if (!fn) {
        return -EINVAL;
    }
    uint32_t *xword = &once->reserved_word;
    uint64_t self = th_self_id();
    unsigned spins = 0;
    for (;;) {
        /* pairs: tell_all, th_word32_publish; what the function wrote is visible */
        uint32_t seen = th_load_acquire(xword);
        if ((seen & DONE) != 0) {
            return 0;
        }
        if ((seen & RUNNING) != 0 && is_owner(once, self)) {
            return -EDEADLK;
        }
        if ((seen & TH_WORD_LOCKED) != 0) {
            th_backoff(&spins);
        } else if (seen == 0) {
            /* pairs: th_word32_publish; what failed calls wrote. ABA: 0 is the whole state */
            if (th_cas_acquire(xword, &seen, RUNNING)) {
                set_owner(once, self);
                return run_it(once, fn, arg);
            }
        } else if (th_word32_lock(xword, seen)) {
            return wait_for_it(once, seen, self, fn, arg, deadline);
        }
    }
}

int thrum_once_run(thrum_once *once, thrum_fn fn, void *arg) {
    /* pairs: tell_all, th_word32_publish; what the function wrote is visible */
    if (th_likely(th_load_acquire(&once->reserved_word) == DONE)) {
        return 0;
    }
    return run_slow(once, fn, arg, THRUM_FOREVER);
}

int thrum_once_run_until(thrum_once *once, thrum_fn fn, void *arg, thrum_time deadline) {
    return run_slow(once, fn, arg, deadline);
}

bool thrum_once_is_done(const thrum_once *once) {
    /* pairs: tell_all, th_word32_publish; what the function wrote is visible */
    return th_load_acquire(&once->reserved_word) == DONE;
}

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
