/*
 * waitgroup.c: the waitgroup.
 *
 *     word    bit 0        LOCKED   the list lock (wordlock.h)
 *             bit 1        WAITERS  the list is not empty
 *             bits 2 to 32          the count
 *
 * A done is one fetch-and-subtract, so it never retries under contention. The price is that it
 * does not look at LOCKED; therefore these rules hold (sync/COUNTERS.md has the argument):
 *
 *   1. The list is changed by the holder of LOCKED, or, while the count is 0 and WAITERS is set,
 *      by the thread whose done made the count 0: that word is a lock too.
 *   2. LOCKED is taken, and the count raised, only from a word that is neither of these locks.
 *   3. A done may lower the count while another thread holds LOCKED, which therefore publishes
 *      with a compare-exchange; when the count fell to 0 meanwhile, the holder does the waking, and
 *      the done that made it 0 was its thread's last access to the waitgroup.
 */
#include "thrum/waitgroup.h"

#include <errno.h>

#include "base/check.h"
#include "core/state/thread.h"
#include "core/task/await.h"
#include "sync/waitlist.h"
#include "sync/wordlock.h"

#define ONE ((uint64_t)1 << TH_WORD_SHIFT)
#define FLAGS ((uint64_t)(TH_WORD_LOCKED | TH_WORD_WAITERS))

static inline th_waitlist list_of(thrum_waitgroup *wg) {
    return (th_waitlist){&wg->reserved_first, &wg->reserved_last};
}

static inline uint64_t count_of(uint64_t word) {
    return word >> TH_WORD_SHIFT;
}

/* Whether the list is locked, by LOCKED or by a count of 0 with WAITERS: a waking under way. */
static inline bool is_locked(uint64_t word) {
    return (word & TH_WORD_LOCKED) != 0 || (word < ONE && word != 0);
}

/* Wakes all waiters; the caller holds the list, and the count is 0. */
static TH_NOINLINE void wake_all(thrum_waitgroup *wg) {
    th_waiter *chain = th_waitlist_detach(list_of(wg));
    th_word64_publish(&wg->reserved_word, 0);
    th_waitlist_wake_all(chain);
}

static void subtract(thrum_waitgroup *wg, uint64_t n) {
    /* pairs: thrum_waitgroup_wait, th_word64_lock, subtract; publishes the caller's writes, and the
     * last one takes over those of all others, to pass them on with the wakes */
    uint64_t before = th_sub_acq_rel(&wg->reserved_word, n << TH_WORD_SHIFT);
    if (th_unlikely(count_of(before) < n)) {
        th_misuse("thrum_waitgroup_add", "count below zero", wg);
    }
    if (count_of(before) == n && (before & FLAGS) == TH_WORD_WAITERS) {
        wake_all(wg);
    }
}

static void raise(thrum_waitgroup *wg, uint64_t n) {
    uint64_t *xword = &wg->reserved_word;
    unsigned spins = 0;
    for (;;) {
        /* relaxed: the compare-exchange decides */
        uint64_t seen = th_load_relaxed(xword);
        if (th_unlikely(is_locked(seen))) {
            th_backoff(&spins);
        } else if (th_unlikely(count_of(seen) + n > THRUM_WAITGROUP_MAX)) {
            th_misuse("thrum_waitgroup_add", "count beyond THRUM_WAITGROUP_MAX", wg);
        } else if (th_cas_relaxed(xword, &seen, seen + (n << TH_WORD_SHIFT))) {
            /*
             * relaxed: raising the count publishes nothing; a task sees the raised count because of
             * the spawn. A read-modify-write continues the release sequences of dones
             */
            return;
        }
    }
}

void thrum_waitgroup_add(thrum_waitgroup *wg, int n) {
    if (n < 0) {
        subtract(wg, (uint64_t)(-(int64_t)n));
    } else if (n > 0) {
        raise(wg, (uint64_t)n);
    }
}

void thrum_waitgroup_done(thrum_waitgroup *wg) {
    subtract(wg, 1);
}

/*
 * With the list lock, which it gives up. False: the count fell to 0 meanwhile; the list is still
 * the caller's, which wakes all, and passes on the writes of the dones.
 */
