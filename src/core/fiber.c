/*
 * fiber.c: making fibers, keeping idle ones, switching between them.
 */
#include "core/fiber.h"

#include "base/annotate.h"
#include "base/check.h"
#include "core/bound.h"
#include "core/find.h"
#include "core/idle.h"
#include "core/overflow.h"
#include "core/timer.h"
#include "core/worker.h"
#include "platform/platform.h"
#include "thrum/base.h"

/* Stack tops are coloured within their page, or all control blocks would compete for the same
 * lines. */
#define COLOUR_STEP ((size_t)128)
#define COLOURS 16

/* Yields of a fiber that is alone on its worker, before its worker looks at the others. */
#define LONE_YIELDS TH_LIMIT(16, 3)

/* The rest of a stack below its hottest part goes back to the system before it is kept. */
#define KEEP_BYTES ((size_t)16 * 1024)
/* Of so many idle stacks that leave a worker one is measured at least. */
#define SAMPLED 16

static uint64_t xnumbers; /* each fiber's number is the upper half of its runs' ids */

#if TH_TSAN_CONTEXTS
/*
 * What tasks did is known to whoever waited until the scheduler was idle (th_idle_now). Tasks tied
 * to one worker are ordered by that, as by a thread: they may share data without more ado.
 */
TH_NO_TSAN void th_enter(th_worker *worker) {
    th_tsan_release(worker->sched);
    if (worker->current->work.worker >= 0) {
        th_tsan_release(worker);
    }
    th_tsan_to_worker(worker->tsan);
}

TH_NO_TSAN void th_leave(th_worker *worker) {
    th_tsan_to_task(worker->current->tsan);
    th_tsan_acquire(&worker->tsan); /* the thread's own variables, and what its start hook did */
    if (worker->current->work.worker >= 0) {
        th_tsan_acquire(worker);
    }
}
#endif

/* Switching away and coming back: everything that must hold at the very moment. */
static TH_INLINE_NO_TSAN void switch_to(th_worker *worker, th_fiber *from, th_fiber *to) {
    if (th_is_traced(worker)) {
        th_trace_switches(worker, from, to);
    }
    th_store_relaxed(&to->worker, worker);  /* relaxed: for who looks (look.c); else our own */
    th_store_relaxed(&worker->current, to); /* relaxed: as above */
    th_count(&worker->counters.xswitches, 1);
    bool for_ever = worker->left.kind == TH_COMMIT_RETIRE;
    th_asan_leave(for_ever ? NULL : &from->asan_fake, to->stack.bottom,
                  (size_t)(to->stack.top - to->stack.bottom));
    th_context_jump(&from->context, &to->context);
    th_asan_arrive(from->asan_fake, NULL, NULL);
    th_commit(from->worker);
}

TH_NO_TSAN void th_switch_to(th_worker *worker, th_fiber *from, th_fiber *to) {
    switch_to(worker, from, to);
}

/* Where a fresh fiber begins: as if it came back from a switch. */
static TH_NO_TSAN void fiber_main(void *arg) {
    th_fiber *fiber = arg;
#if TH_ASAN
    const void *bottom;
    size_t size;
    th_asan_arrive(NULL, &bottom, &size);
    th_fiber *home = &fiber->worker->home;
    if (!home->stack.bottom) { /* the first switch on this thread came from its own stack */
        home->stack.bottom = (char *)(uintptr_t)bottom;
        home->stack.top = home->stack.bottom + size;
    }
#endif
    th_commit(fiber->worker);
    th_loop(fiber);
    th_broken(__FILE__, __LINE__, "a fiber's loop returned"); /* GCOVR_EXCL_LINE: never */
}

void th_fiber_check_canary(const th_fiber *fiber) {
    if (th_unlikely(!th_stack_canary_ok(&fiber->stack))) {
        th_overflow_stop(fiber);
    }
}

TH_NO_TSAN void th_suspend(th_fiber *fiber, th_commit_kind commit, void *arg) {
    th_worker *worker = fiber->worker;
    if (th_unlikely(fiber->canary)) {
        th_fiber_check_canary(fiber);
    }
    th_work *work = commit == TH_COMMIT_YIELD ? th_find_claimed(worker) : NULL;
    if (!work) {
        th_timers_poll(worker);
        work = worker->policy->pick(worker);
    }
    /* Nobody else: it goes on at once, but now and then the long way, to see who could be helped.
     */
    if (!work && commit == TH_COMMIT_YIELD && ++worker->lone_yields % LONE_YIELDS &&
        !worker->policy->pending(worker)) {
        return;
    }
    worker->left = (th_left){.kind = commit, .fiber = fiber, .arg = arg};
    th_count(&worker->counters.xsuspends, 1);
    th_fiber *to;
    if (work && work->kind == TH_WORK_FIBER) {
        to = th_fiber_of(work); /* straight to the next: one switch a handoff */
        th_count(&worker->counters.xfibers_resumed, 1);
    } else {
        worker->handoff = work;
        worker->quick = NULL;      /* it comes first */
        to = th_idle_take(worker); /* there is one: a task only starts while there is */
    }
    switch_to(worker, fiber, to);
}

