/*
 * thread.c: a thread's record, and its identity.
 */
#include "core/state/thread.h"

#include <errno.h>

#include "base/atomic.h"
#include "core/state/self_id.h"

_Static_assert(sizeof(th_thread) <= TH_OS_SELF_BYTES, "the record fits into the thread's storage");

/* The ids of plain threads have the top bit set, those of fibers' runs do not (fiber.c). */
static uint64_t xthread_ids;

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

uint64_t th_thread_id(void) {
    th_thread *thread = th_thread_self();
    uint64_t id = th_load_relaxed(&thread->xid); /* relaxed: our own */
    if (th_unlikely(!id)) {
        /* relaxed: the ids only have to differ */
        id = TH_ID_THREAD | (th_add_relaxed(&xthread_ids, 1u) + 1);
        th_store_relaxed(&thread->xid, id); /* relaxed: inspectors compare it */
    }
    return id;
}

TH_NO_TSAN uint32_t th_self_random(void) {
    th_worker *worker = th_here();
    th_random *random = worker ? &worker->current->random : &th_thread_self()->random;
    if (th_unlikely(random->state == 0)) {
        th_random_seed(random, th_self_id());
    }
    return th_random_next(random);
}

void th_backoff_step(unsigned step) {
    if (step < 32) {
        th_os_relax();
    } else {
        th_os_thread_yield(); /* the holder may be waiting for this very core */
    }
}

th_fiber *th_fiber_self(void) {
    th_worker *worker = th_here();
    if (!worker) {
        return NULL;
    }
    th_fiber *fiber = worker->current;
    return fiber && fiber->body ? fiber : NULL;
}

/* The fiber of a caller that counts what it holds, or NULL. */
static TH_NO_TSAN th_fiber *counts(void) {
    th_fiber *fiber = th_fiber_self();
    return fiber && !fiber->root ? fiber : NULL;
}

TH_NO_TSAN uint64_t th_held_add(const void *mutex) {
    th_fiber *fiber = counts();
    if (fiber) {
        const bool first = fiber->held_run != fiber->run_id;
        fiber->held_run = fiber->run_id;
        fiber->held_count = first ? 1 : fiber->held_count + 1;
        fiber->held = first ? (uintptr_t)mutex : fiber->held ^ (uintptr_t)mutex;
        fiber->dirty = true;
        fiber->examined = true;
    }
    return th_self_id();
}

TH_NO_TSAN uint64_t th_held_drop(const void *mutex) {
    th_fiber *fiber = counts();
    if (fiber) {
        fiber->held_count--;
        fiber->held ^= (uintptr_t)mutex;
    }
    return th_self_id();
}

thrum_sched *thrum_sched_current(void) {
    const th_worker *worker = th_here();
    return worker ? worker->sched : NULL;
}
