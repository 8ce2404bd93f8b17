/*
 * rwlock.c: the readers-writer lock.
 *
 *     word    bit 0      LOCKED   the list lock (wordlock.h), of both lists
 *             bit 1      WAITERS  one of the lists is not empty
 *             bit 2      WRITER   a writer has the lock
 *             bits 3 to 39        the number of readers that have the lock
 *             bits 40...          ROUND, when a round of readers ends for newcomers, or 0
 *     owner   the th_self_id of the writer that has the lock, otherwise 0
 *
 * Invariants, for all but the holder of LOCKED: WRITER implies no readers; WAITERS implies WRITER
 * or readers; ROUND implies WAITERS and readers; a reader waits only while a writer has the lock or
 * waits. The last unlock hands the lock over: a writer to all readers that wait, the last reader to
 * the first writer, either to the other kind when there is none. Readers that have been let in past
 * a writer are a round, which others may join for ROUND_NS. Otherwise no running caller takes the
 * lock past the waiters, and the two kinds take turns. While LOCKED is set only its holder changes
 * the word. sync/LOCKS.md has the argument.
 */
#include "thrum/rwlock.h"

#include <errno.h>

#include "base/check.h"
#include "core/state/thread.h"
#include "platform/platform.h"
#include "sync/owner.h"
#include "sync/waitlist.h"
#include "sync/wordlock.h"

#define WRITER ((uint64_t)4)
#define READER ((uint64_t)8)
#define LOCKED ((uint64_t)TH_WORD_LOCKED)
#define WAITERS ((uint64_t)TH_WORD_WAITERS)

/*
 * How long newcomers may join a round of readers; when that ends, by the clock as the word has it
 * (19 bits); and a count of the readers that have joined. Not all of them read the clock, which
 * would double the cost: the first two do, the 4th, 8th and 16th, and each 16th from then.
 */
#define ROUND_NS 100000
#define ROUND (~(uint64_t)0 << 40)
#define JOIN ((uint64_t)1 << 40)
#define JOINS (31 * JOIN)
#define JOINS_BACK (15 * JOIN) /* from 31 to 16 */
#define ENDS (ROUND & ~JOINS)
#define ENDS_SHIFT 45
#define UNIT_SHIFT 14 /* 16 µs */

/* How often a caller loads the word again before it queues, unless there are waiters already. */
#define SPINS_MAX 4u

typedef enum { READS, WRITES } kind;

static inline th_waitlist list_of(thrum_rwlock *lock, kind which) {
    void **ends = which == READS ? lock->reserved_readers : lock->reserved_writers;
    return (th_waitlist){&ends[0], &ends[1]};
}

/* Whether the lock can be taken at once, apart from LOCKED. */
static inline bool is_free_for(kind which, uint64_t seen) {
    return which == READS ? (seen & (WAITERS | WRITER)) == 0 : (seen & ~LOCKED) == 0;
}

/* A time as the word has it. */
static inline uint64_t ends_at(int64_t time) {
    return (uint64_t)time >> UNIT_SHIFT << ENDS_SHIFT;
}

/* A round of readers that begins now. */
static uint64_t round_from_now(void) {
    uint64_t ends = ends_at(th_os_now() + ROUND_NS);
    return ends ? ends : (uint64_t)1 << ENDS_SHIFT;
}

/*
 * The word with one reader more in the round that is on; 0: there is none, or it has ended. When
 * the 19 bits have come round, each 8.6 s, a round that is not over can be joined for a moment once
 * more, also past readers that wait: that does no harm.
 */
static inline uint64_t joined(uint64_t seen) {
    if ((seen & ROUND) == 0) {
        return 0;
    }
    uint64_t joins = (seen & JOINS) / JOIN;
    if ((joins & (joins + 1)) != 0) {
        return seen + READER + JOIN;
    }
    uint64_t left = ((seen & ENDS) - ends_at(th_os_now())) >> ENDS_SHIFT;
    if (left - 1 > ROUND_NS >> UNIT_SHIFT) { /* left 0: it has ended */
        return 0;
    }
    return (joins == 31 ? seen - JOINS_BACK : seen + JOIN) + READER;
}

/* Takes the lock for reading, with the word that is to be next. False: the word changed. */
static inline bool take_read(thrum_rwlock *lock, uint64_t seen, uint64_t next) {
    /* pairs: drop, th_word64_publish; earlier writers' writes. ABA: equal words are equal states */
    return th_cas_acquire(&lock->reserved_word, &seen, next);
}

