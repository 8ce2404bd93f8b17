/*
 * atfork.c: see atfork.h.
 *
 * The locks of the process are taken before a fork and given back after it, in both processes.
 * Otherwise the child might never get a lock that another thread of the parent held, and the
 * child's own scheduler would hang. They are held for a short time only, and in this order wherever
 * one is taken with another held: keys, cancel, external, caught, observed. In the child all
 * schedulers of the parent are abandoned: they refuse calls that would wait for missing workers.
 * The platform has locks of its own, which come after these (platform/unix/thread.c).
 */
#include "core/control/atfork.h"
#include "core/control/observed.h"

#include "core/watch/dump_signal.h"
#include "core/record/recorder.h"
#include "core/ready/external.h"
#include "core/due/fork_slots.h"
#include "core/basis/caught.h"
#include "core/state/key.h"
#include "core/state/thread.h"
#include "core/state/worker.h"
#include "core/wait/cancel.h"
#include "platform/platform.h"

#define HIGHER_MAX 8u

static void (*xin_child[HIGHER_MAX])(void); /* of higher floors, the rest NULL */
static uint32_t xforks;

th_lock th_observed_lock = TH_LOCK_INIT;

void th_atfork_in_child(void (*fn)(void)) {
    for (unsigned i = 0; i < HIGHER_MAX; i++) {
        void (*seen)(void) = NULL;
        /* relaxed: the word publishes nothing; the function's data is in its own place */
        if (th_load_relaxed(&xin_child[i]) == fn || th_cas_relaxed(&xin_child[i], &seen, fn) ||
            seen == fn) {
            break;
        }
    }
    th_atfork_watch();
}

uint32_t th_atfork_count(void) {
    return th_load_relaxed(&xforks); /* relaxed: of forks that are ordered with the caller */
}

static void before_fork(void) {
    th_add_relaxed(&xforks, 1u); /* relaxed: as above */
    th_lock_acquire(&th_keys_lock);
    th_lock_acquire(&th_cancel_lock);
    th_lock_acquire(&th_external_lock);
    th_lock_acquire(&th_caught_lock);
    th_lock_acquire(&th_observed_lock);
}

static void release_others(void) {
    th_lock_release(&th_external_lock);
    th_lock_release(&th_cancel_lock);
    th_lock_release(&th_keys_lock);
}

static void in_parent(void) {
    th_lock_release(&th_observed_lock);
    th_lock_release(&th_caught_lock);
    release_others();
}

/*
 * Detaches the child's only thread from the parent's worker: it stays on the fiber's stack, but is
 * no longer a worker, so that nothing it does reaches a queue. It keeps the task's identity as the
 * owner of locks, and the task's values. At the end of the body the fiber is found dirty, and the
 * process ends there (run.c).
 */
static TH_NO_TSAN void orphan(void) {
    th_thread *thread = th_thread_self();
    th_worker *worker = thread->worker;
    if (!worker && !thread->serves) {
        return;
    }
    if (worker) {
        th_fiber *fiber = worker->current;
        /* relaxed: our own thread is the only one */
        th_store_relaxed(&thread->xid, fiber->run_id);
        fiber->dirty = true;
        if (!fiber->root) {
            thread->key_values = fiber->key_values;
            fiber->key_values = (th_key_values){0};
            thread->at_exit[TH_EXIT_KEYS] = th_key_values_end_with;
        }
        th_forks_orphaned(&worker->forks);
        th_thread_becomes(NULL);
    }
    thread->acts_for = NULL;
    thread->orphan = true;
    thread->alone = true;
}

static void in_child(void) {
    th_external_abandon();
    orphan();
    th_lock_release(&th_caught_lock); /* owners of caught signals let go of them now */
    th_dump_signal_in_child();
    th_recorder_in_child();
    for (unsigned i = 0; i < HIGHER_MAX && xin_child[i]; i++) {
        xin_child[i]();
    }
    th_lock_release(&th_observed_lock);
    release_others();
}

void th_atfork_watch(void) {
    (void)th_os_at_fork(before_fork, in_parent, in_child); /* refused: the next start asks again */
}
