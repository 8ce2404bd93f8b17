/*
 * once.c: done once.
 *
 *     word    bit 0 LOCKED · bit 1 WAITERS
 *             bit 2 RUNNING   somebody runs its function, or has been told to
 *             bit 3 DONE      for good: the word is DONE alone from then on
 *     owner   th_self_id of who runs it, else 0
 *
 * Invariant, for all but the holder of LOCKED: WAITERS implies RUNNING. A function that fails hands
 * RUNNING to the first waiter, so nobody passes those who wait. While LOCKED is set only its holder
 * changes the word. README.md has the argument.
 */
#include "thrum/once.h"

#include <errno.h>

#include "base/check.h"
#include "core/state/thread.h"
#include "core/wait/wait.h"
#include "core/ready/waiter.h"
#include "sync/waitlist.h"
#include "sync/wordlock.h"

#define RUNNING 4u
#define DONE 8u

/* What a wake says: it is done, or it is the waiter's turn to do it. */
#define YOUR_TURN 1

/* Lives on the stack of who waits. */
struct once_waiter {
    th_waiter waiter; /* first: the list's elements are these */
    uint64_t self;    /* who it is; constant */
};

static inline th_waitlist list_of(thrum_once *once) {
    return (th_waitlist){&once->reserved_first, &once->reserved_last};
}

/* Only ever compared with the reader's own number, as mutex_owner.h says. */
static inline void set_owner(thrum_once *once, uint64_t self) {
    /* relaxed: see above */
    th_store_relaxed(&once->reserved_owner, self);
}

static inline bool is_owner(const thrum_once *once, uint64_t self) {
    /* relaxed: see above */
    return th_load_relaxed(&once->reserved_owner) == self;
}

static uint32_t lock_list(thrum_once *once) {
    unsigned spins = 0;
    for (;;) {
        /* relaxed: the compare-exchange decides */
        uint32_t seen = th_load_relaxed(&once->reserved_word);
        if ((seen & TH_WORD_LOCKED) != 0) {
            th_backoff(&spins);
        } else if (th_word32_lock(&once->reserved_word, seen)) {
            return seen;
        }
    }
}

/* It is done: everybody may go on, and may free it. */
static void tell_all(thrum_once *once) {
    set_owner(once, 0);
    uint32_t seen = RUNNING;
    /* pairs: thrum_once_run, run_slow, thrum_once_is_done; publishes what the function wrote */
    if (th_cas_release(&once->reserved_word, &seen, DONE)) {
        return;
    }
    lock_list(once);
    th_waiter *chain = th_waitlist_detach(list_of(once));
    th_word32_publish(&once->reserved_word, DONE);
    th_waitlist_wake_all(chain);
}

/* It failed: the first who waits tries next. */
static void pass_on(thrum_once *once) {
    lock_list(once);
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

/* RUNNING is the caller's. */
static int run_it(thrum_once *once, thrum_fn fn, void *arg) {
    int result = fn(arg);
    if (result < 0) {
        pass_on(once);
        return result;
    }
    tell_all(once);
    return 0;
}

/* The time of a waiter is out, and nobody woke it. */
static void leave(thrum_once *once, th_waiter *me) {
    unsigned spins = 0;
    for (;;) {
        /* pairs: th_word32_publish; who took us off the list has done with us */
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

/* The list lock is the caller's; `seen` is the word without it. */
static int wait_for_it(thrum_once *once, uint32_t seen, uint64_t self, thrum_fn fn, void *arg,
                       thrum_time deadline) {
    struct once_waiter me;
    th_waiter_init(&me.waiter, TH_ON_ONCE, once);
    me.self = self;
    me.waiter.shielded = true; /* no point of cancellation */
    me.waiter.timed = deadline != THRUM_FOREVER || th_waits_alone();
    th_waitlist_push(list_of(once), &me.waiter);
    th_word32_publish(&once->reserved_word, seen | TH_WORD_WAITERS);
    int result = th_waiter_result(th_waiter_wait_until(&me.waiter, deadline));
    if (result) {
        leave(once, &me.waiter);
        return result;
    }
    /* if it is done, it may be gone */
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
            /* pairs: th_word32_publish; what those wrote that failed. ABA: 0 is a whole state */
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
    /* pairs: tell_all, th_word32_publish; the owner goes on with what they left */
    if ((th_load_acquire(&once->reserved_word) & ~DONE) != 0) {
        return -EBUSY;
    }
    *once = (thrum_once)THRUM_ONCE_INIT;
    return 0;
}
