/*
 * wordlock.h: the word that holds a primitive's state, and the list lock inside it.
 *
 *     bit 0      LOCKED   a thread holds the list lock; all others back off
 *     bit 1      WAITERS  the list is not empty (for all but the holder of LOCKED)
 *     bits 2...           the primitive's own flags or count
 *
 * State and list lock share one word because of the lifetime rule (sync/README.md): the store that
 * publishes a new state also unlocks the list, so it can be the last access to the primitive.
 *
 * Rule of the lock, unless the primitive's file states another: while LOCKED is set, the word is
 * changed by its holder alone. Every fast path is a compare-exchange from a word without LOCKED; so
 * the holder knows the word and may publish with a plain release store.
 */
#ifndef TH_WORDLOCK_H
#define TH_WORDLOCK_H

#include "base/atomic.h"
#include "base/cc.h"
#include "core/state/thread.h"
#include "platform/platform.h"
#include "sync/waitlist.h"

#define TH_WORD_LOCKED 1u
#define TH_WORD_WAITERS 2u
#define TH_WORD_SHIFT 2

/*
 * Takes the list lock if the word still is `seen`, a word without LOCKED; one attempt. ABA does no
 * harm: the word is the whole state beside the list, which is read only after this. The partner may
 * also be the commit of a wait, which unlocks on behalf of a fiber (th_waiter_wait_unlock).
 */
static inline bool th_word32_lock(uint32_t *xword, uint32_t seen) {
    /*
     * pairs: th_word32_publish, th_waiter_wait_unlock; takes over the list, and the writes
     * published by earlier callers
     */
    return th_cas_acquire(xword, &seen, seen | TH_WORD_LOCKED);
}

/* Stores the new word, without LOCKED: the holder's last access to the primitive. */
static inline void th_word32_publish(uint32_t *xword, uint32_t word) {
    /*
     * pairs: th_word32_lock; publishes the list, and passes on the writes that the holder had
     * acquired
     */
    th_store_release(xword, word);
}

/* The word, as soon as no thread holds the list lock. */
static inline uint32_t th_word32_look(const uint32_t *xword) {
    unsigned spins = 0;
    uint32_t seen;
    /*
     * pairs: th_word32_publish; for callers that the word lets pass, or that see an empty list in
     * it
     */
    while (th_unlikely(((seen = th_load_acquire(xword)) & TH_WORD_LOCKED) != 0)) {
        th_backoff(&spins);
    }
    return seen;
}

/* Takes the list lock, and waits for it; returns the word without LOCKED. */
static inline uint32_t th_word32_lock_list(uint32_t *xword) {
    uint32_t seen;
    do {
        seen = th_word32_look(xword);
    } while (!th_word32_lock(xword, seen));
    return seen;
}

/* The word, with WAITERS as the list is; for a holder of its lock. */
static inline uint32_t th_word32_with(uint32_t word, th_waitlist list) {
    word &= ~TH_WORD_WAITERS;
    return th_waitlist_is_empty(list) ? word : word | TH_WORD_WAITERS;
}

/*
 * Takes a waiter that gives up off the list. False: it was off the list already, as all are when
 * the word has a bit of `none`, with which it is never locked.
 */
static inline bool th_word32_leave(uint32_t *xword, th_waitlist list, th_waiter *me,
                                   uint32_t none) {
    uint32_t seen;
    do {
        seen = th_word32_look(xword);
        if ((seen & none) != 0) {
            return false;
        }
    } while (!th_word32_lock(xword, seen));
    bool listed = th_waitlist_leave(list, me);
    th_word32_publish(xword, th_word32_with(seen, list));
    return listed;
}

/* The same for a word of 64 bits. */
static inline bool th_word64_lock(uint64_t *xword, uint64_t seen) {
    /*
     * pairs: th_word64_publish, th_waiter_wait_unlock; takes over the list, and the writes
     * published by earlier callers
     */
    return th_cas_acquire(xword, &seen, seen | TH_WORD_LOCKED);
}

static inline uint64_t th_word64_look(const uint64_t *xword) {
    unsigned spins = 0;
    uint64_t seen;
    /* pairs: th_word64_publish; as above */
    while (th_unlikely(((seen = th_load_acquire(xword)) & TH_WORD_LOCKED) != 0)) {
        th_backoff(&spins);
    }
    return seen;
}

static inline void th_word64_publish(uint64_t *xword, uint64_t word) {
    /*
     * pairs: th_word64_lock; publishes the list, and passes on the writes that the holder had
     * acquired
     */
    th_store_release(xword, word);
}

/*
 * A caller that has met others at a word pauses for a moment, so that one of them makes several
 * calls before the cache line changes hands: moving the line costs more than the calls. Measured
 * with two workers on two cores: a channel of four senders and four receivers took 13.5 ns an
 * element instead of 42 to 68, a lock of readers 13 to 21 ns instead of 33 to 38; 8 pauses are too
 * few for four workers, 400 are no better.
 */
#define TH_STAND_BACK TH_LIMIT(32u, 1u)

static inline void th_stand_back(void) {
    for (unsigned i = 0; i < TH_STAND_BACK; i++) {
        th_os_relax();
    }
}

#endif
