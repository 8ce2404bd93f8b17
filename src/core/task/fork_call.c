/*
 * fork_call.c: see fork_call.h.
 */
#include "core/task/fork_call.h"

#include "base/check.h"
#include "core/ready/waiter.h"
#include "core/task/run.h"
#include "core/wait/delegated.h"
#include "core/wait/wait.h"

/*
 * Drops the values that the body kept before the fork's owner goes on: afterwards the fork may not
 * be there any more.
 */
void th_fork_call(th_call *call) {
    th_fork *fork = th_container(call, th_fork, call);
    th_delegated_begin(&fork->inherited, (uintptr_t)fork->fn);
    fork->result = fork->fn(fork->arg);
    th_run_undo();
    th_delegated_end();
    /* pairs: th_fork_wait; publishes the result and what the body did, takes the waiter */
    uintptr_t old = th_xchg_acq_rel(&fork->xend, TH_FORK_DONE);
    if (old != TH_FORK_OPEN) {
        th_waiter_wake((th_waiter *)old);
    }
}

int th_fork_wait(th_fork *fork) {
    th_waiter waiter;
    if (th_unlikely(fork->index == TH_FORK_OVER)) {
        th_misuse("thrum_fork_join", "joined, or taken back, already", fork);
    }
    th_waiter_init(&waiter, TH_ON_FORK, fork);
    /* The child uses the caller's frame, so it ends first; a cancel is for the child. */
    waiter.shielded = true;
    uintptr_t state = TH_FORK_OPEN;
    /* pairs: th_fork_call; hands the waiter over, or acquires the result */
    if (th_cas_acq_rel_acquire_both(&fork->xend, &state, (uintptr_t)&waiter)) {
        (void)th_waiter_wait(&waiter);
    }
    fork->index = TH_FORK_OVER;
    return fork->result;
}
