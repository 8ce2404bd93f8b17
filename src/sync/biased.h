/*
 * biased.h: a short lock that costs no locked instruction as long as one worker alone uses it.
 *
 * A worker whose thread takes it again and again, without others in between, becomes its
 * *favourite*, known by the thread's number. The favourite says that it is inside and looks whether
 * it still is the favourite, in this order for the compiler only. Anybody else takes the lock in
 * the usual way, by an exchange, and if there is a favourite, makes it none: says so, has the
 * system order all processors (a system call), and waits until the favourite is outside. README.md,
 * "Channels", has the argument and the price.
 *
 * Words:      xlock: 0 free, 1 held, by anybody but the favourite. xinside: likewise, by the
 *             favourite, which alone writes it. xfavourite: its number, 0: nobody; written by who
 *             holds xlock.
 * Invariant:  while there is a favourite, who holds xlock has not been let in yet, or made it the
 *             favourite.
 * Its holder never waits, but for a fiber that waits at last: what it gives up is a word of 32 bits
 * that becomes 0, as th_waiter_wait_unlock has it.
 */
#ifndef TH_SYNC_BIASED_H
#define TH_SYNC_BIASED_H

#include "base/atomic.h"
#include "base/cc.h"
#include "core/thread.h"

/* A thread notes itself every so many times; so many notes in a row make it the favourite. */
#define TH_BIASED_NOTE TH_LIMIT(64u, 1u)
#define TH_BIASED_ROW TH_LIMIT(64u, 2u)

typedef struct th_biased {
    uint32_t xlock;      /* see above */
    uint32_t xinside;    /* see above */
    uint32_t xfavourite; /* see above; any thread reads it */
} th_biased;

/* What it needs now and then; with xlock. */
typedef struct th_biased_price {
    uint32_t last;  /* the number of who noted itself last, or 0 */
    uint32_t row;   /* how often, without another in between */
    uint32_t rows;  /* so many times TH_BIASED_ROW, and once more, is needed */
    uint64_t since; /* when there came to be a favourite, in ticks */
} th_biased_price;

/* With xlock: the favourite is one no longer, and outside. */
void th_biased_revoke(th_biased *lock, th_biased_price *price);

/* With xlock: notes the caller, who may become the favourite. */
void th_biased_note(th_biased *lock, th_biased_price *price, th_thread *me);

/* The last access to the lock: the word that th_biased_try returned. */
static inline void th_biased_unlock(uint32_t *xword) {
    /* pairs: th_biased_try, th_biased_revoke; publishes all that is protected by it */
    th_store_release(xword, 0u);
}

/*
 * One attempt by the calling thread. Returns the word to be given up, or NULL: somebody else has
 * it.
 */
static inline uint32_t *th_biased_try(th_biased *lock, th_biased_price *price, th_thread *me) {
    uint32_t number = me->number;
    /* relaxed: a guess, read again */
    if (number && th_load_relaxed(&lock->xfavourite) == number) {
        /* relaxed: before the next load for the compiler; for the processor by who revokes */
        th_store_relaxed(&lock->xinside, 1u);
        th_fence_compiler();
        /* relaxed: only we make ourselves the favourite, with xlock: whatever others did before,
         * we know since then */
        if (th_likely(th_load_relaxed(&lock->xfavourite) == number)) {
            return &lock->xinside;
        }
        th_biased_unlock(&lock->xinside);
    }
    /* pairs: th_biased_unlock, th_waiter_wait_unlock; what the last holder did */
    if (th_xchg_acquire(&lock->xlock, 1u) != 0) {
        return NULL;
    }
    /* relaxed: written by holders of xlock */
    if (th_unlikely(th_load_relaxed(&lock->xfavourite) != 0)) {
        th_biased_revoke(lock, price);
    } else if (th_unlikely(++me->biased_tick % TH_BIASED_NOTE == 0)) {
        th_biased_note(lock, price, me);
    }
    return &lock->xlock;
}

#endif