static inline bool take_write(thrum_rwlock *lock, uint64_t self) {
    uint64_t seen = 0;
    /* pairs: drop, th_word64_publish; earlier owners' writes. ABA: as above */
    if (th_cas_acquire(&lock->reserved_word, &seen, WRITER)) {
        th_owner_set(&lock->reserved_owner, self);
        return true;
    }
    return false;
}

/* Gives a hold up when there are no waiters to wake. False: the word changed. */
static inline bool drop(thrum_rwlock *lock, uint64_t seen, uint64_t hold) {
    /* pairs: take_read, take_write, th_word64_lock; publishes the writes under the lock */
    return th_cas_release(&lock->reserved_word, &seen, seen - hold);
}

static TH_NOINLINE int lock_slow(thrum_rwlock *lock, kind which, thrum_time deadline);

void thrum_rwlock_rdlock(thrum_rwlock *lock) {
    /* relaxed: the compare-exchange decides */
    uint64_t seen = th_load_relaxed(&lock->reserved_word);
    if (th_likely((seen & (LOCKED | WAITERS | WRITER)) == 0) &&
        th_likely(take_read(lock, seen, seen + READER))) {
        return;
    }
    (void)lock_slow(lock, READS, THRUM_FOREVER);
}

int thrum_rwlock_rdlock_until(thrum_rwlock *lock, thrum_time deadline) {
    return lock_slow(lock, READS, deadline);
}

void thrum_rwlock_wrlock(thrum_rwlock *lock) {
    /* relaxed: the compare-exchange decides */
    if (th_likely(th_load_relaxed(&lock->reserved_word) == 0) &&
        th_likely(take_write(lock, th_self_id()))) {
        return;
    }
    (void)lock_slow(lock, WRITES, THRUM_FOREVER);
}

int thrum_rwlock_wrlock_until(thrum_rwlock *lock, thrum_time deadline) {
    return lock_slow(lock, WRITES, deadline);
}

static int try_lock(thrum_rwlock *lock, kind which) {
    uint64_t self = th_self_id();
    unsigned spins = 0;
    for (;;) {
        /* relaxed: the compare-exchange decides; a stale holder had the lock a moment ago */
        uint64_t seen = th_load_relaxed(&lock->reserved_word);
        if (!is_free_for(which, seen)) {
            return -EBUSY;
        }
        if ((seen & LOCKED) != 0) {
            th_backoff(&spins);
        } else if (which == READS ? take_read(lock, seen, seen + READER) : take_write(lock, self)) {
            return 0;
        }
    }
}

int thrum_rwlock_try_rdlock(thrum_rwlock *lock) {
    return try_lock(lock, READS);
}

int thrum_rwlock_try_wrlock(thrum_rwlock *lock) {
    return try_lock(lock, WRITES);
}

/* ---- handing over ---- */

/*
 * Empties the readers' list. Returns the readers that can be woken, and adds them to *word's
 * readers.
 */
static th_waiter *admit_readers(thrum_rwlock *lock, uint64_t *word) {
    th_waiter *chain = th_waitlist_detach(list_of(lock, READS));
    for (th_waiter *w = chain; w; w = w->next) {
        *word += READER;
    }
    return chain;
}

/* Gives the list lock up, with WAITERS set if a list is not empty; if they are, no round is on. */
static void publish(thrum_rwlock *lock, uint64_t word) {
    bool nobody =
        th_waitlist_is_empty(list_of(lock, READS)) && th_waitlist_is_empty(list_of(lock, WRITES));
    th_word64_publish(&lock->reserved_word, nobody ? word & ~ROUND : word | WAITERS);
}

/*
 * With the list lock, which it gives up; the lock no longer has a holder. `round` is the word's
 * part for a round of readers that begins now.
 */
static void hand_over(thrum_rwlock *lock, kind first_choice, uint64_t round) {
    uint64_t word = 0;
    th_waiter *chain = first_choice == READS ? admit_readers(lock, &word) : NULL;
    if (!chain) {
        chain = th_waitlist_pop(list_of(lock, WRITES));
        if (chain) {
            chain->next = NULL;
            word = WRITER;
            th_owner_set(&lock->reserved_owner, th_owner_of(chain));
        }
    }
    if (!chain) {
        chain = admit_readers(lock, &word);
    } else if (word >= READER && !th_waitlist_is_empty(list_of(lock, WRITES))) {
        word |= round;
    }
    publish(lock, word);
    th_waitlist_wake_all(chain);
}

