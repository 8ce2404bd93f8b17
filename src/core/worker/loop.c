/*
 * loop.c: a worker's loop, on whichever fiber it is.
 *
 * A task is run right here, on the loop's own fiber. If it blocks, the fiber becomes the task's and
 * another one goes on with the loop; when the task ends, this loop simply continues, on whichever
 * worker has resumed it by then. So the loop reads `fiber->worker` again after everything that may
 * switch.
 *
 * In thread-sanitizer builds, and for tasks that want another stack size, a task gets a fiber for
 * itself, which is freed at its end (`single`).
 */
#include "core/worker/loop.h"

#include "base/check.h"
#include "core/fiber/fiber.h"
#include "core/fiber/fiber_cache.h"
#include "core/ready/deferred.h"
#include "core/policy/pick.h"
#include "core/state/handle.h"
#include "core/state/worker.h"
#include "core/task/run.h"
#include "core/wait/switch.h"
#include "core/worker/find.h"

/* The class of stack that the work asks for. */
static TH_INLINE_NO_TSAN unsigned stack_class(const th_worker *worker, const th_work *work) {
    return work->kind == TH_WORK_SPAWN ? ((const thrum_handle *)work)->stack_class
                                       : worker->sched->stack_class;
}

/* Switches to another fiber; this one is put aside, to run the loop again when it is needed. */
static TH_NO_TSAN void switch_leaving_idle(th_worker *worker, th_fiber *from, th_fiber *to) {
    worker->left = (th_left){.kind = TH_COMMIT_IDLE, .fiber = from};
    th_switch_to(worker, from, to);
}

/* Runs a task that must not run on the loop's fiber. */
static TH_NO_TSAN void run_apart(th_worker *worker, th_fiber *loop, th_work *work, unsigned class) {
    th_fiber *fiber = th_fiber_new(worker->sched, class, true);
    if (!fiber) {
        th_deferred_put(worker, work, true);
        return;
    }
    th_count(&worker->counters.xstacks_created, 1);
    worker->handoff = work;
    worker->picks.quick = NULL;
    switch_leaving_idle(worker, loop, fiber);
}

/* Frees a fiber that was for one task; a spare one takes over the loop. */
static TH_NO_TSAN TH_NORETURN void retire(th_fiber *fiber) {
    th_worker *worker = fiber->worker;
    worker->left = (th_left){.kind = TH_COMMIT_RETIRE, .fiber = fiber};
    th_switch_to(worker, fiber, th_fiber_cache_take(worker));
    th_broken(__FILE__, __LINE__, "a retired fiber was resumed"); /* GCOVR_EXCL_LINE: never */
}

TH_NO_TSAN void th_loop(void *arg) {
    th_fiber *self = arg;
    th_fiber_begins(self);
    for (;;) {
        th_worker *worker = self->worker;
        th_work *work = th_find_in_batch(worker);
        if (!work) {
            work = th_unlikely(worker->find) ? worker->find(worker) : th_find(worker);
        }
        if (th_unlikely(!work)) {
            th_switch_to(worker, self, &worker->home); /* for good: stop frees the fiber */
        }
        if (work->kind == TH_WORK_FIBER) {
            th_count(&worker->counters.xfibers_resumed, 1);
            switch_leaving_idle(worker, self, th_fiber_of(work));
            continue;
        }
        /* A task starts only while there is a spare fiber, so its waits never fail. */
        if (th_unlikely(!worker->idle) && !th_fiber_cache_refill(worker)) {
            th_deferred_put(worker, work, false);
            continue;
        }
        unsigned class = stack_class(worker, work);
        if (th_unlikely((class != worker->sched->stack_class || TH_TSAN_CONTEXTS) &&
                        !self->single)) {
            run_apart(worker, self, work, class);
            continue;
        }
        if (th_unlikely(worker->took_deferred)) {
            th_deferred_began(worker);
        }
        th_run(self, work);
        if (th_unlikely(self->single)) {
            retire(self);
        }
    }
}
