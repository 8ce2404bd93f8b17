/*
 * owners.c: see owners.h.
 */
#include "core/inspect/owners.h"

#include "base/annotate.h"
#include "core/inspect/edge.h"
#include "core/ready/external.h"
#include "core/wait/cancel.h"

bool th_owners_note(th_owners *owners, th_on on, uint64_t waiter, uint64_t holder) {
    const bool has_one = on == TH_ON_MUTEX || on == TH_ON_ONCE; /* or is just losing it */
    if ((has_one && !holder) || holder == waiter) {
        return false;
    }
    if (!(holder & TH_ID_THREAD)) {
        return true;
    }
    for (unsigned i = 0; i < owners->count; i++) {
        if (owners->ids[i] == holder) {
            return true;
        }
    }
    if (owners->count == TH_OWNERS_MAX) {
        return false;
    }
    owners->ids[owners->count++] = holder;
    return true;
}

/* Whether it is a bound thread, as which it sleeps: see count_sleepers. */
static bool is_bound(thrum_sched *sched, uint64_t id) {
    bool is = false;
    TH_LOCKED(&sched->bound_lock);
    for (const th_worker *w = sched->bound; w && !is; w = w->bound_next) {
        is = w->home.run_id == id;
    }
    return is;
}

/*
 * Whether the thread waits for a wake from an object without an owner, which has not come, and
 * nothing else ends the wait. It may go on meanwhile: then its stack, which exists as long as its
 * record, has other variables.
 */
static TH_NO_TSAN TH_NO_ASAN bool waits_for_wake(const th_thread *thread) {
    /* pairs: th_waiter_show; the waiter is made */
    const volatile th_waiter *waiter = th_load_acquire(&thread->xwaiter);
    if (!waiter || waiter->deadline != TH_FOREVER || th_on_has_owner((th_on)waiter->on) ||
        waiter->on == TH_ON_BLOCKING || waiter->on >= TH_ON_SCHED) {
        return false;
    }
    /* relaxed: a wake by a task came before the task was counted as suspended (DEADLOCK.md) */
    const bool woken = (th_load_relaxed(&waiter->xword) & (TH_WAIT_OUTCOME | TH_WAIT_RELEASED));
    return !woken && th_load_relaxed(&thread->xwaiter) == waiter; /* relaxed: as of now */
}

/*
 * Notes the owner of the object that the thread waits for. False: it goes on, or is not known
 * here.
 */
static TH_NO_TSAN bool waits(thrum_sched *sched, uint64_t id, th_owners *owners) {
    th_edge edge;
    th_lock_acquire(&th_external_lock); /* so that no record is retired, and its thread lives */
    const th_thread *thread = th_edge_thread(sched, id);
    bool result = false;
    if (thread) {
        result = th_edge_see_thread(thread, &edge)
                     ? th_owners_note(owners, edge.on, edge.id, edge.holder)
                     : waits_for_wake(thread);
    }
    th_lock_release(&th_external_lock);
    return result;
}

/* Checks owners found on the way as well. With th_cancel_lock. */
static bool all_wait(thrum_sched *sched, th_owners *owners) {
    for (unsigned i = 0; i < owners->count; i++) {
        const uint64_t id = owners->ids[i];
        if (!is_bound(sched, id) && !waits(sched, id, owners)) {
            return false;
        }
    }
    return true;
}

bool th_owners_wait(thrum_sched *sched, th_owners *owners) {
    if (!owners->count) {
        return true;
    }
    th_cancel_hold();
    bool all = all_wait(sched, owners); /* 1: each waits, from here on until the end of the hold */
    const unsigned found = owners->count;
    all = all && all_wait(sched, owners) && owners->count == found && /* 2: for these alone */
          all_wait(sched, owners);                                    /* 3: and is not woken */
    th_cancel_let_go();
    return all;
}
