/*
 * fork_call.c: see fork_call.h.
 */
#include "core/task/fork_call.h"

#include "base/check.h"
#include "core/task/run.h"
#include "core/wait/delegated.h"

/*
 * Drops the values that the body kept before the fork's owner goes on: afterwards the fork may no
 * longer be there.
 */
void th_fork_call(th_call *call) {
    th_fork *fork = th_container(call, th_fork, call);
    th_delegated_begin(&fork->inherited, (uintptr_t)fork->fn);
    fork->result = fork->fn(fork->arg);
    th_run_undo();
    th_delegated_end();
    th_delegated_tell(&fork->xend);
}

int th_fork_wait(th_fork *fork) {
    if (th_unlikely(fork->index == TH_FORK_OVER)) {
        th_misuse("thrum_fork_join", "joined, or taken back, already", fork);
    }
    th_delegated_wait(&fork->xend, TH_ON_FORK, fork);
    fork->index = TH_FORK_OVER;
    return fork->result;
}
