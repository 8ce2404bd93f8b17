/*
 * run.c: running one task, from its start to the cleanup at its end.
 *
 * Everything that belongs to a run (identity, name, values, pinning) is set up here and undone
 * here: it must not leak to the next task on the same fiber.
 */
#include "core/task/run.h"

#include <inttypes.h>

#include "base/annotate.h"
#include "base/check.h"
#include "base/usdt.h"
#include "core/fiber/fiber.h"
#include "core/fiber/reclaim.h"
#include "core/due/fork_slots.h"
#include "core/ready/priority.h"
#include "core/ready/submit.h"
#include "core/trace/trace_series.h"
#include "core/state/panic.h"
#include "core/state/worker.h"
#include "core/task/task.h"
#include "core/wait/cancel.h"
#include "core/wait/scope_tree.h"
#include "core/trace/trace_notes.h"
#include "platform/platform.h"

/*
 * Goes from the worker's context to the task's, to which all is visible that came before the
 * publishing of `object`.
 */
static TH_NO_TSAN void begin(th_fiber *fiber, const void *object) {
    th_leave(fiber->worker);
    th_tsan_acquire(object);
    (void)fiber;
}

/* From now on the fiber runs a task's body with this function; 0: none. */
static TH_INLINE_NO_TSAN void set_body(th_fiber *fiber, uintptr_t fn) {
    th_store_relaxed(&fiber->body, fn); /* relaxed: for inspectors (snapshot.c); else our own */
}

static bool holds_mutexes(const th_fiber *fiber) {
    return fiber->held_run == fiber->run_id && fiber->held_count;
}

static void report_held(th_fiber *fiber) {
    char mutex[80];
    if (fiber->held_count == 1) {
        th_os_code_name(fiber->held, mutex, sizeof mutex, NULL);
        th_mistake_report(TH_MISTAKE_ENDS, true,
                          "a task ends with the mutex %s locked: nobody can unlock it any longer",
                          mutex);
    } else {
        th_mistake_report(TH_MISTAKE_ENDS, true,
                          "a task ends with %" PRIu64 " mutexes locked: nobody can unlock them any "
                          "longer",
                          fiber->held_count);
    }
}

/* While the fiber still has its name. */
static TH_COLD void examine(th_fiber *fiber) {
    if (fiber->canary) {
        th_fiber_check_canary(fiber);
    }
    fiber->examined = fiber->canary;
    if (holds_mutexes(fiber)) {
        th_key_values_end(&fiber->key_values, true); /* a destructor may still unlock */
        if (holds_mutexes(fiber)) {
            report_held(fiber);
        }
    }
}

/* In the task's context: the destructors of its values run as part of it. */
static TH_COLD void undo(th_fiber *fiber, int result) {
    if (th_unlikely(fiber->sched->abandoned)) {
        th_thread_body_ends(result); /* in the child of a fork it ends here */
    }
    if (th_unlikely(fiber->examined)) {
        examine(fiber);
    }
    fiber->dirty = false;
    if (th_forks_any(&fiber->worker->forks)) {
        th_forks_end(fiber->worker);
    }
    if (th_key_values_any(&fiber->key_values)) {
        th_key_values_end(&fiber->key_values, true);
    }
    th_scope *open = th_load_relaxed(&fiber->xscopes); /* relaxed: the fiber's own */
    if (th_unlikely(open)) {
        th_misuse("thrum_scope_join", "missing: the task has ended with a scope open", open);
    }
    fiber->inherited.shields = 0;
    fiber->inherited.deadline = TH_FOREVER;
    fiber->name[0] = '\0';
}

/* Gives the run a new identity; the lower half of the number must not wrap. */
static TH_INLINE_NO_TSAN void new_run(th_fiber *fiber) {
    if (th_unlikely((uint32_t)++fiber->run_id == 0)) {
        fiber->run_id = th_fiber_fresh_id(); /* GCOVR_EXCL_LINE: after four billion runs */
    }
}

/* The end of what `pin` and a priority have set. */
static TH_COLD TH_NO_TSAN void leave_place(th_fiber *fiber) {
    th_worker *worker = fiber->worker;
    worker->tie.held -= th_place_worker(fiber->work.worker) >= 0;
    fiber->work.worker = -1;
    th_priority_runs(worker, -1);
}

/* From now on the fiber runs only on its present worker. */
static TH_INLINE_NO_TSAN void pin(th_fiber *fiber) {
    th_worker *worker = fiber->worker;
    const int32_t place = fiber->work.worker;
    if (th_place_worker(place) < 0) {
        fiber->work.worker = th_place_of(th_place_priority(place), (int32_t)worker->index);
        worker->tie.held++;
    }
}

static TH_NO_TSAN int run_go(th_fiber *fiber, th_go *go) {
    thrum_fn fn = go->fn;
    void *arg = go->arg;
    set_body(fiber, (uintptr_t)fn);
    begin(fiber, go);
    th_enter(fiber->worker);
    TH_USDT2(run, fiber, fn);
    th_slab_put(&fiber->worker->go, go); /* put back while it is in the cache */
    th_leave(fiber->worker);
    return fn(arg);
}