static void give_up(thrum_rwlock *lock) {
    uint64_t round = 0;
    for (;;) {
        uint64_t seen = th_word64_look(&lock->reserved_word);
        bool writes = (seen & WRITER) != 0;
        if ((seen & WAITERS) == 0 || (!writes && (seen & ~ROUND) >= 2 * READER)) {
            if (drop(lock, seen, writes ? WRITER : READER)) {
                return;
            }
        } else if (writes && !round) {
            round = round_from_now(); /* a system call, here and there: not with the list lock */
        } else if (th_word64_lock(&lock->reserved_word, seen)) {
            hand_over(lock, writes ? READS : WRITES, round);
            return;
        }
    }
}

/*
 * Of a writer, or where callers wait or the word has just changed, or of a caller that has nothing
 * to give up.
 */
static TH_NOINLINE void unlock_slow(thrum_rwlock *lock) {
    /* relaxed: bits about the caller's own hold were written by it, or acquired with the hold */
    const uint64_t seen = th_load_relaxed(&lock->reserved_word);
    if ((seen & WRITER) != 0) {
        if (th_unlikely(!th_owner_is(&lock->reserved_owner, th_self_id()))) {
            th_misuse("thrum_rwlock_unlock", "another writes", lock);
        }
        th_owner_set(&lock->reserved_owner, 0);
        if (th_likely((seen & (LOCKED | WAITERS)) == 0) && th_likely(drop(lock, seen, WRITER))) {
            return;
        }
    } else if (th_unlikely(seen < READER)) {
        th_misuse("thrum_rwlock_unlock", "not held", lock);
    }
    give_up(lock);
}

/* A reader whom nobody waits for needs no stack frame. */
void thrum_rwlock_unlock(thrum_rwlock *lock) {
    /* relaxed: as in unlock_slow */
    const uint64_t seen = th_load_relaxed(&lock->reserved_word);
    if (th_likely(seen >= READER && (seen & (WRITER | LOCKED | WAITERS)) == 0) &&
        th_likely(drop(lock, seen, READER))) {
        return;
    }
    unlock_slow(lock);
}

/* ---- a writer that goes on as a reader ---- */

/*
 * With the list lock, which it gives up, and as the writer. It lets the readers in as hand_over
 * does; the writers wait for them all.
 */
static void stay(thrum_rwlock *lock, uint64_t round) {
    uint64_t word = READER;
    th_waiter *chain = admit_readers(lock, &word);
    publish(lock, chain ? word | round : word);
    th_waitlist_wake_all(chain);
}

void thrum_rwlock_downgrade(thrum_rwlock *lock) {
    uint64_t round = 0;
    if (th_unlikely(!th_owner_is(&lock->reserved_owner, th_self_id()))) {
        th_misuse("thrum_rwlock_downgrade", "not held for writing by the caller", lock);
    }
    th_owner_set(&lock->reserved_owner, 0);
    for (;;) {
        uint64_t seen = th_word64_look(&lock->reserved_word);
        if ((seen & WAITERS) == 0) {
            if (drop(lock, seen, WRITER - READER)) {
                return;
            }
        } else if (!round) {
            round = round_from_now(); /* as in give_up */
        } else if (th_word64_lock(&lock->reserved_word, seen)) {
            stay(lock, round);
            return;
        }
    }
}

/* ---- waiting ---- */

static inline kind kind_of(const th_waiter *me) {
    return me->on == TH_ON_WRITE ? WRITES : READS;
}

/* Takes a waiter off the list whose time is out and that was not woken. False: it was off it. */
static bool leave(void *object, th_waiter *me) {
    thrum_rwlock *lock = object;
    th_waiter *chain = NULL;
    uint64_t seen;
    do {
        seen = th_word64_look(&lock->reserved_word);
    } while (!th_word64_lock(&lock->reserved_word, seen));
    uint64_t word = seen & ~WAITERS;
    bool listed = th_waitlist_leave(list_of(lock, kind_of(me)), me);
    if ((seen & WRITER) == 0 && th_waitlist_is_empty(list_of(lock, WRITES))) {
        chain = admit_readers(lock, &word); /* they waited only for the last writer */
    }
    publish(lock, word);
    th_waitlist_wake_all(chain);
    return listed;
}