static bool unlock(thrum_waitgroup *wg) {
    uint64_t *xword = &wg->reserved_word;
    uint64_t waiters = th_waitlist_is_empty(list_of(wg)) ? 0 : TH_WORD_WAITERS;
    /* relaxed: the compare-exchange decides */
    uint64_t seen = th_load_relaxed(xword);
    while (count_of(seen) > 0) {
        /* pairs: subtract, th_word64_lock; publishes the list. Lock-free: it fails when a done
         * succeeded, at most `count` times */
        if (th_cas_release(xword, &seen, (seen & ~FLAGS) | waiters)) {
            return true;
        }
    }
    /* pairs: subtract; no thread writes any longer, so this reads the last done's value */
    (void)th_load_acquire(xword);
    return false;
}

/* Takes a waiter that gives up off the list. False: it was off the list already. */
static bool leave(void *object, th_waiter *me) {
    thrum_waitgroup *wg = object;
    uint64_t *xword = &wg->reserved_word;
    unsigned spins = 0;
    for (;;) {
        /* pairs: th_word64_publish; a thread that took the waiter off no longer touches it */
        uint64_t seen = th_load_acquire(xword);
        if (seen == 0) {
            return false; /* the list is empty */
        }
        if (is_locked(seen)) {
            th_backoff(&spins);
        } else if (th_word64_lock(xword, seen)) {
            break;
        }
    }
    bool listed = th_waitlist_leave(list_of(wg), me);
    if (!unlock(wg)) {
        wake_all(wg);
    }
    return listed;
}

/* If the count is 0 it waits for the whole word to be. */
static TH_ALWAYS_INLINE int stand(void *object, th_waiter *me, bool late) {
    thrum_waitgroup *wg = object;
    uint64_t *xword = &wg->reserved_word;
    unsigned spins = 0;
    for (;;) {
        /* pairs: subtract, th_word64_publish; writes before every done are visible */
        uint64_t seen = th_load_acquire(xword);
        if (seen == 0) {
            return 1;
        }
        if (late && count_of(seen) > 0) {
            return -ETIMEDOUT;
        }
        if (is_locked(seen)) {
            th_backoff(&spins);
        } else if (th_word64_lock(xword, seen)) {
            th_waitlist_push(list_of(wg), me);
            if (unlock(wg)) {
                return 0;
            }
            th_waitlist_remove(list_of(wg), me);
            wake_all(wg);
            return 1;
        }
    }
}

static const th_wait_kind waits = {.on = TH_ON_WAITGROUP, .stand = stand, .leave = leave};

int thrum_waitgroup_wait_until(thrum_waitgroup *wg, thrum_time deadline) {
    return th_wait_on(&waits, wg, deadline);
}

static TH_NOINLINE int wait_slow(thrum_waitgroup *wg) {
    return th_wait_on(&waits, wg, THRUM_FOREVER);
}

int thrum_waitgroup_wait(thrum_waitgroup *wg) {
    /* pairs: subtract, th_word64_publish; writes before every done are visible */
    if (th_load_acquire(&wg->reserved_word) == 0) {
        return 0;
    }
    return wait_slow(wg);
}

int thrum_waitgroup_on_until(thrum_waitgroup *wg, thrum_await *await, thrum_task *task,
                             thrum_time deadline) {
    return th_await_on(&waits, wg, await, task, deadline);
}

void thrum_waitgroup_init(thrum_waitgroup *wg, unsigned n) {
    if (n > THRUM_WAITGROUP_MAX) {
        th_misuse("thrum_waitgroup_init", "count beyond THRUM_WAITGROUP_MAX", wg);
    }
    *wg = (thrum_waitgroup)THRUM_WAITGROUP_INIT(n);
}

int thrum_waitgroup_destroy(thrum_waitgroup *wg) {
    /* pairs: subtract, th_word64_publish; the caller sees all that the last calls wrote */
    if ((th_load_acquire(&wg->reserved_word) & FLAGS) != 0) {
        return -EBUSY;
    }
    *wg = (thrum_waitgroup)THRUM_WAITGROUP_INIT(0);
    return 0;
}
