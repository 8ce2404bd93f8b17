/*
 * forking.h: the fast halves of forking and joining: as long as no other thread takes a fork, a
 * push and a pop on an array, without a locked instruction and without a fence.
 * core/state/fork_state.h explains the words.
 */
#ifndef TH_FORKING_H
#define TH_FORKING_H

#include "base/check.h"
#include "core/due/fork_slots.h"
#include "core/state/worker.h"
#include "platform/asymmetric.h"

/* Pushes a fork whose function and argument are set; the caller is a fiber. */
static TH_ALWAYS_INLINE void th_fork_push(th_worker *worker, th_fork *fork) {
    th_forks *forks = &worker->forks;
    uint64_t tail = th_load_relaxed(&forks->xtail); /* relaxed: only the owner writes it */
    fork->index = tail;
    th_store_relaxed(&fork->xend, TH_FORK_OPEN); /* relaxed: published with the fork */
    th_store_relaxed(&fork->xworker, worker);    /* relaxed: only its owner reads it */
    fork->inherited = worker->current->inherited;
    th_tsan_release(fork);
    /* relaxed: a slot that another thread has emptied is seen at a later fork or join */
    if (th_likely(th_load_relaxed(&forks->xslot) != TH_FORK_EMPTY) &&
        /* relaxed: only the owner uses it. True unless the fork is the first, or the array full */
        th_likely(tail - th_load_relaxed(&forks->head_seen) - 1 < TH_FORKS - 1)) {
        /* relaxed: published by the tail */
        th_store_relaxed(&forks->xprivate[tail % TH_FORKS], fork);
        /* pairs: take_half; publishes the place and the fork */
        th_store_release(&forks->xtail, tail + 1);
        return;
    }
    th_fork_push_slow(worker, fork);
}

/*
 * For the public function `call`, which the message for a misuse names. True: the caller makes the
 * call, or nobody does. False: another thread has it, and th_fork_wait follows; until then this may
 * be called again, with the same result.
 */
static TH_ALWAYS_INLINE bool th_fork_pop(th_fork *fork, const char *call) {
    th_worker *worker = th_load_relaxed(&fork->xworker); /* relaxed: the slow half acquires */
    if (th_likely(worker)) {
        th_forks *forks = &worker->forks;
        uint64_t at = fork->index;
        /* relaxed: only the owner writes it */
        if (th_unlikely(th_load_relaxed(&forks->xtail) != at + 1)) {
            th_misuse(call,
                      "forks are joined, or taken back, youngest first, by the task that forked",
                      fork);
        }
        /* relaxed: before the next load for the compiler; for the processor by the rescuer's
         * barrier (take_half) */
        th_store_relaxed(&forks->xtail, at);
        th_fence_light();
        /* relaxed: nothing was published with it; the slow half takes the lock */
        if (th_likely(th_load_relaxed(&forks->xhead) <= at)) {
            /* relaxed: as in th_fork_push */
            if (th_unlikely(th_load_relaxed(&forks->xslot) == TH_FORK_EMPTY) &&
                th_load_relaxed(&forks->head_seen) != at) {
                th_forks_expose(worker);
            }
            return true;
        }
    }
    return th_fork_pop_slow(fork, worker, call);
}

#endif