th_fiber *th_fiber_self(void) {
    th_worker *worker = th_here();
    if (!worker) {
        return NULL;
    }
    th_fiber *fiber = worker->current;
    return fiber && fiber->body ? fiber : NULL;
}

uint64_t th_fiber_fresh_id(void) {
    /* relaxed: only the numbers must differ; their top bit is left to plain threads (thread.c) */
    return ((th_add_relaxed(&xnumbers, 1u) + 1) & 0x7fffffff) << 32;
}

/*
 * A context inherits what its maker knows, and a worker knows what every task before did: then
 * tasks would look ordered by the making of their fibers. So in thread-sanitizer builds contexts
 * are made in one that knows nothing else. It does not know the worker's own stack either, on
 * which this runs: whatever shows an access to a local must not be called here.
 */
static TH_NO_TSAN void *make_context(void) {
    th_worker *worker = TH_TSAN_CONTEXTS ? th_here() : NULL;
    if (worker) {
        th_tsan_to_task(worker->tsan_maker);
    }
    void *context = th_tsan_create_one_of_many();
    if (worker) {
        th_tsan_to_worker(worker->tsan);
    }
    return context;
}

_Static_assert(sizeof(th_timed) <= TH_STACK_RECORD, "a fiber's timer lies beside its stack");

/* At the very top of each stack: its fiber, which lies somewhat below. */
static inline th_fiber **anchor_of(const th_stack *stack) {
    return (th_fiber **)(void *)(stack->top - sizeof(th_fiber *));
}

TH_NO_TSAN th_fiber *th_fiber_new(thrum_sched *sched, unsigned stack_class, bool single) {
    th_stack stack;
    if (th_stack_get(&sched->stacks, stack_class, &stack)) {
        return NULL;
    }
    char *top = stack.top;
    uint64_t run_id = th_fiber_fresh_id();
    if (th_stack_class_size(stack_class) >= 64 * 1024) {
        top -= COLOUR_STEP * ((run_id >> 32) % COLOURS);
    }
    uintptr_t at = ((uintptr_t)top - sizeof(th_fiber *) - sizeof(th_fiber)) & ~(uintptr_t)63;
    th_fiber *fiber = (th_fiber *)at;
    th_asan_unpoison(stack.bottom, (size_t)(stack.top - stack.bottom));
    *fiber = (th_fiber){.work = {.kind = TH_WORK_FIBER, .worker = -1},
                        .sched = sched,
                        .heritage = {.deadline = TH_FOREVER},
                        .stack = stack,
                        .run_id = run_id,
                        .canary = stack.guard == THRUM_GUARD_CANARY,
                        .single = single};
    fiber->valgrind = th_valgrind_stack(stack.bottom, stack.top);
    fiber->tsan = single ? make_context() : NULL; /* bodies run on single ones there */
    th_context_make(&fiber->context, stack.bottom, fiber, fiber_main, fiber);
    /* pairs: th_fiber_on; the fiber as it was made */
    th_store_release(anchor_of(&stack), fiber);
    return fiber;
}

TH_NO_TSAN th_fiber *th_fiber_on(const th_stack *stack) {
    return th_load_acquire(anchor_of(stack)); /* pairs: th_fiber_new; the fiber as it was made */
}

TH_NO_TSAN void th_fiber_free(th_fiber *fiber) {
    th_stacks *stacks = &fiber->sched->stacks;
    th_stack stack = fiber->stack;
    th_valgrind_stack_gone(fiber->valgrind);
    if (fiber->single) {
        th_tsan_destroy(fiber->tsan);
    }
    th_asan_unpoison(stack.bottom, (size_t)(stack.top - stack.bottom));
    /* relaxed: whoever finds it meanwhile finds it not blocked, and nothing is unmapped */
    th_store_relaxed(anchor_of(&stack), NULL);
    th_tsan_release(stack.record); /* for its next user: th_waiter_wait_until */
    th_stack_put(stacks, stack);
}