static TH_NO_TSAN void run_spawned(th_fiber *fiber, thrum_handle *handle) {
    set_body(fiber, (uintptr_t)handle->fn);
    for (size_t i = 0; i < sizeof fiber->name && handle->name[0]; i++) { /* most have none */
        th_tsan_unseen();
        fiber->name[i] = handle->name[i];
    }
    fiber->dirty = true;
    fiber->inherited.handle = handle;
    fiber->inherited.deadline = handle->scope ? handle->scope->deadline : TH_FOREVER;
    if (handle->pinned) {
        pin(fiber);
    }
    begin(fiber, handle);
    th_handle_runs(handle, fiber);
    TH_USDT2(run, fiber, handle->fn);
    int result = handle->fn(handle->arg);
    undo(fiber, result);
    th_handle_runs(handle, NULL);
    th_cancel_taken_back(fiber);
    fiber->inherited.handle = NULL;
    th_handle_finish(handle, result);
}

/* th_task_repost ends a serial run, after the destructors: posts by others may wait for it. */
static TH_ALWAYS_INLINE_NO_TSAN void run_task(th_fiber *fiber, thrum_task *task, bool serial) {
    void *arg;
    fiber->task = task;
    if (task->reserved_worker >= 0 && th_place_worker(task->reserved_worker) >= 0) {
        pin(fiber);
    }
    begin(fiber, task);
    thrum_task_fn fn = serial ? th_task_take_serial(task, &arg, fiber->run_id)
                              : th_task_take(task, &arg, fiber->run_id);
    set_body(fiber, (uintptr_t)fn);
    TH_USDT2(run, fiber, fn);
    fn(task, arg); /* from here on a task that is not serial is its body's */
    if (serial || th_unlikely(fiber->repost)) {
        th_tsan_release(task);
        fiber->repost = true;
    }
}

/* The call's object belongs to its function, and may be gone when that returns. */
static TH_NO_TSAN void run_call(th_fiber *fiber, th_call *call) {
    void (*fn)(th_call *) = call->fn;
    set_body(fiber, TH_BODY_OTHER);
    begin(fiber, call);
    fn(call);
}

void th_run_shows(uintptr_t fn) {
    th_fiber *fiber = th_fiber_self();
    th_known(fiber);
    set_body(fiber, fn);
    if (th_is_traced(fiber->worker)) {
        th_trace_shows(fiber->worker, fiber);
    }
}

void th_run_undo(void) {
    th_fiber *fiber = th_fiber_self();
    if (th_unlikely(!fiber)) {
        th_thread_body_ends(0); /* in the child of a fork, as in `undo` */
    }
    if (th_unlikely(fiber->dirty)) {
        undo(fiber, 0);
    }
}

static TH_COLD TH_NO_TSAN void see_to_extra(th_worker *worker, th_fiber *fiber, th_work *work,
                                            uint32_t extra) {
    if (extra & TH_EXTRA_PRIORITY) {
        fiber->work.worker = th_place_of(th_place_priority(work->worker), -1);
    }
    if (extra & TH_EXTRA_PIN_ALL) {
        pin(fiber);
    }
    if (extra & TH_EXTRA_TRACE) {
        th_trace_begins(worker, fiber, work);
    }
    if (extra & TH_EXTRA_RECLAIM) {
        th_reclaim_poll(worker);
    }
}

TH_NO_TSAN void th_run(th_fiber *fiber, th_work *work) {
    th_worker *worker = fiber->worker;
    th_count(&worker->counters.xtasks_started, 1);
    new_run(fiber);
    fiber->ran = true;
    const uint32_t extra = th_load_relaxed(&worker->xextra); /* relaxed: see th_is_traced */
    if (th_unlikely(extra) && !th_trace_series_joins(worker, fiber, work, extra)) {
        see_to_extra(worker, fiber, work, extra);
    }
    int result = 0;
    switch (work->kind) {
    case TH_WORK_GO:
        result = run_go(fiber, (th_go *)work);
        break;
    case TH_WORK_SPAWN:
        run_spawned(fiber, (thrum_handle *)work);
        break;
    case TH_WORK_TASK:
        run_task(fiber, (thrum_task *)(void *)work, false);
        break;
    case TH_WORK_SERIAL:
        run_task(fiber, (thrum_task *)(void *)work, true);
        break;
    case TH_WORK_CALL:
        run_call(fiber, (th_call *)work);
        break;
    default:
        th_misuse("run", "a corrupt object in a run queue", work);
    }
    if (th_unlikely(fiber->dirty)) {
        undo(fiber, result);
    }
    if (th_unlikely(fiber->canary)) {
        th_fiber_check_canary(fiber);
    }
    worker = fiber->worker; /* the fiber may have moved */
    th_enter(worker);
    if (th_is_traced(worker) && !th_trace_series_goes_on(worker)) {
        th_trace_finishes(worker, fiber);
    }
    if (th_unlikely(fiber->repost)) {
        th_task_repost(fiber);
        th_tsan_release(worker->sched); /* a serial task's word: th_quiesce_now acquires */
    }
    if (th_unlikely(fiber->work.worker >= 0)) {
        leave_place(fiber);
    }
    __asm__("" : "+r"(fiber)); /* else gcc keeps a register for `body` during each run */
    set_body(fiber, 0);
    fiber->task = NULL;
    th_activity_ended(&worker->activity.xfinished); /* last: all that the run queued is counted */
}
