/*
 * role.h: a role that one thread has at a time and no thread waits for, with a one-bit signal to
 * its holder.
 *
 * A thread that finds the role taken sets the signal and goes away. The holder learns of it when it
 * gives the role up, in the same step, and then does what that thread came for. So no thread blocks
 * on the role: one that must wait sleeps where any work wakes it.
 *
 *     0              the role is free
 *     HELD           a thread has the role
 *     HELD | SIGNAL  a thread has the role, and another has come for it since
 *
 * Progress:  wait-free but for a bounded number of rounds: each other writer ends the loop.
 * Cost:      one locked instruction to take the role, one to give it up, one to signal; a signal
 *            that is already set costs only a load.
 */
#ifndef TH_ROLE_H
#define TH_ROLE_H

#include "base/atomic.h"

#define TH_ROLE_HELD 1u
#define TH_ROLE_SIGNAL 2u

typedef struct th_role {
    uint32_t xrole;
} th_role;

/* True: the caller has the role now. False: another thread has it, and the signal is set. */
static inline bool th_role_take(th_role *role) {
    /* relaxed: the exchange decides. Only a caller that has not fenced may read a signal that is
     * gone by now, and such a caller looks again before it sleeps (th_role_signal) */
    uint32_t word = th_load_relaxed(&role->xrole);
    while (word != (TH_ROLE_HELD | TH_ROLE_SIGNAL)) {
        /* lock-free: it fails only when the role was taken, given up or signalled meanwhile */
        /* pairs: th_role_give; what the last holder left */
        if (th_cas_acquire(&role->xrole, &word, word ? word | TH_ROLE_SIGNAL : TH_ROLE_HELD)) {
            return !word;
        }
    }
    return false;
}

/*
 * For a thread that is about to sleep, after a full fence. True: another thread has the role, and
 * will look at the queues when it gives it up. False: it is free, or was at a moment of the call.
 */
static inline bool th_role_signal(th_role *role) {
    uint32_t word = th_load_relaxed(&role->xrole); /* relaxed: ordered by the fence */
    while (word == TH_ROLE_HELD) {
        /* lock-free: it fails only when the role was given up or signalled */
        /* relaxed: what the caller did before is ordered by its fence and by the holder's */
        if (th_cas_relaxed(&role->xrole, &word, TH_ROLE_HELD | TH_ROLE_SIGNAL)) {
            return true;
        }
    }
    return word != 0;
}

/* The holder gives it up. True when another came for it: the caller then fences, and looks. */
static inline bool th_role_give(th_role *role) {
    /* pairs: th_role_take; what the holder did. What the signallers did is seen after the fence */
    return th_xchg_release(&role->xrole, 0u) & TH_ROLE_SIGNAL;
}

#endif
