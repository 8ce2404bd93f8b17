/*
 * task.c: posting intrusive tasks (thrum/task.h). task_wake.c makes waiting tasks due.
 */
#include "thrum/task.h"

#include <errno.h>
#include <string.h>

#include "base/annotate.h"
#include "base/atomic.h"
#include "core/ready/external.h"
#include "core/ready/submit.h"
#include "core/due/timer.h"
#include "core/basis/task_word.h"
#include "core/state/worker.h"
#include "core/task/run.h"
#include "core/task/task.h"

_Static_assert(offsetof(thrum_task, reserved_link) == offsetof(th_work, next) &&
                   offsetof(thrum_task, reserved_kind) == offsetof(th_work, kind) &&
                   offsetof(thrum_task, reserved_worker) == offsetof(th_work, worker),
               "a task begins with the header of work");

static th_work *work_of(thrum_task *task) {
    return th_task_work(task);
}

void thrum_task_init(thrum_task *task, thrum_task_fn fn, void *arg) {
    *task = (thrum_task)THRUM_TASK_INIT(fn, arg);
}

void thrum_task_set_body(thrum_task *task, thrum_task_fn fn, void *arg) {
    task->reserved_fn = fn;
    task->reserved_arg = arg;
}

/* A number that no worker has stays refused in a place with a priority. */
#define NO_WORKER (TH_PLACE_WORKER - 1)

static void set_place(thrum_task *task, th_priority priority, int worker) {
    const bool is_number = worker >= -1 && worker < NO_WORKER;
    task->reserved_worker = th_place_of(priority, is_number ? worker : NO_WORKER);
}

void thrum_task_set_worker(thrum_task *task, int worker) {
    set_place(task, th_place_priority(task->reserved_worker), worker);
}

int thrum_task_set_priority(thrum_task *task, unsigned priority) {
    if (priority != THRUM_HIGH && priority != THRUM_NORMAL && priority != THRUM_LOW) {
        return -EINVAL;
    }
    set_place(task,
              priority == THRUM_HIGH  ? TH_HIGH
              : priority == THRUM_LOW ? TH_LOW
                                      : TH_NORMAL,
              th_place_worker(task->reserved_worker));
    return 0;
}

void thrum_task_set_serial(thrum_task *task) {
    task->reserved_kind = TH_WORK_SERIAL;
}

/*
 * Whether the task, which has begun, is the one whose body is calling. The address alone is not
 * enough: the body may have freed its own task and got the same memory for another.
 */
static bool is_own(const th_worker *worker, thrum_task *task) {
    return worker && worker->current->task == task &&
           /* relaxed: if it is ours, this very run wrote it */
           th_load_relaxed(&task->reserved[0]) == worker->current->run_id;
}

bool th_task_is_running_here(thrum_task *task) {
    /* relaxed: if it is ours, this very run wrote it */
    return th_load_relaxed(&task->reserved_mark) == TH_TASK_BEGUN && is_own(th_here(), task);
}

/* Whether the worker that the task is tied to exists. The caller is inside the scheduler. */
static bool fits(const thrum_sched *sched, const thrum_task *task) {
    const int end = (int)th_workers_end(sched);
    return th_likely(task->reserved_worker < end) || th_place_worker(task->reserved_worker) < end;
}

/* Marks the task as posted: 0, or the reason why it cannot be posted. */
static TH_ALWAYS_INLINE int mark_posted(const thrum_sched *sched, thrum_task *task,
                                        uint32_t *before) {
    if (!sched || !task || !task->reserved_fn || task->reserved_kind != TH_WORK_TASK ||
        task->reserved_worker < -1) {
        return -EINVAL;
    }
    *before = th_load_relaxed(&task->reserved_mark); /* relaxed: best effort, no extra atomic */
    if (th_task_is_posted(*before)) {
        return -EBUSY;
    }
    /* relaxed: a cancel that is seen late counts as a late cancel */
    uint32_t word = th_load_relaxed(&task->reserved_word);
    if (th_unlikely(word & TH_TASK_CANCELLED)) {
        /* relaxed: it came too late for the run before, and does not belong to this post */
        th_and_relaxed(&task->reserved_word, ~TH_TASK_CANCELLED);
    }
    th_store_relaxed(&task->reserved_mark, TH_TASK_POSTED); /* relaxed: as above */
    return 0;
}

