/*
 * biased.c: the slow halves of biased.h: making a worker the favourite, and none.
 */
#include "sync/biased.h"

#include "core/state/worker.h"
#include "platform/platform.h"

#define UNIT TH_LIMIT(4096u, 2u)     /* uses in a row; so a revocation costs 5 ns each at worst */
#define NEEDED_MAX 255u              /* units: a million uses, 6 ms, for some 20 us */
#define WORTH_NS 1000000             /* what lasts as long has paid for its end many times over */
#define USES_A_WAIT TH_LIMIT(8u, 0u) /* with fewer: a wait costs so much more than the lock */
#define BARRIER_TRIES 1000u /* refusals of th_os_barrier; then it is taken to be for good */
#define DRAIN_NS 10000000   /* no processor keeps a store to itself so long, by far */

static uint64_t xnumbers; /* of threads, given out; any thread */
static uint32_t xrefused; /* the barrier was refused, for good as it seemed; any thread */

/* In a sandbox that was entered since there is a favourite. */
static TH_COLD void drain(void) {
    th_store_relaxed(&xrefused, 1u); /* relaxed: who does not know it yet finds it out */
    int64_t until = th_os_now() + DRAIN_NS;
    uint32_t nobody = 0;
    while (th_os_now() < until) {
        (void)th_os_futex_wait(&nobody, 0, until); /* a signal may end it */
    }
}

/* Between our writing that there is no favourite, and our look whether it is inside. */
static void order(void) {
    unsigned spins = 0;
    while (!th_os_barrier()) {
        if (spins == BARRIER_TRIES) {
            drain();
            return;
        }
        th_backoff(&spins); /* no memory for it just now */
    }
}

/* With xlock: the favourite is one no longer, and outside. */
static TH_COLD void revoke(th_biased *lock, th_biased_price *price) {
    /* relaxed: written by holders of xlock */
    uint32_t *xinside = th_biased_place(price, th_load_relaxed(&lock->xfavourite));
    int64_t lasted = th_os_ticks_ns(th_os_ticks() - price->since);
    /* relaxed: ordered by the barrier, against th_biased_try */
    th_store_relaxed(&lock->xfavourite, 0u);
    order();
    unsigned spins = 0;
    /* pairs: th_biased_unlock, th_waiter_wait_unlock; what the favourite did */
    while (th_load_acquire(xinside) != 0) {
        th_backoff(&spins);
    }
    price->last = 0;
    if (lasted < WORTH_NS && price->needed < NEEDED_MAX) {
        price->needed = 4 * price->needed + 3;
    }
}

bool th_biased_try_slow(th_biased *lock, th_biased_price *price, uint32_t **held) {
    /* pairs: th_biased_unlock, th_waiter_wait_unlock; what the last holder did */
    if (th_xchg_acquire(&lock->xlock, 1u) != 0) {
        return false;
    }
    /* relaxed: written by holders of xlock */
    if (th_load_relaxed(&lock->xfavourite) != 0) {
        revoke(lock, price);
    }
    *held = &lock->xlock;
    return true;
}

/*
 * A thread gets its number when it first could be a favourite; 0: it cannot. Not shown to the
 * thread sanitizer, for which each task is a thread.
 */
static TH_NO_TSAN uint32_t my_number(void) {
    th_thread *me = th_thread_self();
    if (me->number == 0 && me->worker && me->worker->sched->can_order) {
        /* relaxed: only the numbers must differ */
        uint64_t number = th_add_relaxed(&xnumbers, 1u) + 1;
        me->number = number <= UINT32_MAX ? (uint32_t)number : 0; /* none is given twice */
    }
    return me->number;
}

/* Whether a favourite could be revoked: asked once in many uses, where it was refused before. */
static bool can_revoke(void) {
    if (!th_load_relaxed(&xrefused)) { /* relaxed: a little later is soon enough */
        return true;
    }
    if (!th_os_barrier()) {
        return false;
    }
    th_store_relaxed(&xrefused, 0u); /* relaxed: as above */
    return true;
}

/* Whether that number may be the favourite: its place is its own from now on. */
static bool has_place(th_biased_price *price, uint32_t number) {
    uint32_t *owner = &price->owners[number % TH_BIASED_PLACES];
    *owner = *owner ? *owner : number;
    return number != 0 && *owner == number;
}

void th_biased_note(th_biased *lock, th_biased_price *price, uint64_t uses) {
    uint32_t number = my_number();
    uint64_t waits = price->waits;
    price->waits = 0;
    if (number == 0 || price->last != number || waits * USES_A_WAIT > uses) {
        price->last = number;
        price->uses = 0;
        return;
    }
    uses += price->uses;
    price->uses = (uint32_t)(uses < UINT32_MAX ? uses : UINT32_MAX);
    if (price->uses < UNIT * (uint64_t)(price->needed + 1) || !has_place(price, number)) {
        return;
    }
    if (!can_revoke()) {
        price->uses = 0;
        return;
    }
    /* relaxed: our own. Inside as the favourite we may have been revoked meanwhile, and only who
     * holds xlock may make one. */
    if (th_load_relaxed(th_biased_place(price, number)) == 0) {
        price->since = th_os_ticks();
        /* relaxed: without xlock only we read more out of it than that it is not us */
        th_store_relaxed(&lock->xfavourite, number);
    }
}
