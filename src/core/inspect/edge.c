/*
 * edge.c: see edge.h.
 */
#include "core/inspect/edge.h"

#include "base/annotate.h"
#include "core/ready/external.h"
#include "core/wait/cancel.h"
#include "thrum/mutex.h"
#include "thrum/once.h"
#include "thrum/rwlock.h"

/* The spawned task whose body the fiber runs, beneath the parts of its run; NULL: there is none. */
static TH_NO_TSAN const thrum_handle *task_of(const th_fiber *fiber) {
    const thrum_handle *handle = fiber->inherited.handle;
    /* relaxed: constant, except for the bit of a cancel */
    while (handle && (th_load_relaxed(&handle->xcancelled) & TH_CANCEL_NESTED)) {
        handle = th_part_of(handle)->outer;
    }
    return handle;
}

/* Whether a deadline, or a cancel that has begun, ends a wait that can be cancelled. */
static TH_NO_TSAN bool will_end(const th_fiber *fiber) {
    const thrum_handle *handle = fiber->inherited.handle;
    /* relaxed: a cancel that is seen later ends the wait later; the watcher looks twice for it */
    return fiber->inherited.deadline != TH_FOREVER ||
           (th_load_relaxed(&fiber->sched->xcancelling) & TH_CANCEL_ALL) != 0 ||
           (handle && th_cancel_is_set(handle));
}

/* The object lives until the wait has returned. False: no single owner ends the wait. */
static TH_NO_TSAN bool see_object(const th_waiter *waiter, th_edge *out) {
    /* relaxed: each owner that has begun its own wait has written its number before (CYCLES.md) */
    switch (out->on) {
    case TH_ON_MUTEX:
        out->holder = th_load_relaxed(&((const thrum_mutex *)waiter->object)->reserved_owner);
        return true;
    case TH_ON_READ:
    case TH_ON_WRITE:
        /* relaxed: as above */
        out->holder = th_load_relaxed(&((const thrum_rwlock *)waiter->object)->reserved_owner);
        return true;
    case TH_ON_ONCE:
        /* relaxed: as above */
        out->holder = th_load_relaxed(&((const thrum_once *)waiter->object)->reserved_owner);
        return true;
    case TH_ON_JOIN:
        /* relaxed: as above; it is only compared, since the task may be another scheduler's */
        out->runner = th_load_relaxed(&((const thrum_handle *)waiter->object)->xfiber);
        return true;
    default:
        return out->on == TH_ON_SCOPE;
    }
}

TH_NO_TSAN bool th_edge_see(const th_fiber *fiber, th_edge *out) {
    /* pairs: th_cancel_show; the waiter, and its task's earlier writes */
    const th_waiter *waiter = th_load_acquire(&fiber->xblocked);
    if (!waiter) {
        return false;
    }
    /* relaxed: the last pass sees a later wake (CYCLES.md) */
    const uint32_t word = th_load_relaxed(&waiter->xword);
    if (!(word & TH_WAIT_PARKED) || (word & (TH_WAIT_RELEASED | TH_WAIT_OUTCOME)) ||
        waiter->deadline != TH_FOREVER) {
        return false;
    }
    *out = (th_edge){.fiber = fiber, .waiter = waiter, .on = (th_on)waiter->on};
    out->object = waiter->object;
    out->id = fiber->run_id;
    out->tick = th_load_relaxed(&fiber->xblocked_tick); /* relaxed: came with the waiter */
    out->can_cancel = th_cancel_can(waiter);
    if ((out->can_cancel && will_end(fiber)) || !see_object(waiter, out)) {
        return false;
    }
    const thrum_handle *task = fiber->delegated == TH_DELEGATED_NONE ? task_of(fiber) : NULL;
    out->child_of = task ? task->scope : NULL;
    return true;
}

TH_NO_TSAN bool th_edge_see_thread(const th_thread *thread, th_edge *out) {
    /*
     * pairs: th_waiter_show; the waiter is made, an earlier one is no longer shown, and the
     * thread's earlier writes
     */
    const uint64_t shown = th_load_acquire(&thread->xwaits);
    const th_waiter *waiter = th_load_relaxed(&thread->xwaiter); /* relaxed: as above */
    const th_on on = (th_on)(shown >> TH_SHOWN_SHIFT);
    if (!th_on_has_owner(on) || !waiter) {
        return false;
    }
    /* relaxed: the last pass sees a later wake (CYCLES.md) */
    const uint32_t word = th_load_relaxed(&waiter->xword);
    if ((word & (TH_WAIT_RELEASED | TH_WAIT_OUTCOME)) || waiter->deadline != TH_FOREVER) {
        return false;
    }
    *out = (th_edge){.waiter = waiter, .on = on, .object = waiter->object};
    out->id = th_load_relaxed(&thread->xid); /* relaxed: written once, before it owned anything */
    out->tick = th_load_relaxed(&thread->xwaits_count); /* relaxed: came with the waiter */
    return out->id && see_object(waiter, out);
}

TH_NO_TSAN const th_thread *th_edge_thread(const thrum_sched *sched, uint64_t id) {
    for (const th_external *r = sched->externals.first; r; r = r->next_of_sched) {
        /* relaxed: written once, before the thread owned anything; an old value is 0 */
        if (r->thread && th_load_relaxed(&r->thread->xid) == id) {
            return r->thread;
        }
    }
    return NULL;
}

bool th_edge_see_id(const thrum_sched *sched, uint64_t id, th_edge *out) {
    TH_LOCKED(&th_external_lock);
    const th_thread *thread = th_edge_thread(sched, id);
    return thread && th_edge_see_thread(thread, out);
}

bool th_edge_leads(const th_edge *a, const th_edge *b) {
    if (a->id == b->id) {
        return false; /* the thing was handed to the waiter, which is about to be woken */
    }
    return a->on == TH_ON_SCOPE  ? a->object == b->child_of
           : a->on == TH_ON_JOIN ? b->fiber && a->runner == b->fiber
                                 : a->holder == b->id;
}