/* ---- from its own body ---- */

/* Whether a stop has ended the run that posts its own task to wait again. */
static bool is_told_to_end(const th_fiber *fiber, const thrum_sched *sched, bool waits) {
    return waits && sched == fiber->sched && thrum_task_is_cancelled(fiber->task) &&
           th_load_relaxed(&sched->xstopping); /* relaxed: stop set it, then cancelled */
}

/*
 * The body posts its own task: it is counted now, and queued when the body has returned
 * (th_task_repost).
 */
static int post_self(th_fiber *fiber, thrum_sched *sched, const th_posting *how) {
    bool fit;
    if (sched == fiber->sched) {
        if (is_told_to_end(fiber, sched, how->waits)) {
            return -ESHUTDOWN;
        }
        fit = fits(sched, fiber->task);
        if (fit) {
            th_activity_began(&fiber->worker->activity.xcreated);
        }
    } else {
        th_external *record = th_external_enter(sched, true);
        if (!record) {
            return -ESHUTDOWN;
        }
        fit = fits(sched, fiber->task);
        if (fit) {
            th_activity_began(&record->activity.xcreated);
        }
        th_external_leave(sched, record);
    }
    if (!fit) {
        return -EINVAL;
    }
    fiber->repost = true;
    fiber->repost_hint = (uint8_t)how->hint;
    fiber->repost_waits = how->waits;
    fiber->repost_deadline = how->deadline;
    fiber->repost_sched = sched;
    return 0;
}

/* ---- queueing counted tasks ---- */

/* Whether a post of a serial task is left to its present run; if not, marks the task as posted. */
static TH_ALWAYS_INLINE bool is_deferred(thrum_sched *sched, thrum_task *task,
                                         const th_posting *how) {
    uint64_t where = th_task_where(sched, how->hint, how->waits);
    if (th_task_serial_defer(task, where, how->deadline)) {
        return true;
    }
    /* relaxed: no run is on, so the task is ours */
    th_store_relaxed(&task->reserved_mark, TH_TASK_POSTED);
    return false;
}

/*
 * Queues it, counting in `activity`: the worker's, in the worker's context, or with NULL that of a
 * thread which is no worker of the scheduler's. `serial` is constant.
 */
static TH_ALWAYS_INLINE void queue(thrum_sched *sched, th_worker *worker, th_activity *activity,
                                   thrum_task *task, const th_posting *how, bool serial) {
    if (serial && is_deferred(sched, task, how)) {
        return;
    }
    if (th_unlikely(how->waits)) {
        th_timers *timers = worker ? th_timers_for_tasks(worker) : th_timers_of(sched, NULL);
        if (th_task_begin_waiting(timers, task, how->deadline)) {
            th_activity_ended(&activity->xsuspended);
            if (how->deadline == INT64_MAX) {
                th_activity_ended(&activity->xdormant);
            }
            return;
        }
        th_tsan_release(task); /* its words were used by the timers */
    }
    if (worker) {
        th_submit(worker, work_of(task), how->hint);
    } else {
        th_submit_external(sched, work_of(task));
    }
}

void th_task_repost(th_fiber *fiber) {
    thrum_sched *sched = fiber->repost_sched;
    th_posting how = {.hint = fiber->repost_hint,
                      .waits = fiber->repost_waits,
                      .deadline = fiber->repost_deadline};
    fiber->repost = false;
    if (th_task_is_serial(fiber->task)) {
        if (!th_task_serial_end(fiber->task)) {
            return;
        }
        uint64_t where = th_task_serial_where(fiber->task);
        sched = (thrum_sched *)(uintptr_t)(where & ~TH_TASK_WHERE_BELOW);
        how.hint = (thrum_hint)((where & TH_TASK_WHERE_BELOW) >> TH_TASK_WHERE_HINT);
        how.waits = (where & TH_TASK_WHERE_WAITS) != 0;
        how.deadline = th_task_serial_deadline(fiber->task);
        th_tsan_release(fiber->task); /* its words were read here: the timers may write them next */
    }
    if (sched == fiber->sched) {
        fiber->worker->unseen = true;
        queue(sched, fiber->worker, &fiber->worker->activity, fiber->task, &how, false);
        fiber->worker->unseen = false;
    } else {
        th_external *record = th_external_enter(sched, false);
        queue(sched, NULL, &record->activity, fiber->task, &how, false);
        th_external_leave(sched, record);
    }
}

