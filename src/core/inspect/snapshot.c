/*
 * snapshot.c: see snapshot.h.
 */
#include "core/inspect/snapshot.h"

#include "base/annotate.h"
#include "core/fiber/fiber.h"
#include "core/wait/cancel.h"
#include "core/trace/tick_marks.h"
#include "platform/platform.h"
#include "thrum/mutex.h"
#include "thrum/once.h"
#include "thrum/rwlock.h"

/* Stacks visited before the locks are given up for a moment. */
#define STACKS_MAX TH_LIMIT(1024u, 4u)

void th_snapshot_begin(th_snapshot *snapshot, thrum_sched *sched) {
    *snapshot = (th_snapshot){.sched = sched, .root = sched->workers_count};
    th_tick_marks_note_all(sched, th_os_now());
    th_cancel_hold();
    th_cancel_snapshot_begins(sched);
    snapshot->held = th_cancel_order(sched->can_order);
    th_cancel_let_go();
}

void th_snapshot_end(th_snapshot *snapshot) {
    th_cancel_hold();
    th_cancel_snapshot_ends(snapshot->sched);
    th_cancel_let_go();
}

TH_NO_TSAN void th_snapshot_name(char *to, size_t size, const char *from) {
    size_t i = 0;
    for (; i < size - 1 && from[i]; i++) {
        th_tsan_unseen();
        to[i] = from[i];
    }
    to[i] = '\0';
}

/* A wait for something outside the scheduler. Its object belongs to the caller, which is held. */
static TH_NO_TSAN void see_world(th_seen *seen, const th_waiter *waiter) {
    if (th_on_is_descriptor(seen->on)) {
        seen->turn = waiter->turn;
        seen->note = waiter->note;
    } else if (seen->on == TH_ON_DIAL || seen->on == TH_ON_NAME || seen->on == TH_ON_FILE ||
               seen->on == TH_ON_OUTSIDE) {
        th_snapshot_name(seen->joined, sizeof seen->joined, waiter->object);
    } else if (seen->on == TH_ON_SIGNAL) {
        const int *wanted = waiter->object;
        for (uint32_t i = 0; i < waiter->note; i++) {
            seen->signals |= (uint64_t)1 << (wanted[i] & 63);
        }
    }
}

static TH_NO_TSAN void see_waiter(const th_snapshot *snapshot, th_seen *seen, const th_fiber *fiber,
                                  const th_worker *worker, const th_waiter *waiter) {
    /* relaxed: nothing that the waker wrote is read; for a deadlock the sums decide
     * (DEADLOCK.md) */
    uint32_t word = th_load_relaxed(&waiter->xword);
    bool woken = (word & (TH_WAIT_RELEASED | TH_WAIT_OUTCOME)) != 0;
    seen->state = woken || !(word & TH_WAIT_PARKED) ? TH_SEEN_READY : TH_SEEN_BLOCKED;
    seen->held = true;
    seen->on = (th_on)waiter->on;
    seen->object = waiter->object;
    seen->deadline = waiter->deadline;
    seen->tick = th_load_relaxed(&fiber->xblocked_tick); /* relaxed: came with the waiter */
    /* relaxed: a figure, of another worker if the fiber is just being resumed there */
    uint64_t now = th_load_relaxed(&worker->xtick);
    seen->ticks = now > seen->tick ? now - seen->tick : 0;
    seen->since = snapshot->brief ? 0 : th_tick_marks_since(worker, seen->tick);
    seen->since_least = seen->since != 0;
    /* The object lives until all waits on it have returned. */
    if (seen->on == TH_ON_MUTEX) {
        const thrum_mutex *mutex = waiter->object;
        /* relaxed: a number that is only printed */
        seen->holder = th_load_relaxed(&mutex->reserved_owner);
        seen->since = waiter->since_ns;
        seen->since_least = false;
    } else if (seen->on == TH_ON_READ || seen->on == TH_ON_WRITE) {
        const thrum_rwlock *lock = waiter->object;
        seen->holder = th_load_relaxed(&lock->reserved_owner); /* relaxed: as above */
    } else if (seen->on == TH_ON_ONCE) {
        const thrum_once *once = waiter->object;
        seen->holder = th_load_relaxed(&once->reserved_owner); /* relaxed: as above */
    } else if (seen->on == TH_ON_JOIN) {
        th_snapshot_name(seen->joined, sizeof seen->joined,
                         ((const thrum_handle *)waiter->object)->name);
    } else {
        see_world(seen, waiter);
    }
}

/* The part of a thread's own stack that is in use, as far as the system has reported it. */
static TH_NO_TSAN th_backtrace_stack stack_of_root(const th_fiber *fiber) {
    const th_worker *worker = th_container(fiber, const th_worker, home);
    return (th_backtrace_stack){worker->tie.own_low, worker->tie.own_high};
}

/*
 * The stack pointer of a fiber that runs, if its thread waits in a system call. Otherwise its calls
 * cannot be distinguished from ended ones.
 */
static TH_NO_TSAN uintptr_t pointer_of_running(const th_fiber *fiber) {
    const th_worker *worker = th_load_relaxed(&fiber->worker); /* relaxed: as in see */
    /* relaxed: written when its thread began */
    uint64_t number = worker ? th_load_relaxed(&worker->xtid) : 0;
    return number ? th_os_thread_pointer(number) : 0;
}

