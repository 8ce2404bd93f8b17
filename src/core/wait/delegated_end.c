/*
 * delegated_end.c: waiting for, and signalling, the end of calls that another task makes. A stolen
 * fork and a run of a graph each have such a word. It is a separate file, since a wait checks for
 * cancels, and these list delegated calls.
 */
#include "core/state/fork_state.h"
#include "core/wait/delegated.h"
#include "core/wait/wait.h"

void th_delegated_tell(uintptr_t *xend) {
    /* pairs: th_delegated_wait; publishes the calls' effects, and takes the waiter */
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
    /* pairs: th_delegated_tell; hands the waiter over, or acquires the calls' effects */
    if (th_cas_acq_rel_acquire_both(xend, &state, (uintptr_t)&waiter)) {
        (void)th_waiter_wait(&waiter);
    }
}
