/*
 * sem.c: the counting semaphore.
 *
 *     word    bit 0        LOCKED   the list lock (wordlock.h)
 *             bit 1        WAITERS  the list is not empty
 *             bits 2 to 32          the value
 *             bit 63       CLOSED   no unit is taken or given any more; all other bits but LOCKED
 *                                   are 0, and the list is empty
 *
 * Invariant: a value above 0 implies an empty list. So a post hands its units to the first waiter
 * and raises the value only when there are no waiters, and a caller that finds a value above 0
 * passes no waiter by taking it. Units that are fewer than the first waiter lacks are set aside for
 * it; no other waiter has any. While LOCKED is set only its holder changes the word.
 * sync/COUNTERS.md has the argument.
 *
 * A waiter's `value` is the number of units that it lacks beyond one, and its `since_ns` the number
 * that are set aside for it.
 */
#include "thrum/sem.h"

#include <errno.h>

#include "base/check.h"
#include "core/ready/waiter.h"
#include "core/state/thread.h"
#include "core/task/await.h"
#include "platform/platform.h"
#include "sync/chan.h"
#include "sync/waitlist.h"
#include "sync/wordlock.h"

#define ONE ((uint64_t)1 << TH_WORD_SHIFT)
#define CLOSED ((uint64_t)1 << 63)
#define FLAGS ((uint64_t)(TH_WORD_LOCKED | TH_WORD_WAITERS))

static inline th_waitlist list_of(thrum_sem *sem) {
    return (th_waitlist){&sem->reserved_first, &sem->reserved_last};
}

/* Whether a unit can be taken: the value is above 0, hence no flag is set. */
static inline bool has_unit(uint64_t word) {
    return (int64_t)word >= (int64_t)ONE; /* not if it is CLOSED */
}

/* The same for n units, n > 0. */
static inline bool has_units(uint64_t word, unsigned n) {
    return (int64_t)word >= (int64_t)(ONE * n);
}

/* Takes n units. False: the word changed. */
static inline bool take(uint64_t *xword, uint64_t seen, unsigned n) {
    /*
     * pairs: give, th_word64_publish; writes before the posts are visible. ABA: equal words are
     * equal states, since the list is empty
     */
    return th_cas_acquire(xword, &seen, seen - ONE * n);
}

/* Raises the value. False: the word changed. */
static inline bool give(uint64_t *xword, uint64_t seen, unsigned n) {
    /* pairs: take, lock_and_take_all; publishes the caller's writes */
    return th_cas_release(xword, &seen, seen + ONE * n);
}

/*
 * Takes the list lock and all units: while LOCKED is set the value is 0, since callers take units
 * without looking at LOCKED. False: the word changed.
 */
static inline bool lock_and_take_all(uint64_t *xword, uint64_t seen) {
    /*
     * pairs: give, th_word64_publish, th_waiter_wait_unlock; takes over the list, and the writes
     * published by the posts of these units and by earlier callers
     */
    return th_cas_acquire(xword, &seen, (seen & TH_WORD_WAITERS) | TH_WORD_LOCKED);
}

static TH_NOINLINE int wait_slow(thrum_sem *sem);
static TH_NOINLINE void post_slow(thrum_sem *sem);

int thrum_sem_wait(thrum_sem *sem) {
    uint64_t *xword = &sem->reserved_word;
    /* relaxed: the compare-exchange decides */
    uint64_t seen = th_load_relaxed(xword);
    if (th_likely(has_unit(seen)) && th_likely(take(xword, seen, 1))) {
        return 0;
    }
    return wait_slow(sem);
}

/* For a caller that has seen CLOSED. */
static int was_closed(const thrum_sem *sem) {
    /* pairs: th_word64_publish; the writes before the close */
    (void)th_load_acquire(&sem->reserved_word);
    return -EPIPE;
}

int thrum_sem_try_wait_n(thrum_sem *sem, unsigned n) {
    uint64_t *xword = &sem->reserved_word;
    if (n > THRUM_SEM_MAX) {
        return -EINVAL;
    }
    while (n) { /* lock-free: a failure is another's success */
        /* relaxed: the compare-exchange decides; a stale value was true a moment ago */
        uint64_t seen = th_load_relaxed(xword);
        if (!has_units(seen, n)) {
            return (seen & CLOSED) != 0 ? was_closed(sem) : -EAGAIN;
        }
        if (take(xword, seen, n)) {
            return 0;
        }
    }
    return 0;
}