static TH_ALWAYS_INLINE int post(thrum_sched *sched, thrum_task *task, const th_posting *how,
                                 bool begun, bool serial) {
    th_worker *worker = th_here();
    if (!serial && begun && is_own(worker, task)) {
        return post_self(worker->current, sched, how);
    }
    if (worker && worker->sched == sched) {
        if (!fits(sched, task)) {
            return -EINVAL;
        }
        th_tsan_release(task); /* from here on it may be gone */
        th_enter(worker);
        th_activity_began(&worker->activity.xcreated);
        queue(sched, worker, &worker->activity, task, how, serial);
        th_leave(worker);
        return 0;
    }
    th_external *record = th_external_enter(sched, true);
    if (!record) {
        return -ESHUTDOWN;
    }
    bool fit = fits(sched, task);
    if (fit) {
        th_tsan_release(task);
        th_activity_began(&record->activity.xcreated);
        queue(sched, NULL, &record->activity, task, how, serial);
    }
    th_external_leave(sched, record);
    return fit ? 0 : -EINVAL;
}

/*
 * Makes a serial task TAKEN by the caller's post, unless it is so already (`entered`); 0, or the
 * reason why not, and then it is not. `waits`: its own body may be posting it.
 */
static int enter_serial(const thrum_sched *sched, thrum_task *task, bool waits, bool entered) {
    if (!sched || !task->reserved_fn || task->reserved_worker < -1) {
        if (entered) {
            th_task_serial_leave(task);
        }
        return -EINVAL;
    }
    if (!entered && !th_task_serial_enter(task)) {
        return -EBUSY;
    }
    const th_worker *worker = th_here();
    if (waits && is_own(worker, task) && is_told_to_end(worker->current, sched, waits)) {
        th_task_serial_leave(task);
        return -ESHUTDOWN;
    }
    return 0;
}

static TH_COLD int post_serial(thrum_sched *sched, thrum_task *task, const th_posting *how,
                               bool entered) {
    const th_posting copy = *how; /* read here: post reads its own (base/annotate.h) */
    int result = enter_serial(sched, task, copy.waits, entered);
    if (!result && (result = post(sched, task, &copy, false, true))) {
        th_task_serial_leave(task);
    }
    return result;
}

static TH_ALWAYS_INLINE int post_how(thrum_sched *sched, thrum_task *task, const th_posting *how) {
    uint32_t before;
    int result = mark_posted(sched, task, &before);
    if (th_unlikely(result == -EINVAL && task && th_task_is_serial(task))) {
        return post_serial(sched, task, how, false);
    }
    if (th_likely(!result)) {
        result = post(sched, task, how, before == TH_TASK_BEGUN, false);
        if (th_unlikely(result)) {
            /* relaxed: the task is the caller's again */
            th_store_relaxed(&task->reserved_mark, before);
        }
    }
    return result;
}

int thrum_task_post_hint(thrum_sched *sched, thrum_task *task, thrum_hint hint) {
    if (th_unlikely((unsigned)hint > THRUM_HINT_YIELD)) {
        return -EINVAL;
    }
    const th_posting how = {.hint = hint};
    return post_how(sched, task, &how);
}

int thrum_task_post(thrum_sched *sched, thrum_task *task) {
    const th_posting how = {.hint = THRUM_HINT_NONE};
    return post_how(sched, task, &how);
}

int thrum_task_post_until(thrum_sched *sched, thrum_task *task, thrum_time deadline) {
    const th_posting how = {.waits = true, .deadline = deadline};
    return post_how(sched, task, &how);
}

int th_task_post_entered(thrum_sched *sched, thrum_task *task, int64_t deadline) {
    const th_posting how = {.waits = true, .deadline = deadline};
    return post_serial(sched, task, &how, true);
}

int th_task_post_woken(thrum_sched *sched, thrum_task *task) {
    /* relaxed: best effort, as for any post; a serial task refuses exactly */
    if (th_task_is_posted(th_load_relaxed(&task->reserved_mark))) {
        return -EBUSY;
    }
    thrum_task_wakeup(task);
    return thrum_task_post_until(sched, task, THRUM_FOREVER);
}

int thrum_task_post_after(thrum_sched *sched, thrum_task *task, thrum_time ns) {
    return thrum_task_post_until(sched, task, thrum_after(ns));
}

