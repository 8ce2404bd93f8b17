/*
 * lock.c: the lock's slow half: spin a little, then sleep in the kernel.
 *
 * A sleeper always marks the word 2 before it sleeps, and a thread that took the lock after waiting
 * keeps the mark, since it cannot know whether others still sleep. So a release that sees 1 has no
 * sleeper to wake, and a release that sees 2 makes at most one spurious futex call.
 */
#include "core/basis/lock.h"

#include "platform/platform.h"

/* The time that a holder on another core needs; a slower holder was probably preempted. */
#define SPINS_MAX TH_LIMIT(40, 1)

void th_lock_acquire_slow(th_lock *lock) {
    for (unsigned i = 0; i < SPINS_MAX; i++) {
        /* relaxed: only a hint that a try is worth it; the try decides */
        if (th_load_relaxed(&lock->xword) == 0 && th_lock_try(lock)) {
            return;
        }
        th_os_relax();
    }
    /* pairs: th_lock_release; takes over the previous holder's writes */
    while (th_xchg_acquire(&lock->xword, 2) != 0) {
        /* EAGAIN, EINTR, spurious wakes: the exchange decides again */
        (void)th_os_futex_wait(&lock->xword, 2, TH_FOREVER);
    }
}

void th_lock_wake(th_lock *lock) {
    th_os_futex_wake(&lock->xword, 1);
}