int thrum_sem_try_wait(thrum_sem *sem) {
    return thrum_sem_try_wait_n(sem, 1);
}

void thrum_sem_post(thrum_sem *sem) {
    uint64_t *xword = &sem->reserved_word;
    /* relaxed: the compare-exchange decides */
    uint64_t seen = th_load_relaxed(xword);
    if (th_likely((seen & FLAGS) == 0) && th_likely(seen < ONE * THRUM_SEM_MAX) &&
        th_likely(give(xword, seen, 1))) {
        return;
    }
    post_slow(sem);
}

/*
 * With the list lock. Hands units out to the waiters in their order, and sets aside the rest for
 * the first waiter that lacks more. *chain becomes the waiters to be woken. Returns the units that
 * no waiter needs; if they are more than 0 the list is empty.
 */
static uint64_t serve(th_waitlist list, uint64_t units, th_waiter **chain) {
    th_waiter *first;
    while (units && (first = th_waitlist_first(list))) {
        uint64_t lacks = (uint64_t)first->value + 1;
        if (units < lacks) {
            first->value -= (int32_t)units;
            first->since_ns += (int64_t)units;
            units = 0;
            break;
        }
        (void)th_waitlist_leave(list, first);
        if (th_unlikely(first->timed) && !th_waiter_claim(first, TH_WAIT_WOKEN)) {
            units += (uint64_t)first->since_ns; /* its time is out: the next gets its units */
            continue;
        }
        units -= lacks;
        *chain = first;
        chain = &first->next;
    }
    *chain = NULL;
    return units;
}

/* With the list lock, which it gives up. Hands units out, and wakes the waiters that have all. */
static TH_NOINLINE void serve_and_unlock(const char *call, thrum_sem *sem, uint64_t units) {
    th_waitlist list = list_of(sem);
    th_waiter *chain;
    units = serve(list, units, &chain);
    if (th_unlikely(units > THRUM_SEM_MAX)) {
        th_misuse(call, "value beyond THRUM_SEM_MAX", sem);
    }
    bool empty = th_waitlist_is_empty(list);
    th_word64_publish(&sem->reserved_word, empty ? ONE * units : TH_WORD_WAITERS);
    th_waitlist_wake_all(chain);
}

/* Takes a waiter that gives up off the list. False: it was off the list already. */
static bool leave(void *object, th_waiter *me) {
    thrum_sem *sem = object;
    uint64_t *xword = &sem->reserved_word;
    uint64_t seen;
    do {
        seen = th_word64_look(xword);
        if (has_unit(seen) || (seen & CLOSED) != 0) {
            return false; /* the list is empty */
        }
    } while (!th_word64_lock(xword, seen));
    bool listed = th_waitlist_leave(list_of(sem), me);
    /* a post that took it off has also taken the units set aside */
    serve_and_unlock("thrum_sem_wait_n", sem, listed ? (uint64_t)me->since_ns : 0);
    return listed;
}

/*
 * Takes as many units as the waiter lacks. A waiter that is queued has all units that are there set
 * aside for it, and lacks at least one more.
 */
static TH_ALWAYS_INLINE int stand(void *object, th_waiter *me, bool late) {
    thrum_sem *sem = object;
    uint64_t *xword = &sem->reserved_word;
    const unsigned n = (unsigned)me->value + 1;
    for (;;) {
        uint64_t seen = th_word64_look(xword);
        if (has_units(seen, n)) {
            if (take(xword, seen, n)) {
                return 1;
            }
        } else if ((seen & CLOSED) != 0) {
            return -EPIPE;
        } else if (late) {
            return -ETIMEDOUT;
        } else if (n == 1 ? th_word64_lock(xword, seen) : lock_and_take_all(xword, seen)) {
            const int32_t there = n == 1 ? 0 : (int32_t)(seen >> TH_WORD_SHIFT);
            me->since_ns = there;
            me->value -= there;
            th_waitlist_push(list_of(sem), me);
            return 0;
        }
    }
}

/* A waiter that is queued keeps the list lock. */
static const th_wait_kind waits = {.on = TH_ON_SEM,
                                   .stand = stand,
                                   .leave = leave,
                                   .locked = sizeof(uint64_t),
                                   .unlocked = TH_WORD_WAITERS};
_Static_assert(offsetof(thrum_sem, reserved_word) == 0, "as a th_wait_kind says");