int thrum_task_post_wait(thrum_sched *sched, thrum_task *task) {
    return thrum_task_post_until(sched, task, THRUM_FOREVER);
}

/* ---- batches ---- */

static void unmark(thrum_task *const tasks[], size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (th_task_is_serial(tasks[i])) {
            th_task_serial_leave(tasks[i]);
        } else {
            /* relaxed: they are the caller's again */
            th_store_relaxed(&tasks[i]->reserved_mark, 0u);
        }
    }
}

/*
 * Marks one task of a batch: 0, or the reason why not. The running body's own task is refused
 * unless it is serial.
 */
static int mark_one(const thrum_sched *sched, thrum_task *task) {
    uint32_t before = 0;
    if (task && th_task_is_serial(task)) {
        return enter_serial(sched, task, false, false);
    }
    int result = mark_posted(sched, task, &before);
    if (!result && before == TH_TASK_BEGUN && is_own(th_here(), task)) {
        th_store_relaxed(&task->reserved_mark, before); /* relaxed: as it was */
        result = -EINVAL;
    }
    return result;
}

static int mark_batch(const thrum_sched *sched, thrum_task *const tasks[], size_t n) {
    for (size_t i = 0; i < n; i++) {
        int result = mark_one(sched, tasks[i]);
        if (result) {
            unmark(tasks, i);
            return result;
        }
    }
    return 0;
}

/*
 * Queues a batch: a task that is tied to a worker goes to that worker's inbox, a serial task that
 * runs is left to its run, and the rest is one chain. Each pointer is read before any later task in
 * the array is queued, since a task may free the tasks before it.
 */
static TH_NO_TSAN void batch_pinned(thrum_sched *sched, th_worker *worker,
                                    thrum_task *const tasks[], size_t n, th_chain *chain) {
    const th_posting how = {.hint = THRUM_HINT_NONE};
    *chain = (th_chain){0};
    for (size_t i = 0; i < n; i++) {
        th_work *work = work_of(tasks[i]);
        if (work->kind == TH_WORK_SERIAL && is_deferred(sched, tasks[i], &how)) {
            continue;
        }
        if (work->worker < 0) {
            th_chain_append(chain, work);
        } else if (worker) {
            th_submit(worker, work, THRUM_HINT_NONE);
        } else {
            th_submit_external(sched, work);
        }
    }
}

static bool all_fit(const thrum_sched *sched, thrum_task *const tasks[], size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (!fits(sched, tasks[i])) {
            return false;
        }
        th_tsan_release(tasks[i]); /* from here on it may be gone as soon as it is queued */
    }
    return true;
}

static int post_batch_here(th_worker *worker, thrum_task *const tasks[], size_t n) {
    if (!all_fit(worker->sched, tasks, n)) {
        return -EINVAL;
    }
    th_enter(worker);
    th_count(&worker->activity.xcreated, n); /* relaxed: as in th_activity_began */
    batch_pinned(worker->sched, worker, tasks, n, &worker->posting);
    if (worker->posting.count) {
        th_submit_chain(worker, &worker->posting);
    }
    th_leave(worker);
    return 0;
}

static int post_batch_external(thrum_sched *sched, thrum_task *const tasks[], size_t n) {
    th_external *record = th_external_enter(sched, true);
    if (!record) {
        return -ESHUTDOWN;
    }
    int result = -EINVAL;
    if (all_fit(sched, tasks, n)) {
        th_count(&record->activity.xcreated, n); /* relaxed: as in th_activity_began */
        th_chain chain;
        batch_pinned(sched, NULL, tasks, n, &chain);
        if (chain.count) {
            sched->policy->submit_external(sched, &chain);
        }
        result = 0;
    }
    th_external_leave(sched, record);
    return result;
}

int thrum_task_post_batch(thrum_sched *sched, thrum_task *const tasks[], size_t n) {
    if (!sched || (n && !tasks)) {
        return -EINVAL;
    }
    int result = mark_batch(sched, tasks, n);
    if (result || n == 0) {
        return result;
    }
    th_worker *worker = th_here();
    result = worker && worker->sched == sched ? post_batch_here(worker, tasks, n)
                                              : post_batch_external(sched, tasks, n);
    if (result) {
        unmark(tasks, n);
    }
    return result;
}
