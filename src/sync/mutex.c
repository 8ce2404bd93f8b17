/*
 * mutex.c: the mutex.
 *
 *     word    bit 0  LOCKED   the list lock (wordlock.h)
 *             bit 1  WAITERS  the list is not empty
 *             bit 2  HELD     the mutex has an owner
 *             bit 3  WOKEN    the first waiter has been woken and is coming
 *             bit 4  HANDOFF  the first waiter owns the mutex already
 *
 * Invariants, for all but the holder of LOCKED: WOKEN implies WAITERS; HANDOFF implies WOKEN and
 * HELD. A waiter stays on the list until it has the mutex, even after its wake, so it keeps its
 * place when a running caller is faster. Only the first is ever woken, and one at a time: waking
 * another for every unlock would cost a switch each, to find the mutex taken again. Once the first
 * has waited HANDOFF_NS, the unlock makes it the owner, and no other caller can pass it any longer.
 *
 * While LOCKED is set only its holder changes the word. sync/LOCKS.md has the argument.
 */
#include "thrum/mutex.h"

#include <errno.h>

#include "base/check.h"
#include "core/state/thread.h"
#include "platform/platform.h"
#include "sync/owner.h"
#include "sync/waitlist.h"
#include "sync/wordlock.h"

#define HELD 4u
#define WOKEN 8u
#define HANDOFF 16u

/* How long running callers may take the mutex before the first waiter gets it. */
#define HANDOFF_NS 1000000

/*
 * An unlock that finds the first waiter woken reads the clock only every so often (a power of two):
 * a clock costs more than the unlock.
 */
#define PASSES_PER_LOOK 32u

/*
 * How often a caller loads the word again before it queues, unless there are waiters already; a
 * switch costs less than a long spin.
 */
#define SPINS_MAX 4u

static inline th_waitlist list_of(thrum_mutex *mutex) {
    return (th_waitlist){&mutex->reserved_first, &mutex->reserved_last};
}

/* Takes a free mutex, past the queue if there is one. False: the word changed. */
static inline bool take(thrum_mutex *mutex, uint32_t seen, uint64_t self) {
    /* pairs: thrum_mutex_unlock, pass_on; the previous owners' writes are visible */
    if (th_cas_acquire(&mutex->reserved_word, &seen, seen | HELD)) {
        th_owner_set(&mutex->reserved_owner, self);
        return true;
    }
    return false;
}

static TH_NOINLINE int lock_slow(thrum_mutex *mutex, uint64_t self, thrum_time deadline);
static TH_NOINLINE void unlock_slow(thrum_mutex *mutex);

static inline int lock_until(thrum_mutex *mutex, thrum_time deadline) {
    uint64_t self = th_locker_id(mutex);
    /* relaxed: the compare-exchange decides */
    uint32_t seen = th_load_relaxed(&mutex->reserved_word);
    if (th_likely((seen & (HELD | TH_WORD_LOCKED)) == 0) && th_likely(take(mutex, seen, self))) {
        return 0;
    }
    return lock_slow(mutex, self, deadline);
}

void thrum_mutex_lock(thrum_mutex *mutex) {
    (void)lock_until(mutex, THRUM_FOREVER);
}

int thrum_mutex_lock_until(thrum_mutex *mutex, thrum_time deadline) {
    return lock_until(mutex, deadline);
}

int thrum_mutex_try_lock(thrum_mutex *mutex) {
    uint64_t self = th_locker_id(mutex);
    unsigned spins = 0;
    for (;;) {
        /* relaxed: the compare-exchange decides; a stale HELD was true a moment ago */
        uint32_t seen = th_load_relaxed(&mutex->reserved_word);
        if ((seen & HELD) != 0) {
            return th_locker_fails(mutex, -EBUSY);
        }
        if ((seen & TH_WORD_LOCKED) != 0) {
            th_backoff(&spins);
        } else if (take(mutex, seen, self)) {
            return 0;
        }
    }
}

void thrum_mutex_unlock(thrum_mutex *mutex) {
    if (th_unlikely(!th_owner_is(&mutex->reserved_owner, th_unlocker_id(mutex)))) {
        th_misuse("thrum_mutex_unlock", "not held by the caller", mutex);
    }
    th_owner_set(&mutex->reserved_owner, 0);
    uint32_t seen = HELD;
    /* relaxed: the compare-exchange decides */
    if (th_likely(th_load_relaxed(&mutex->reserved_word) == HELD) &&
        /* pairs: take, th_word32_lock; publishes the writes under the mutex */
        th_likely(th_cas_release(&mutex->reserved_word, &seen, 0))) {
        return;
    }
    unlock_slow(mutex);
}

/* ---- waiting ---- */

