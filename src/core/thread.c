/*
 * thread.c: a thread's record, and who it is.
 */
#include "core/thread.h"

#include <errno.h>

#include "base/atomic.h"
#include "base/check.h"
#include "core/fiber.h"
#include "core/outside.h"
#include "core/wait.h"
#include "core/worker.h"

_Static_assert(sizeof(th_thread) <= TH_OS_SELF_BYTES, "the record fits into the thread's storage");

/* Plain threads are numbered with the top bit set; fibers' runs without (fiber.c). */
#define TH_ID_THREAD (1ull << 63)
static uint64_t xthread_ids;

void th_thread_ends(void *self) {
    th_thread *thread = self;
    if (thread->worker) {
        th_misuse("thrum_sched_unbind", "missing: a thread has ended bound", thread->worker);
    }
    th_outside_retire_all(thread);
    th_locals_end(&thread->locals, false);
    thread->exit_registered = false; /* a later destructor may need it again */
}

int th_thread_refusal(void) {
    return th_thread_self()->orphan ? -ESHUTDOWN : -ESRCH;
}

void th_thread_body_ends(int status) {
    th_os_exit(status);
}

void th_thread_accompanied(void) {
    th_thread *thread = th_thread_self();
    if (thread->alone) {
        thread->alone = false;
    }
}

/*
 * The worker is the parent's: the thread stays on the fiber's stack, but is none of its workers any
 * more, so that nothing reaches a queue. It keeps what the task had: who it is, as the owner of
 * locks, and its values. The body's end finds the fiber dirty, and the process ends there (run.c).
 */
TH_NO_TSAN void th_thread_orphaned(void) {
    th_thread *thread = th_thread_self();
    th_worker *worker = thread->worker;
    if (!worker && !thread->serves) {
        return;
    }
    if (worker) {
        th_fiber *fiber = worker->current;
        thread->id = fiber->run_id;
        fiber->dirty = true;
        if (!fiber->root) {
            thread->locals = fiber->locals;
            fiber->locals = (th_locals){0};
        }
        th_forks_orphaned(&worker->forks);
        thread->worker = NULL;
    }
    thread->acts_for = NULL;
    thread->orphan = true;
    thread->alone = true;
}

TH_NO_TSAN bool th_thread_keep(th_thread *thread) {
    if (!thread->exit_registered) {
        thread->exit_registered =
            th_os_self_on_exit(th_thread_ends) == 0 && th_os_self_set(thread) == 0;
    }
    return thread->exit_registered;
}

uint64_t th_self_id(void) {
    const th_worker *worker = th_here();
    if (th_likely(worker != NULL)) {
        return worker->current->run_id;
    }
    th_thread *thread = th_thread_self();
    if (th_unlikely(!thread->id)) {
        /* relaxed: only the numbers must differ */
        thread->id = TH_ID_THREAD | (th_add_relaxed(&xthread_ids, 1u) + 1);
    }
    return thread->id;
}

uint32_t th_self_random(void) {
    th_worker *worker = th_here();
    th_random *random = worker ? &worker->current->random : &th_thread_self()->random;
    if (th_unlikely(random->state == 0)) {
        th_random_seed(random, th_self_id());
    }
    return th_random_next(random);
}

void th_backoff(unsigned *spins) {
    if (++*spins < 32) {
        th_os_relax();
    } else {
        th_os_thread_yield(); /* the holder may be waiting for this very core */
    }
}
