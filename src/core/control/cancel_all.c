/*
 * cancel_all.c: see cancel_all.h. core/wait/WAITING.md, "Cancelling", shows that it finds all
 * waits.
 */
#include "core/control/cancel_all.h"

#include "core/fiber/fiber.h"
#include "core/fiber/stack.h"
#include "core/state/worker.h"
#include "core/task/task.h"
#include "core/wait/cancel.h"

static bool visit(void *ctx, const th_stack *stack, bool in_use) {
    (void)ctx;
    th_fiber *fiber = in_use ? th_fiber_on(stack) : NULL;
    if (fiber) {
        th_cancel_visit(fiber);
    }
    return true;
}

/*
 * Visits the bound threads' own waits. `bound_lock` is not held meanwhile: such a thread keeps the
 * list that it waits on until it has left, and may take that lock for its next work, while a visit
 * waits for the list. Records and their numbers stay until the scheduler's end.
 */
static void visit_roots(thrum_sched *sched) {
    th_lock_acquire(&sched->bound_lock); /* a thread that is bound later finds the flag */
    const unsigned end = sched->bound_end;
    th_lock_release(&sched->bound_lock);
    for (unsigned i = sched->workers_count; i < end; i++) {
        th_cancel_visit(&th_worker_at(sched, (int32_t)i)->home);
    }
}

void th_cancel_all(thrum_sched *sched) {
    th_cancel_hold();
    /* pairs: thrum_cancelled; the stopping thread's writes. th_cancel_order follows */
    th_store_release(&sched->xcancelling, sched->xcancelling | TH_CANCEL_ALL);
    bool ordered = th_cancel_order(sched->can_order);
    th_cancel_let_go();
    th_timers_cancel(sched, true);
    /* Without that order a fiber might be returning already, so it is left to its waker. */
    if (ordered) {
        th_stack_cursor at = {0};
        th_cancel_hold();
        while (th_stacks_some(&sched->stacks, &at, TH_CANCEL_MAX, visit, NULL)) {
            th_cancel_breathe(false);
        }
        visit_roots(sched);
        th_cancel_let_go();
    }
}