/*
 * Takes the mutex or the list lock. False: the mutex was free, and is the caller's now. True: the
 * list lock is the caller's, the mutex is held by another, and *word is the word without LOCKED.
 */
static bool lock_list_unless_free(thrum_mutex *mutex, uint64_t self, uint32_t *word) {
    unsigned looks = 0;
    for (;;) {
        uint32_t seen = th_word32_look(&mutex->reserved_word);
        if ((seen & HELD) == 0) {
            if (take(mutex, seen, self)) {
                return false;
            }
        } else if (looks < SPINS_MAX && (seen & TH_WORD_WAITERS) == 0) {
            looks++;
            th_os_relax();
        } else if (th_word32_lock(&mutex->reserved_word, seen)) {
            *word = seen;
            return true;
        }
    }
}

/* With the list lock, which it gives up; `word` is the word without LOCKED. */
static void enqueue(thrum_mutex *mutex, th_waiter *me, uint32_t word) {
    th_waitlist_push(list_of(mutex), me);
    th_word32_publish(&mutex->reserved_word, word | TH_WORD_WAITERS);
}

/* For a waiter of no stack. */
static int stand(void *object, th_waiter *me, bool late) {
    thrum_mutex *mutex = object;
    uint32_t word;
    if (!lock_list_unless_free(mutex, th_locker_id(mutex), &word)) {
        return 1;
    }
    (void)th_locker_fails(mutex, 0); /* the task's run counts it, in `own` */
    if (late) {
        th_word32_publish(&mutex->reserved_word, word);
        return -ETIMEDOUT;
    }
    enqueue(mutex, me, word);
    return 0;
}

/*
 * The first waiter, which was woken, comes for the mutex. 1: it has the mutex, and is off the list.
 * 0: a running caller was faster; it is the first again, not woken, and must wait. -ETIMEDOUT: a
 * running caller was faster, and the deadline has passed; it is off the list.
 */
static int arrive(thrum_mutex *mutex, th_owner_waiter *me, thrum_time deadline) {
    uint32_t *xword = &mutex->reserved_word;
    bool timed = me->waiter.timed;
    int64_t since_ns = me->waiter.since_ns;
    uint32_t seen = th_word32_lock_list(xword);
    th_waitlist_remove(list_of(mutex), &me->waiter);
    if ((seen & HELD) == 0 || (seen & HANDOFF) != 0) {
        th_owner_set(&mutex->reserved_owner, me->self);
        th_word32_publish(xword, th_word32_with(HELD, list_of(mutex)));
        return 1;
    }
    if (timed && deadline <= th_os_now()) {
        th_word32_publish(xword, th_word32_with(seen & ~WOKEN, list_of(mutex)));
        return -ETIMEDOUT;
    }
    th_waiter_init(&me->waiter, TH_ON_MUTEX, mutex);
    me->waiter.shielded = true;
    me->waiter.timed = timed;
    me->waiter.since_ns = since_ns;
    th_waitlist_push_front(list_of(mutex), &me->waiter);
    th_word32_publish(xword, seen & ~WOKEN);
    return 0;
}

/* Takes a waiter off the list whose time is out and that was not woken. */
static bool leave(void *object, th_waiter *me) {
    thrum_mutex *mutex = object;
    return th_word32_leave(&mutex->reserved_word, list_of(mutex), me, 0);
}

/* The mutex was handed over to a waiter of no stack, to nobody yet. */
static void own(void *object, th_waiter *me) {
    thrum_mutex *mutex = object;
    (void)th_word32_lock_list(&mutex->reserved_word);
    th_waitlist_remove(list_of(mutex), me);
    th_owner_set(&mutex->reserved_owner, th_locker_id(mutex));
    th_word32_publish(&mutex->reserved_word, th_word32_with(HELD, list_of(mutex)));
}

static const th_wait_kind waits = {.on = TH_ON_MUTEX, .stand = stand, .leave = leave, .got = own};

static TH_NOINLINE int lock_slow(thrum_mutex *mutex, uint64_t self, thrum_time deadline) {
    if (th_owner_is(&mutex->reserved_owner, self)) {
        th_misuse(deadline == THRUM_FOREVER ? "thrum_mutex_lock" : "thrum_mutex_lock_until",
                  "held by the caller already", mutex);
    }
    uint32_t word;
    th_owner_waiter me;
    if (!lock_list_unless_free(mutex, self, &word)) {
        return 0;
    }
    th_waiter_init(&me.waiter, TH_ON_MUTEX, mutex);
    me.self = self;
    me.waiter.shielded = true; /* locking is not a cancellation point */
    me.waiter.timed = deadline != THRUM_FOREVER;
    me.waiter.since_ns = th_os_now();
    enqueue(mutex, &me.waiter, word);
    int code;
    do {
        code = th_wait_queued(&waits, mutex, &me.waiter, me.waiter.timed, deadline);
    } while (!code && (code = arrive(mutex, &me, deadline)) == 0);
    return code > 0 ? 0 : th_locker_fails(mutex, code);
}

