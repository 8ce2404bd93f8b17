/*
 * owners.h: plain threads that own objects that others wait for. A scheduler whose fibers all wait
 * is not deadlocked while such a thread goes on (core/watch/DEADLOCK.md).
 */
#ifndef TH_OWNERS_H
#define TH_OWNERS_H

#include "core/basis/waiter_state.h"
#include "core/state/worker.h"

#define TH_OWNERS_MAX TH_LIMIT(16u, 4u)

/* Plain and bound threads that own objects that fibers, or other such threads, wait for. */
typedef struct th_owners {
    uint64_t ids[TH_OWNERS_MAX];
    unsigned count;
} th_owners;

/*
 * Notes the thread that owns the object that `waiter` waits for, if a thread does. False: nobody
 * owns the mutex or the once now, or the waiter itself does already, so a plain thread is giving it
 * up and has not woken the waiter yet (a fiber or a bound thread that does so would be running); or
 * there is no room to note one.
 */
bool th_owners_note(th_owners *owners, th_on on, uint64_t waiter, uint64_t holder);

/*
 * Whether each of them waits itself, and the owners of the objects that they wait for do too, and
 * so on, all at one moment. An owner that does not wait will give up its object. Takes
 * th_cancel_lock.
 */
bool th_owners_wait(thrum_sched *sched, th_owners *owners);

#endif
