/*
 * asymmetric.h: the asymmetric fence, for a handshake in which one side comes all the time and the
 * other one seldom.
 *
 * Each side stores a word of its own, then loads the other side's word, and one of the two must see
 * the other's store: otherwise a worker would run work that a rescuer takes, or a fiber sleep
 * through its cancel. With a full fence between store and load on both sides that is certain, and
 * each take, fork or wait would pay for it. Here
 *
 *     the light side   stores its word;  th_fence_light;  loads the other's
 *     the heavy side   stores its word;  th_fence_heavy;  loads the other's
 *
 * where the light fence holds for the compiler only, and the heavy one has the system make every
 * running thread execute a full fence.
 *
 * Argument: the fence that the system makes the light side's processor execute is at one place of
 * the light side's program, since an interrupt takes effect between two instructions. If it is
 * behind the light store, that store is visible to the heavy side's load, which comes after the
 * call. Otherwise it is before the light store, and so before the light load, which comes later in
 * the program and which the compiler did not move: it sees the heavy store, which came before the
 * call. A thread that does not run meanwhile has been, or will be, switched by the system, which is
 * a full fence as well.
 *
 * The heavy fence may fail: for want of memory, or for ever if a sandbox refuses it. Then nothing
 * is ordered, and the heavy side must not conclude anything.
 *
 * Users: the places of a worker's own work (queue/asymmetric_fence.h), forks (parallel/forking.h),
 * cancels and snapshots (core/wait/cancel.h), the wake of a sentinel that sleeps long
 * (core/ready/wake.h), rousing the watcher of stalls (core/worker/watched_find.c).
 */
#ifndef TH_ASYMMETRIC_H
#define TH_ASYMMETRIC_H

#include "base/atomic.h"
#include "platform/platform.h"

static TH_ALWAYS_INLINE void th_fence_light(void) {
    th_fence_compiler();
}

/* A system call, up to 20 us. False: nothing is ordered. */
static inline bool th_fence_heavy(void) {
    return th_os_barrier();
}

#endif