/* The figure of all bound threads: their records' own are not to be found by who reads. */
static void show_bound(thrum_sched *sched, size_t used) {
    uint64_t most = th_load_relaxed(&sched->xbound_high_water); /* relaxed: a figure to look at */
    /* lock-free: it fails only when another thread has made it larger */
    /* relaxed: a figure to look at */
    while (most < used && !th_cas_relaxed(&sched->xbound_high_water, &most, (uint64_t)used)) {
    }
}

/* How deep its stack went since it was last asked, 0 when nothing ran on it: a system call. */
static size_t measure(th_worker *worker, th_fiber *fiber) {
    if (!fiber->ran) {
        return 0;
    }
    fiber->ran = false;
    size_t used = th_stack_high_water(&fiber->stack);
    if (used > worker->stack_high_water_seen) {
        worker->stack_high_water_seen = used;
        th_store_relaxed(&worker->xstack_high_water, used); /* relaxed: a figure to look at */
        if (worker->bound) {
            show_bound(worker->sched, used);
        }
    }
    return used;
}

/* The same, and gives back what is beyond the pages that are kept; whether there was such. */
static bool trim(th_worker *worker, th_fiber *fiber) {
    if (measure(worker, fiber) <= KEEP_BYTES) {
        return false;
    }
    th_stack_trim(&fiber->stack, KEEP_BYTES);
    return true;
}

/* ---- what the fiber before left to do ---- */

TH_NO_TSAN void th_commit(th_worker *worker) {
    th_left left = worker->left;
    bool is_root = worker->bound && left.fiber == &worker->home; /* else it may be gone below */
    worker->left.kind = TH_COMMIT_NONE;
    switch (left.kind) {
    case TH_COMMIT_NONE:
        return;
    case TH_COMMIT_WAIT:
        th_wait_commit(worker, left.fiber, left.arg);
        break;
    case TH_COMMIT_UNLOCK:
        th_wait_commit_unlock(left.arg);
        break;
    case TH_COMMIT_YIELD:
        th_count(&worker->counters.xyields, 1);
        worker->unseen = true;
        th_ready_on(worker, left.fiber, THRUM_HINT_YIELD);
        worker->unseen = false;
        break;
    case TH_COMMIT_ROOT:
        return;
    case TH_COMMIT_IDLE:
        th_idle_put(worker, left.fiber);
        return;
    case TH_COMMIT_RETIRE:
        (void)measure(worker, left.fiber);
        th_fiber_free(left.fiber);
        th_count(&worker->counters.xstacks_freed, 1);
        return;
    }
    /*
     * The run ended by suspending. Counted last: whoever queued the fiber again counted that
     * before.
     */
    if (th_likely(!is_root)) {
        th_flow_ended(&worker->flow.xsuspended);
    }
}

/* ---- idle fibers ---- */

/*
 * To measure each would cost more than all else that a short task does. So samples are measured,
 * and after one that went deep, as its neighbours probably did, all that follow; the others when
 * there is nothing to do (trim_store), or another time.
 */
static void spill(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    th_fiber *first = worker->idle;
    th_fiber *last = first;
    bool deep = trim(worker, first);
    for (unsigned i = 1; i < TH_IDLE_KEPT; i++) {
        last = last->next;
        if (deep || i % SAMPLED == 0) {
            deep = trim(worker, last) || deep;
        }
    }
    worker->idle = last->next;
    worker->idle_count -= TH_IDLE_KEPT;
    th_lock_acquire(&sched->fibers_lock);
    last->next = sched->fibers;
    sched->fibers = first;
    sched->fibers_count += TH_IDLE_KEPT;
    th_store_relaxed(&sched->xfibers_unmeasured, true); /* relaxed: for who parks last (th_park) */
    th_lock_release(&sched->fibers_lock);
}

void th_idle_put(th_worker *worker, th_fiber *fiber) {
    fiber->next = worker->idle;
    worker->idle = fiber;
    if (th_unlikely(++worker->idle_count >= 2 * TH_IDLE_KEPT)) {
        spill(worker);
    }
}

TH_NO_TSAN th_fiber *th_idle_take(th_worker *worker) {
    th_fiber *fiber = worker->idle;
    th_check(fiber != NULL);
    worker->idle = fiber->next;
    worker->idle_count--;
    return fiber;
}

