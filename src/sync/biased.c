/*
 * biased.c: the slow halves of biased.h: making a worker the favourite, and none.
 */
#include "sync/biased.h"

#include "core/wait.h"
#include "core/worker.h"
#include "platform/platform.h"

#define ROWS_MAX 4096u      /* x TH_BIASED_ROW: what does not last is tried less and less */
#define WORTH_NS 1000000    /* what lasts as long pays for its end, some 20 us, many times over */
#define BARRIER_TRIES 1000u /* refusals of th_os_barrier; then it is taken to be for good */
#define DRAIN_NS 10000000   /* then: no processor keeps a store to itself so long, by far */

static uint32_t xnumbers; /* of threads, given out; any thread */

/* Between our writing that there is no favourite, and our look whether it is inside. */
static void order(void) {
    unsigned spins = 0;
    while (!th_os_barrier() && spins < BARRIER_TRIES) {
        th_backoff(&spins); /* no memory for it just now; or for ever, in a sandbox entered since */
    }
    if (spins == BARRIER_TRIES) {
        uint32_t nobody = 0;
        th_os_futex_wait(&nobody, 0, th_os_now() + DRAIN_NS);
    }
}

TH_COLD void th_biased_revoke(th_biased *lock, th_biased_price *price) {
    /* relaxed: ordered by the barrier, against th_biased_try */
    th_store_relaxed(&lock->xfavourite, 0u);
    order();
    unsigned spins = 0;
    /* pairs: th_biased_unlock, th_waiter_wait_unlock; what the favourite did */
    while (th_load_acquire(&lock->xinside) != 0) {
        th_backoff(&spins);
    }
    price->last = 0;
    if (th_os_ticks_ns(th_os_ticks() - price->since) < WORTH_NS && price->rows < ROWS_MAX) {
        price->rows = price->rows * 4 + 3;
    }
}

TH_COLD void th_biased_note(th_biased *lock, th_biased_price *price, th_thread *me) {
    if (me->number == 0) {
        if (!me->worker || !me->worker->sched->can_order) {
            price->last = 0;
            return;
        }
        /* relaxed: only the numbers must differ */
        me->number = th_add_relaxed(&xnumbers, 1u) + 1;
    }
    if (price->last != me->number) {
        price->last = me->number;
        price->row = 0;
    } else if (++price->row / TH_BIASED_ROW > price->rows) {
        price->since = th_os_ticks();
        /* relaxed: without xlock only we read more out of it than that it is not us */
        th_store_relaxed(&lock->xfavourite, me->number);
    }
}
