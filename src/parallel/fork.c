/*
 * fork.c: thrum/fork.h: a call in the caller's frame that another thread may make meanwhile.
 */
#include "thrum/fork.h"

#include "core/task/fork_call.h"
#include "parallel/forking.h"

_Static_assert(sizeof(thrum_fork) >= sizeof(th_fork), "the public record has room");
_Static_assert(_Alignof(thrum_fork) >= _Alignof(th_fork), "the public record is ours");

/* Makes the call at once, where no other thread could take it. */
static TH_COLD void call_at_once(th_fork *fork) {
    fork->result = fork->fn(fork->arg);
    fork->index = 0;                             /* not TH_FORK_OVER */
    th_store_relaxed(&fork->xworker, NULL);      /* relaxed: the caller's own */
    th_store_relaxed(&fork->xend, TH_FORK_DONE); /* relaxed: the caller's own */
}

void thrum_fork_start(thrum_fork *record, thrum_fn fn, void *arg) {
    th_fork *fork = (th_fork *)(void *)record;
    th_worker *worker = th_here();
    fork->fn = fn;
    fork->arg = arg;
    if (th_likely(worker) && th_likely(worker->current->body)) {
        th_fork_push(worker, fork);
    } else {
        call_at_once(fork);
    }
}

bool thrum_fork_take_back(thrum_fork *record) {
    return th_fork_pop((th_fork *)(void *)record, "thrum_fork_take_back");
}

int thrum_fork_join(thrum_fork *record) {
    th_fork *fork = (th_fork *)(void *)record;
    if (th_likely(th_fork_pop(fork, "thrum_fork_join"))) {
        return fork->fn(fork->arg);
    }
    return th_fork_wait(fork);
}
