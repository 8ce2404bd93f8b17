/*
 * sem.c: the counting semaphore.
 *
 *     word    bit 0 LOCKED · bit 1 WAITERS · bits 2 to 32 the value
 *
 * Invariant: a value above 0 means an empty list. So a post hands its unit to the first waiter
 * and raises the value only when nobody waits, and who finds a value above 0 passes nobody by
 * taking it. While LOCKED is set only its holder changes the word. README.md has the argument.
 */
#include "thrum/sem.h"

#include <errno.h>

#include "base/check.h"
#include "core/wait.h"
#include "sync/waitlist.h"
#include "sync/wordlock.h"

#define ONE ((uint64_t)1 << TH_WORD_SHIFT)
#define FLAGS ((uint64_t)(TH_WORD_LOCKED | TH_WORD_WAITERS))

static inline th_waitlist list_of(thrum_sem *sem) {
    return (th_waitlist){&sem->reserved_first, &sem->reserved_last};
}

/* Nobody to wait for: the value is above 0, hence no flag is set. */
static inline bool has_unit(uint64_t word) {
    return word >= ONE;
}

/* Takes a unit. False: the word changed. */
static inline bool take(uint64_t *xword, uint64_t seen) {
    /* pairs: give, th_word64_publish; what was written before the posts is visible. ABA: equal
       words are equal states, there is no list to go with them */
    return th_cas_acquire(xword, &seen, seen - ONE);
}

/* Raises the value. False: the word changed. */
static inline bool give(uint64_t *xword, uint64_t seen) {
    /* pairs: take, th_word64_lock; publishes what the caller wrote */
    return th_cas_release(xword, &seen, seen + ONE);
}

static TH_NOINLINE int wait_slow(thrum_sem *sem);
static TH_NOINLINE void post_slow(thrum_sem *sem);

int thrum_sem_wait(thrum_sem *sem) {
    uint64_t *xword = &sem->reserved_word;
    /* relaxed: the compare-exchange decides */
    uint64_t seen = th_load_relaxed(xword);
    if (th_likely(has_unit(seen)) && th_likely(take(xword, seen))) {
        return 0;
    }
    return wait_slow(sem);
}

int thrum_sem_trywait(thrum_sem *sem) {
    uint64_t *xword = &sem->reserved_word;
    for (;;) { /* lock-free: a failure is another's success */
        /* relaxed: the compare-exchange decides; a 0 seen late is a 0 that was */
        uint64_t seen = th_load_relaxed(xword);
        if (!has_unit(seen)) {
            return -EAGAIN;
        }
        if (take(xword, seen)) {
            return 0;
        }
    }
}

void thrum_sem_post(thrum_sem *sem) {
    uint64_t *xword = &sem->reserved_word;
    /* relaxed: the compare-exchange decides */
    uint64_t seen = th_load_relaxed(xword);
    if (th_likely((seen & FLAGS) == 0) && th_likely(seen < ONE * THRUM_SEM_MAX) &&
        th_likely(give(xword, seen))) {
        return;
    }
    post_slow(sem);
}

/* A waiter does not wait any longer. False: it was taken off the list before. */
static bool leave(void *object, th_waiter *me) {
    thrum_sem *sem = object;
    uint64_t *xword = &sem->reserved_word;
    unsigned spins = 0;
    for (;;) {
        /* pairs: th_word64_publish; who took us off the list has done with us */
        uint64_t seen = th_load_acquire(xword);
        if (has_unit(seen)) {
            return false; /* the list is empty */
        }
        if ((seen & TH_WORD_LOCKED) != 0) {
            th_backoff(&spins);
        } else if (th_word64_lock(xword, seen)) {
            bool listed = th_waitlist_leave(list_of(sem), me);
            th_word64_publish(xword, th_waitlist_is_empty(list_of(sem)) ? 0 : TH_WORD_WAITERS);
            return listed;
        }
    }
}

/*
 * Takes a unit, or queues and waits for one to be handed over. Returns 0, so that the call can be a
 * tail call: after a switch each return costs a misprediction.
 */
static TH_NOINLINE int wait_slow(thrum_sem *sem) {
    uint64_t *xword = &sem->reserved_word;
    unsigned spins = 0;
    th_waiter me;
    th_waiter_init(&me, TH_ON_SEM, sem);
    me.leave = leave;
    for (;;) {
        /* relaxed: the compare-exchange decides */
        uint64_t seen = th_load_relaxed(xword);
        if ((seen & TH_WORD_LOCKED) != 0) {
            th_backoff(&spins);
        } else if (has_unit(seen)) {
            if (take(xword, seen)) {
                return 0;
            }
        } else if (th_word64_lock(xword, seen)) {
            th_waitlist_push(list_of(sem), &me);
            /* woken: the unit is ours, the semaphore may be gone */
            return th_waiter_result(
                th_waiter_wait_unlock(&me, xword, seen | TH_WORD_WAITERS, true));
        }
    }
}

int thrum_sem_wait_until(thrum_sem *sem, thrum_time deadline) {
    uint64_t *xword = &sem->reserved_word;
    unsigned spins = 0;
    th_waiter me;
    th_waiter_init(&me, TH_ON_SEM, sem);
    me.timed = true;
    for (;;) {
        /* relaxed: the compare-exchange decides */
        uint64_t seen = th_load_relaxed(xword);
        if ((seen & TH_WORD_LOCKED) != 0) {
            th_backoff(&spins);
        } else if (has_unit(seen)) {
            if (take(xword, seen)) {
                return 0;
            }
        } else if (th_word64_lock(xword, seen)) {
            th_waitlist_push(list_of(sem), &me);
            th_word64_publish(xword, seen | TH_WORD_WAITERS);
            int result = th_waiter_result(th_waiter_wait_until(&me, deadline));
            if (result) {
                leave(sem, &me);
            }
            return result; /* woken: it is ours, and the object may be gone */
        }
    }
}

/* Hands the unit to the first waiter, or raises the value. */
static TH_NOINLINE void post_slow(thrum_sem *sem) {
    uint64_t *xword = &sem->reserved_word;
    unsigned spins = 0;
    for (;;) {
        /* relaxed: the compare-exchange decides */
        uint64_t seen = th_load_relaxed(xword);
        if ((seen & TH_WORD_LOCKED) != 0) {
            th_backoff(&spins);
        } else if ((seen & TH_WORD_WAITERS) != 0) {
            if (th_word64_lock(xword, seen)) {
                th_waiter *first = th_waitlist_pop(list_of(sem));
                bool empty = th_waitlist_is_empty(list_of(sem));
                th_word64_publish(xword, empty ? (first ? 0 : ONE) : TH_WORD_WAITERS);
                if (first) {
                    th_waiter_let_go(first);
                }
                return;
            }
        } else if (seen >= ONE * THRUM_SEM_MAX) {
            th_misuse("thrum_sem_post", "value beyond THRUM_SEM_MAX", sem);
        } else if (give(xword, seen)) {
            return;
        }
    }
}

void thrum_sem_init(thrum_sem *sem, unsigned value) {
    if (value > THRUM_SEM_MAX) {
        th_misuse("thrum_sem_init", "value beyond THRUM_SEM_MAX", sem);
    }
    *sem = (thrum_sem)THRUM_SEM_INIT(value);
}

int thrum_sem_destroy(thrum_sem *sem) {
    /* pairs: th_word64_publish, give; the owner goes on with what they left */
    if ((th_load_acquire(&sem->reserved_word) & FLAGS) != 0) {
        return -EBUSY;
    }
    *sem = (thrum_sem)THRUM_SEM_INIT(0);
    return 0;
}