/* A root that waits for no wake has no backtrace: it runs its loop, or its own code. */
static TH_NO_TSAN void see_calls(const th_snapshot *snapshot, th_seen *seen, unsigned number,
                                 const th_fiber *fiber, const th_stack *stack,
                                 const th_waiter *waiter) {
    th_backtrace_stack bounds;
    if (!snapshot->backtrace || (fiber->root && !waiter)) {
        return;
    }
    uintptr_t pointer = th_context_pointer(&fiber->context);
    if (seen->state == TH_SEEN_RUNNING) {
        pointer = pointer_of_running(fiber);
        if (pointer < (uintptr_t)stack->bottom || pointer >= (uintptr_t)fiber) {
            return; /* it computes, or waits on another stack */
        }
    }
    if (fiber->root) {
        bounds = stack_of_root(fiber);
    } else {
        bounds = (th_backtrace_stack){(uintptr_t)stack->bottom, (uintptr_t)fiber};
    }
    seen->calls = th_backtrace_scan(snapshot->backtrace, number, bounds, pointer, waiter);
    th_backtrace_ends(snapshot->backtrace, number, seen->fn);
}

/* The part of a snapshot that has been taken so far. */
typedef struct view {
    th_snapshot *snapshot;
    th_seen *seen;
    unsigned count;
    unsigned max;
} view;

/* Describes a fiber. False: no run of a task is on it. */
static TH_NO_TSAN bool see(view *v, const th_fiber *fiber, const th_stack *stack) {
    const th_snapshot *snapshot = v->snapshot;
    th_seen *seen = &v->seen[v->count];
    /* pairs: th_cancel_show; the waiter, and since when */
    const th_waiter *waiter = snapshot->held ? th_load_acquire(&fiber->xblocked) : NULL;
    /* relaxed: as of some recent moment, unless it waits */
    if (!waiter && !th_load_relaxed(&fiber->body)) {
        return false;
    }
    const th_worker *worker = th_load_relaxed(&fiber->worker); /* relaxed: as above */
    if (!worker) {
        /* Its first run has just begun, and may be visible before the worker is. */
        return false;
    }
    *seen = (th_seen){.worker = worker->index, .root = fiber->root, .deadline = TH_FOREVER};
    if (waiter || !snapshot->brief) {
        seen->id = fiber->run_id;
        seen->tied = th_place_worker(fiber->work.worker);
        th_snapshot_name(seen->name, sizeof seen->name, fiber->name);
    }
    if (waiter) {
        see_waiter(snapshot, seen, fiber, worker, waiter);
        seen->fn = th_fiber_function(fiber);
    } else {
        bool runs = th_load_relaxed(&worker->current) == fiber; /* relaxed: as above */
        seen->state = runs ? TH_SEEN_RUNNING : fiber->root ? TH_SEEN_AWAITS : TH_SEEN_READY;
        seen->fn = runs ? th_fiber_function(fiber) : 0;
    }
    see_calls(snapshot, seen, v->count, fiber, stack, waiter);
    return true;
}

/* ---- all fibers ---- */

static TH_NO_TSAN bool visit(void *ctx, const th_stack *stack, bool in_use) {
    view *v = ctx;
    const th_fiber *fiber = in_use ? th_fiber_on(stack) : NULL;
    if (fiber && see(v, fiber, stack)) {
        v->count++;
    }
    return v->count < v->max;
}

/* Visits the bound threads in the order of their numbers; they may come and go meanwhile. */
static TH_NO_TSAN void visit_roots(view *v) {
    th_snapshot *snapshot = v->snapshot;
    thrum_sched *sched = snapshot->sched;
    th_lock_acquire(&sched->bound_lock);
    while (v->count < v->max && snapshot->root < sched->bound_end) {
        const th_worker *worker = th_worker_at(sched, (int32_t)snapshot->root++);
        if (worker && worker->tie.linked && see(v, &worker->home, NULL)) {
            v->count++;
        }
    }
    th_lock_release(&sched->bound_lock);
}

TH_NO_TSAN unsigned th_snapshot_some(th_snapshot *snapshot, th_seen seen[], unsigned max) {
    view v = {snapshot, seen, 0, max};
    while (v.count < max && !snapshot->stacks_seen) {
        th_cancel_hold();
        snapshot->stacks_seen =
            !th_stacks_some(&snapshot->sched->stacks, &snapshot->at, STACKS_MAX, visit, &v);
        th_cancel_let_go();
    }
    if (v.count < max) {
        th_cancel_hold();
        visit_roots(&v);
        th_cancel_let_go();
    }
    return v.count;
}

TH_NO_TSAN bool th_snapshot_one(th_snapshot *snapshot, const th_fiber *fiber,
                                const th_waiter *waiter, th_seen *out) {
    view v = {snapshot, out, 0, 1};
    th_cancel_hold();
    /* relaxed: whether it is the same; `see` acquires its contents */
    bool waits = th_load_relaxed(&fiber->xblocked) == waiter && see(&v, fiber, &fiber->stack) &&
                 out->state == TH_SEEN_BLOCKED;
    th_cancel_let_go();
    return waits;
}
