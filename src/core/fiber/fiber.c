/*
 * fiber.c: see fiber.h.
 */
#include "core/fiber/fiber.h"

#include "base/annotate.h"
#include "base/check.h"
#include "core/fiber/overflow.h"
#include "core/fiber/stack.h"
#include "core/state/worker.h"
#include "platform/platform.h"
#include "thrum/base.h"

/* Control blocks lie at different places within their page (colours), or all of them would compete
 * for the same cache lines. */
#define COLOUR_STEP ((size_t)128)
#define COLOURS 16

static uint64_t xnumbers; /* each fiber's number is the upper half of its runs' ids */

void th_fiber_check_canary(const th_fiber *fiber) {
    if (th_unlikely(!th_stack_canary_ok(&fiber->stack))) {
        th_overflow_stop(fiber);
    }
}

uint64_t th_fiber_fresh_id(void) {
    /* relaxed: only the ids must differ; their top bit is left to plain threads (thread.c) */
    return ((th_add_relaxed(&xnumbers, 1u) + 1) & 0x7fffffff) << 32;
}

/*
 * To the thread sanitizer a context inherits its maker's history, and a worker has the history of
 * every earlier task: tasks would look ordered by the making of their fibers. So contexts are made
 * in a context with no other history. It does not know the worker's own stack either, on which this
 * runs: nothing that shows an access to a local variable may be called here.
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

/* The pointer at the very top of a stack to its fiber, which lies somewhat below. */
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
                        .inherited = {.deadline = TH_FOREVER},
                        .stack = stack,
                        .run_id = run_id,
                        .canary = stack.guard == THRUM_GUARD_CANARY,
                        .examined = stack.guard == THRUM_GUARD_CANARY,
                        .single = single};
    fiber->valgrind = th_valgrind_stack(stack.bottom, stack.top);
    fiber->tsan = single ? make_context() : NULL; /* with that tool bodies run on single fibers */
    th_context_make(&fiber->context, stack.bottom, fiber, sched->fiber_main, fiber);
    th_context_set_limit(&fiber->context, th_stack_limit(&stack));
    /* pairs: th_fiber_on; publishes the fiber as it was made */
    th_store_release(anchor_of(&stack), fiber);
    return fiber;
}

TH_NO_TSAN th_fiber *th_fiber_on(const th_stack *stack) {
    return th_load_acquire(anchor_of(stack)); /* pairs: th_fiber_new; publishes the new fiber */
}

TH_NO_TSAN void th_fiber_free(th_fiber *fiber) {
    th_stacks *stacks = &fiber->sched->stacks;
    th_stack stack = fiber->stack;
    th_valgrind_stack_gone(fiber->valgrind);
    if (fiber->single) {
        th_tsan_destroy(fiber->tsan);
    }
    th_asan_unpoison(stack.bottom, (size_t)(stack.top - stack.bottom));
    /* relaxed: a thread that still finds it sees that it is not blocked, and nothing is unmapped */
    th_store_relaxed(anchor_of(&stack), NULL);
    th_tsan_release(stack.record); /* for its next user: th_waiter_wait_until */
    th_stack_put(stacks, stack);
}
