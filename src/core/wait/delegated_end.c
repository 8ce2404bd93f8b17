/*
 * delegated_end.c: the end of calls that another task makes: it is waited for, and told. A stolen
 * fork and a run of a graph have such a word each. It is a file of its own, since a wait asks for
 * cancels, and these list delegated calls.
 */
#include "core/state/fork_state.h"
#include "core/wait/delegated.h"
#include "core/wait/wait.h"

void th_delegated_tell(uintptr_t *xend) {
    /* pairs: th_delegated_wait; publishes what the calls did, and takes the waiter */
    uintptr_t old = th_xchg_acq_rel(xend, TH_FORK_DONE);
    if (old != TH_FORK_OPEN) {
        th_waiter_wake((th_waiter *)old);
    }
}

void th_delegated_wait(uintptr_t *xend, th_on on, void *object) {
    th_waiter waiter;
    th_waiter_init(&waiter, on, object);
    waiter.shielded = true;
    uintptr_t state = TH_FORK_OPEN;
    /* pairs: th_delegated_tell; hands the waiter over, or acquires what the calls did */
    if (th_cas_acq_rel_acquire_both(xend, &state, (uintptr_t)&waiter)) {
        (void)th_waiter_wait(&waiter);
    }
}
