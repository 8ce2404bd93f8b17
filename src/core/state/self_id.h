/*
 * self_id.h: the caller's identity, as the owner of a lock; and what a run holds.
 *
 * If mistakes are looked for (THRUM_CHECK), a run counts the mutexes that it holds, and its end
 * reports those that it has not unlocked: nobody can, since its number is never used again. That is
 * never false. A lock and its unlock are calls of the same run, on workers of one scheduler, so
 * both count or neither does, and what an earlier run of the fiber left has another number. A plain
 * thread, a bound thread's own code and a hook do not count: what they hold ends with no run.
 *
 * Callers that do not count have no instruction more: they read a pointer to their worker that is
 * NULL for those that count as well, in place of one that is NULL for plain threads alone.
 */
#ifndef TH_SELF_ID_H
#define TH_SELF_ID_H

#include "core/state/worker.h"

/*
 * The caller's id: one number for each run of a task and for each plain thread, never 0, never used
 * again. Not seen by TSan: a fiber lies where a library that it does not see may have written
 * before. Inline, since locks that nobody else wants ask at each lock and unlock.
 */
static TH_INLINE_NO_TSAN uint64_t th_self_id(void) {
    const th_worker *worker = th_here();
    return th_likely(worker) ? worker->current->run_id : th_thread_id();
}

/* Count a mutex that the caller locks, or unlocks, if it is a run of a task. The caller's id. */
TH_COLD uint64_t th_held_add(const void *mutex);
TH_COLD uint64_t th_held_drop(const void *mutex);

/* The id of a caller that locks a mutex, which counts at once: th_locker_fails takes it back. */
static TH_INLINE_NO_TSAN uint64_t th_locker_id(const void *mutex) {
    const th_worker *worker = th_thread_self()->uncounted;
    return th_likely(worker) ? worker->current->run_id : th_held_add(mutex);
}

/* The id of a caller that unlocks a mutex. If it does not hold it, the program ends anyway. */
static TH_INLINE_NO_TSAN uint64_t th_unlocker_id(const void *mutex) {
    const th_worker *worker = th_thread_self()->uncounted;
    return th_likely(worker) ? worker->current->run_id : th_held_drop(mutex);
}

/* The caller did not get the mutex. Returns the code. */
static TH_INLINE_NO_TSAN int th_locker_fails(const void *mutex, int code) {
    if (th_unlikely(!th_thread_self()->uncounted)) {
        (void)th_held_drop(mutex);
    }
    return code;
}

#endif
