/*
 * role.h: a role that one has at a time and nobody waits for, and the one-bit signal to its holder.
 *
 * Who finds the role taken sets the signal and goes away; the holder learns of it when it gives the
 * role up, in the same step, and then looks after what that one came for. So nobody blocks on the
 * role: whoever must wait for it sleeps where anything wakes it.
 *
 *     0              free
 *     HELD           somebody has it
 *     HELD | SIGNAL  ... and somebody came for it since
 *
 * Progress:  all wait-free but for a bounded number of rounds: each other writer ends the loop.
 * Cost:      taking and giving up one locked instruction each. Signalling one, and a load when the
 * signal is set already.
 */
#ifndef TH_ROLE_H
#define TH_ROLE_H

#include "base/atomic.h"

#define TH_ROLE_HELD 1u
#define TH_ROLE_SIGNAL 2u

typedef struct th_role {
    uint32_t xrole;
} th_role;

/* True: the caller has it now. False: somebody else has, and is told. */
static inline bool th_role_take(th_role *role) {
    /* relaxed: the exchange decides; that the signal is set may be told by a stale value only to
     * who has not fenced, and who has not looks again before it sleeps (th_role_signal) */
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
 * For who is about to sleep, after a full fence: true when somebody has the role and will look
 * after us; false when it is free, or was at one moment of the call.
 */
static inline bool th_role_signal(th_role *role) {
    uint32_t word = th_load_relaxed(&role->xrole); /* relaxed: ordered by the fence */
    while (word == TH_ROLE_HELD) {
        /* lock-free: it fails only when the role was given up or signalled */
        /* relaxed: what we did before is ordered by our fence and by the one of the holder */
        if (th_cas_relaxed(&role->xrole, &word, TH_ROLE_HELD | TH_ROLE_SIGNAL)) {
            return true;
        }
    }
    return word != 0;
}

/* The holder: gives it up. True when somebody came for it meanwhile: fence, then look. */
static inline bool th_role_give(th_role *role) {
    /* pairs: th_role_take; what we leave. What those did who came is seen after the fence */
    return th_xchg_release(&role->xrole, 0u) & TH_ROLE_SIGNAL;
}

#endif