bool th_idle_refill(th_worker *worker) {
    if (th_likely(worker->idle != NULL)) {
        return true;
    }
    thrum_sched *sched = worker->sched;
    th_lock_acquire(&sched->fibers_lock);
    for (int i = 0; i < (TH_IDLE_KEPT + 3) / 4 && sched->fibers; i++) {
        th_fiber *fiber = sched->fibers;
        sched->fibers = fiber->next;
        sched->fibers_count--;
        fiber->next = worker->idle;
        worker->idle = fiber;
        worker->idle_count++;
    }
    th_lock_release(&sched->fibers_lock);
    if (worker->idle) {
        th_count(&worker->counters.xstacks_reused, worker->idle_count);
        return true;
    }
    th_fiber *fiber = th_fiber_new(sched, sched->stack_class, false);
    if (!fiber) {
        return false;
    }
    th_count(&worker->counters.xstacks_created, 1);
    th_idle_put(worker, fiber);
    return true;
}

void th_idle_give(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    th_fiber *fiber = th_idle_take(worker);
    th_lock_acquire(&sched->fibers_lock);
    fiber->next = sched->fibers;
    sched->fibers = fiber;
    sched->fibers_count++;
    th_store_relaxed(&sched->xfibers_unmeasured, true); /* relaxed: as in spill */
    th_lock_release(&sched->fibers_lock);
}

/* Frees what the scheduler keeps beyond a few, a handful at a time; true while there is more. */
static bool give_back(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    th_fiber *surplus = NULL;
    th_lock_acquire(&sched->fibers_lock);
    for (int i = 0; i < TH_IDLE_KEPT && sched->fibers_count > TH_IDLE_STORED; i++) {
        th_fiber *fiber = sched->fibers;
        sched->fibers = fiber->next;
        sched->fibers_count--;
        fiber->next = surplus;
        surplus = fiber;
    }
    th_lock_release(&sched->fibers_lock);
    bool more = surplus != NULL;
    while (surplus) {
        th_fiber *next = surplus->next;
        (void)measure(worker, surplus);
        th_fiber_free(surplus);
        th_count(&worker->counters.xstacks_freed, 1);
        surplus = next;
    }
    return more;
}

/* Whether there is something better to do than looking through stacks. */
static bool is_wanted(th_worker *worker) {
    bool bound = worker->bound && (worker->policy->pending(worker) || th_bound_is_due(worker));
    return bound || worker->sched->policy->pending(worker);
}

/*
 * Measures what the store has left, until work comes. Meanwhile others find the store empty, and
 * make fibers of their own.
 */
static void trim_store(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    th_lock_acquire(&sched->fibers_lock);
    th_fiber *taken = sched->xfibers_unmeasured ? sched->fibers : NULL; /* with its lock */
    unsigned count = taken ? sched->fibers_count : 0;
    if (taken) {
        sched->fibers = NULL;
        sched->fibers_count = 0;
    }
    th_store_relaxed(&sched->xfibers_unmeasured, false); /* relaxed: as in spill */
    th_lock_release(&sched->fibers_lock);
    if (!taken) {
        return;
    }
    bool all = true;
    th_fiber *last = taken;
    for (th_fiber *fiber = taken; fiber; fiber = fiber->next) {
        last = fiber;
        all = all && !is_wanted(worker);
        if (all) {
            trim(worker, fiber);
        }
    }
    th_lock_acquire(&sched->fibers_lock);
    last->next = sched->fibers;
    sched->fibers = taken;
    sched->fibers_count += count;
    if (!all || sched->fibers_count > TH_IDLE_STORED) {
        th_store_relaxed(&sched->xfibers_unmeasured, true); /* relaxed: as in spill */
    }
    th_lock_release(&sched->fibers_lock);
}

/* Whether this worker is the last that parks (a bound thread: all have), and nothing wants it. */
static bool is_quiet(th_worker *worker) {
    thrum_sched *sched = worker->sched;
    unsigned awake = worker->bound ? 0 : 1;
    /* relaxed: a guess; if nobody took himself for the last one, that one looks again (th_park) */
    return th_park_parked(th_load_relaxed(&sched->xpark)) + awake >= sched->workers_count &&
           !is_wanted(worker);
}

void th_idle_trim(th_worker *worker) {
    trim(worker, worker->current); /* the loop's own: it stands far above what is given back */
    for (th_fiber *fiber = worker->idle; fiber; fiber = fiber->next) {
        trim(worker, fiber);
    }
    while (is_quiet(worker) && give_back(worker)) {
    }
    if (is_quiet(worker)) {
        trim_store(worker);
    }
}