/*
 * It is treated as having waited for longer than HANDOFF_NS, regardless of the clock: so the unlock
 * hands the mutex over, and no running caller passes a task, which could not wait again.
 */
int thrum_mutex_on_until(thrum_mutex *mutex, thrum_await *await, thrum_task *task,
                         thrum_time deadline) {
    int code = th_await_init(await, task, &waits, mutex);
    if (code) {
        return code;
    }
    th_await_of(await)->waiter.since_ns = -HANDOFF_NS;
    return th_await_standing(await, deadline);
}

/* ---- unlocking with waiters ---- */

/*
 * With the list lock, which it gives up; `seen` is the word without LOCKED; the list is not empty.
 * Frees the mutex, or hands it to the first waiter, and wakes that unless it has been woken.
 */
static void pass_on(thrum_mutex *mutex, uint32_t seen, int64_t now) {
    th_waiter *first = th_waitlist_first(list_of(mutex));
    bool on_its_way = (seen & WOKEN) != 0;
    while (!on_its_way && first && first->timed && !th_waiter_claim(first, TH_WAIT_WOKEN)) {
        th_waitlist_leave(list_of(mutex), first); /* this one's time is out */
        first = th_waitlist_first(list_of(mutex));
    }
    if (th_unlikely(!first)) {
        th_word32_publish(&mutex->reserved_word, seen & ~(HELD | (uint32_t)TH_WORD_WAITERS));
        return;
    }
    uint32_t word = seen | WOKEN;
    if (now - first->since_ns >= HANDOFF_NS) {
        th_owner_set(&mutex->reserved_owner, th_owner_of(first));
        word |= HANDOFF;
    } else {
        word &= ~HELD;
    }
    th_word32_publish(&mutex->reserved_word, word);
    if (!on_its_way) {
        th_waiter_let_go(first); /* it waits for this wake, so it is still there */
    }
}

static TH_NOINLINE void unlock_slow(thrum_mutex *mutex) {
    uint32_t *xword = &mutex->reserved_word;
    /* reserved_pad counts unlocks; the mutex itself protects it */
    bool look = (++mutex->reserved_pad & (PASSES_PER_LOOK - 1)) == 0;
    for (;;) {
        uint32_t seen = th_word32_look(xword);
        if ((seen & TH_WORD_WAITERS) == 0 || ((seen & WOKEN) != 0 && !look)) {
            /* pairs: take, th_word32_lock; publishes the writes under the mutex */
            if (th_cas_release(xword, &seen, seen & ~HELD)) {
                return;
            }
        } else {
            int64_t now = th_os_now();
            if (th_word32_lock(xword, seen)) {
                pass_on(mutex, seen, now);
                return;
            }
        }
    }
}

/* ---- locking again ---- */

/* The depth is the owner's: how often it has locked the mutex beyond the first time. */
static bool lock_again(thrum_recursive *mutex) {
    bool mine = th_owner_is(&mutex->inner.reserved_owner, th_self_id());
    if (mine) {
        mutex->reserved_depth++;
    }
    return mine;
}

void thrum_recursive_lock(thrum_recursive *mutex) {
    if (!lock_again(mutex)) {
        thrum_mutex_lock(&mutex->inner);
    }
}

int thrum_recursive_lock_until(thrum_recursive *mutex, thrum_time deadline) {
    return lock_again(mutex) ? 0 : thrum_mutex_lock_until(&mutex->inner, deadline);
}

int thrum_recursive_try_lock(thrum_recursive *mutex) {
    return lock_again(mutex) ? 0 : thrum_mutex_try_lock(&mutex->inner);
}

void thrum_recursive_unlock(thrum_recursive *mutex) {
    if (th_unlikely(!th_owner_is(&mutex->inner.reserved_owner, th_self_id()))) {
        th_misuse("thrum_recursive_unlock", "not held by the caller", mutex);
    }
    if (mutex->reserved_depth) {
        mutex->reserved_depth--;
    } else {
        thrum_mutex_unlock(&mutex->inner);
    }
}

/* ---- the beginning and the end ---- */

void thrum_mutex_init(thrum_mutex *mutex) {
    *mutex = (thrum_mutex)THRUM_MUTEX_INIT;
}

int thrum_mutex_destroy(thrum_mutex *mutex) {
    /* pairs: thrum_mutex_unlock, unlock_slow; the caller sees all that the last owner wrote */
    if (th_load_acquire(&mutex->reserved_word) != 0) {
        return -EBUSY;
    }
    *mutex = (thrum_mutex)THRUM_MUTEX_INIT;
    return 0;
}