/*
 * True: the lock is the caller's. False: the list lock is, and *word is the word without LOCKED.
 */
static bool take_or_lock(thrum_rwlock *lock, kind which, uint64_t self, uint64_t *word) {
    unsigned looks = 0;
    uint64_t next;
    for (;;) {
        uint64_t seen = th_word64_look(&lock->reserved_word);
        if (is_free_for(which, seen)) {
            if (which == READS ? take_read(lock, seen, seen + READER) : take_write(lock, self)) {
                return true;
            }
            if (which == READS) {
                th_stand_back();
            }
        } else if (which == READS && (next = joined(seen)) != 0) {
            if (take_read(lock, seen, next)) {
                return true;
            }
        } else if (looks < SPINS_MAX && (seen & WAITERS) == 0) {
            looks++;
            th_os_relax();
        } else if (th_word64_lock(&lock->reserved_word, seen)) {
            *word = seen;
            return false;
        }
    }
}

/* With the list lock, which it gives up; `word` is the word without LOCKED. */
static void enqueue(thrum_rwlock *lock, th_waiter *me, uint64_t word) {
    th_waitlist_push(list_of(lock, kind_of(me)), me);
    th_word64_publish(&lock->reserved_word, word | WAITERS);
}

/* For a waiter of no stack. */
static int stand(void *object, th_waiter *me, bool late) {
    thrum_rwlock *lock = object;
    uint64_t word;
    if (take_or_lock(lock, kind_of(me), th_self_id(), &word)) {
        return 1;
    }
    if (late) {
        th_word64_publish(&lock->reserved_word, word);
        return -ETIMEDOUT;
    }
    enqueue(lock, me, word);
    return 0;
}

/* The lock was handed over to a writer of no stack, to nobody yet. */
static void own(void *object, th_waiter *me) {
    thrum_rwlock *lock = object;
    (void)me;
    th_owner_set(&lock->reserved_owner, th_self_id());
}

static const th_wait_kind reads = {.on = TH_ON_READ, .stand = stand, .leave = leave};
static const th_wait_kind writes = {.on = TH_ON_WRITE, .stand = stand, .leave = leave, .got = own};

static TH_NOINLINE int lock_slow(thrum_rwlock *lock, kind which, thrum_time deadline) {
    uint64_t self = th_self_id();
    uint64_t word;
    if (th_owner_is(&lock->reserved_owner, self)) {
        th_misuse(which == READS ? "thrum_rwlock_rdlock" : "thrum_rwlock_wrlock",
                  "held for writing by the caller already", lock);
    }
    /* relaxed: a guess that the fast path failed because other readers were faster */
    if (which == READS && is_free_for(which, th_load_relaxed(&lock->reserved_word))) {
        th_stand_back();
    }
    th_owner_waiter me;
    if (take_or_lock(lock, which, self, &word)) {
        return 0;
    }
    th_waiter_init(&me.waiter, which == WRITES ? TH_ON_WRITE : TH_ON_READ, lock);
    me.self = self;
    me.waiter.shielded = true; /* not a cancellation point */
    me.waiter.timed = deadline != THRUM_FOREVER;
    enqueue(lock, &me.waiter, word);
    /* after a wake the lock is the caller's: the word has that already */
    return th_wait_queued(&reads, lock, &me.waiter, me.waiter.timed, deadline);
}

int thrum_rwlock_rdlock_on_until(thrum_rwlock *lock, thrum_await *await, thrum_task *task,
                                 thrum_time deadline) {
    return th_await_on(&reads, lock, await, task, deadline);
}

int thrum_rwlock_wrlock_on_until(thrum_rwlock *lock, thrum_await *await, thrum_task *task,
                                 thrum_time deadline) {
    return th_await_on(&writes, lock, await, task, deadline);
}

/* ---- the beginning and the end ---- */

void thrum_rwlock_init(thrum_rwlock *lock) {
    *lock = (thrum_rwlock)THRUM_RWLOCK_INIT;
}

int thrum_rwlock_destroy(thrum_rwlock *lock) {
    /* pairs: drop, th_word64_publish; the caller sees all that the last owners wrote */
    if (th_load_acquire(&lock->reserved_word) != 0) {
        return -EBUSY;
    }
    *lock = (thrum_rwlock)THRUM_RWLOCK_INIT;
    return 0;
}