static TH_ALWAYS_INLINE int wait(thrum_sem *sem, unsigned n, thrum_time deadline) {
    const bool timed = deadline != THRUM_FOREVER;
    th_parked_op me; /* of which only the waiter and the status are used */
    me.status = 0;
    th_waiter_init_for(&me.waiter, TH_ON_SEM, sem, timed, leave);
    me.waiter.value = (int32_t)(n - 1);
    int code = th_wait_with(&waits, sem, &me.waiter, timed, deadline);
    return code ? code : me.status;
}

static TH_NOINLINE int wait_slow(thrum_sem *sem) {
    return wait(sem, 1, THRUM_FOREVER);
}

int thrum_sem_wait_n_until(thrum_sem *sem, unsigned n, thrum_time deadline) {
    return n > THRUM_SEM_MAX ? -EINVAL : n ? wait(sem, n, deadline) : 0;
}

int thrum_sem_wait_n(thrum_sem *sem, unsigned n) {
    return thrum_sem_wait_n_until(sem, n, THRUM_FOREVER);
}

int thrum_sem_wait_until(thrum_sem *sem, thrum_time deadline) {
    return thrum_sem_wait_n_until(sem, 1, deadline);
}

int thrum_sem_on_n_until(thrum_sem *sem, unsigned n, thrum_await *await, thrum_task *task,
                         thrum_time deadline) {
    int code = n > THRUM_SEM_MAX ? -EINVAL : th_await_init(await, task, &waits, sem);
    if (code || n == 0) {
        return code ? code : 1;
    }
    th_await_of(await)->waiter.value = (int32_t)(n - 1);
    return th_await_standing(await, deadline);
}

int thrum_sem_on_until(thrum_sem *sem, thrum_await *await, thrum_task *task, thrum_time deadline) {
    return thrum_sem_on_n_until(sem, 1, await, task, deadline);
}

/* Hands the units to the waiters, or raises the value. */
static TH_ALWAYS_INLINE void post(const char *call, thrum_sem *sem, unsigned n) {
    uint64_t *xword = &sem->reserved_word;
    for (;;) {
        uint64_t seen = th_word64_look(xword);
        if ((seen & TH_WORD_WAITERS) != 0) {
            if (th_word64_lock(xword, seen)) {
                th_waiter *first = th_waitlist_first(list_of(sem));
                if (th_unlikely(n > 1 || first->timed || first->value)) {
                    serve_and_unlock(call, sem, n);
                    return;
                }
                first = th_waitlist_pop(list_of(sem)); /* the common case, half of a switch */
                th_word64_publish(xword, th_waitlist_is_empty(list_of(sem)) ? 0 : TH_WORD_WAITERS);
                th_waiter_wake(first);
                return;
            }
        } else if ((seen & CLOSED) != 0) {
            return;
        } else if (seen + ONE * n > ONE * THRUM_SEM_MAX) {
            th_misuse(call, "value beyond THRUM_SEM_MAX", sem);
        } else if (give(xword, seen, n)) {
            return;
        }
    }
}

static TH_NOINLINE void post_slow(thrum_sem *sem) {
    post("thrum_sem_post", sem, 1);
}

void thrum_sem_post_n(thrum_sem *sem, unsigned n) {
    if (n > THRUM_SEM_MAX) {
        th_misuse("thrum_sem_post_n", "value beyond THRUM_SEM_MAX", sem);
    }
    if (n) {
        post("thrum_sem_post_n", sem, n);
    }
}

int thrum_sem_close(thrum_sem *sem) {
    uint64_t *xword = &sem->reserved_word;
    uint64_t seen;
    do {
        seen = th_word64_look(xword);
        if ((seen & CLOSED) != 0) {
            return -EPIPE;
        }
    } while (!lock_and_take_all(xword, seen));
    th_waiter *chain = th_waitlist_detach(list_of(sem));
    th_word64_publish(xword, CLOSED);
    th_chan_turn_away(chain);
    return 0;
}

void thrum_sem_init(thrum_sem *sem, unsigned value) {
    if (value > THRUM_SEM_MAX) {
        th_misuse("thrum_sem_init", "value beyond THRUM_SEM_MAX", sem);
    }
    *sem = (thrum_sem)THRUM_SEM_INIT(value);
}

int thrum_sem_destroy(thrum_sem *sem) {
    /* pairs: th_word64_publish, give; the caller sees all that the last calls wrote */
    if ((th_load_acquire(&sem->reserved_word) & FLAGS) != 0) {
        return -EBUSY;
    }
    *sem = (thrum_sem)THRUM_SEM_INIT(0);
    return 0;
}
