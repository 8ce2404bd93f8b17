/*
 * biased.h: a short lock that costs no locked instruction as long as one worker alone uses it.
 *
 * A worker whose thread uses it again and again, without others in between, becomes its
 * *favourite*, known by the thread's number. The favourite says that it is inside, and then looks
 * whether it still is the favourite, in this order for the compiler only. Anybody else takes the
 * lock in the usual way, by an exchange, and if there is a favourite, revokes that: says that
 * there is none, has the system order all processors (a system call), and waits until the
 * favourite is outside. README.md, "Channels", has the argument and the price.
 *
 * Words:      xlock: 0 free, 1 held, by anybody but the favourite. xfavourite: a thread's number,
 *             0: nobody; written by who holds xlock. xinside, a word for each thread that ever was
 *             the favourite: 1 while it is inside as that; it alone writes it.
 * Invariant:  while a thread is the favourite, nobody else is past his exchange of xlock and what
 *             comes with it.
 * Progress:   its holder never waits, but for a fiber that waits at last: what it gives up is a
 *             word of 32 bits that becomes 0, as th_waiter_wait_unlock has it.
 */
#ifndef TH_SYNC_BIASED_H
#define TH_SYNC_BIASED_H

#include "base/annotate.h"
#include "base/atomic.h"
#include "base/cc.h"
#include "core/state/thread.h"

/* So many threads can be the favourite, in turn; a number has one place, for the first who asks. */
#define TH_BIASED_PLACES 2u

typedef struct th_biased {
    uint32_t xlock;      /* see above */
    uint32_t xfavourite; /* see above; any thread reads it */
} th_biased;

/* What it needs for its favourites; not on the line of all the others. */
typedef struct th_biased_price {
    uint32_t xinside[TH_BIASED_PLACES]; /* see above */
    /* With the lock: */
    uint32_t owners[TH_BIASED_PLACES]; /* the number whose place it is, 0: nobody's yet */
    uint32_t last;                     /* the number of who noted itself last, or 0 */
    uint32_t uses;                     /* how many, without another in between */
    uint32_t waits;                    /* of holders, since the last note */
    uint32_t needed; /* uses, in units, and one unit; grows when favourites do not last */
    uint64_t since;  /* when there came to be a favourite, in ticks */
} th_biased_price;

static inline uint32_t *th_biased_place(th_biased_price *price, uint32_t number) {
    return &price->xinside[number % TH_BIASED_PLACES];
}

/* With the lock: the caller has, more or less, used it so often again; it may become the favourite.
 */
void th_biased_note(th_biased *lock, th_biased_price *price, uint64_t uses);

/* With the lock: its holder is going to wait. */
static inline void th_biased_waits(th_biased_price *price) {
    price->waits++;
}

/* The last access to the lock: the word that th_biased_try returned. */
static inline void th_biased_unlock(uint32_t *xword) {
    /* pairs: th_biased_try, th_biased_try_slow, revoke; publishes all that is protected by it */
    th_store_release(xword, 0u);
}

/*
 * One attempt by the calling thread, `number`, where nothing special is to be done. True: *held is
 * the word to be given up. False: th_biased_try_slow decides.
 */
static inline bool th_biased_try(th_biased *lock, th_biased_price *price, uint32_t number,
                                 uint32_t **held) {
    th_prefetch_write(lock); /* or the guess would fetch the line only to read it */
    /* relaxed: a guess, read again */
    if (number && th_load_relaxed(&lock->xfavourite) == number) {
        uint32_t *xinside = th_biased_place(price, number);
        /* the last one was another task on this thread; so was who made it the favourite */
        th_tsan_acquire(xinside);
        th_tsan_acquire(&lock->xlock);
        /* relaxed: before the next load for the compiler; for the processor by who revokes */
        th_store_relaxed(xinside, 1u);
        th_fence_compiler();
        /* relaxed: only we make ourselves the favourite, with xlock: whatever others did before,
         * we know since then */
        if (th_likely(th_load_relaxed(&lock->xfavourite) == number)) {
            *held = xinside;
            return true;
        }
        th_biased_unlock(xinside);
    }
    /* pairs: th_biased_unlock, th_waiter_wait_unlock; what the last holder did */
    if (th_xchg_acquire(&lock->xlock, 1u) != 0) {
        return false;
    }
    /* relaxed: written by holders of xlock */
    if (th_unlikely(th_load_relaxed(&lock->xfavourite) != 0)) {
        th_biased_unlock(&lock->xlock); /* no call here: those who come this way need no frame */
        return false;
    }
    *held = &lock->xlock;
    return true;
}

/* The same by anybody: revokes the favourite, if there is one. False: somebody else has the lock.
 */
bool th_biased_try_slow(th_biased *lock, th_biased_price *price, uint32_t **held);

#endif
