/*
 * task.c: thrum/task.h: posting intrusive tasks. What becomes of those that wait: task_wake.c.
 */
#include "thrum/task.h"

#include <string.h>

#include "base/annotate.h"
#include "base/atomic.h"
#include "core/idle.h"
#include "core/run.h"
#include "core/submit.h"
#include "core/task.h"
#include "core/worker.h"

_Static_assert(offsetof(thrum_task, reserved_link) == offsetof(th_work, next) &&
                   offsetof(thrum_task, reserved_kind) == offsetof(th_work, kind) &&
                   offsetof(thrum_task, reserved_worker) == offsetof(th_work, worker),
               "a task begins with the header of work");

/* How a task is posted. */
typedef struct posting {
    thrum_hint hint;
    bool waits; /* until the deadline, or until it is woken */
    int64_t deadline;
} posting;

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

void thrum_task_set_worker(thrum_task *task, int worker) {
    task->reserved_worker = worker;
}

/*
 * Whether a task that has begun is the one whose body is calling. The address alone does not say
 * so: the body may have freed its own and got the same memory for another one.
 */
static bool is_own(const th_worker *worker, thrum_task *task) {
    return worker && worker->current->task == task &&
           /* relaxed: if it is ours, this very run wrote it */
           th_load_relaxed(&task->reserved[0]) == worker->current->run_id;
}

/* Whether the task is tied to a worker that there is; the caller is inside the scheduler. */
static bool fits(const thrum_sched *sched, const thrum_task *task) {
    return task->reserved_worker < (int)sched->workers_count;
}

/* 0 and marked as posted, or why it cannot be. */
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
    /* relaxed: one that is seen late is one that came late */
    uint32_t word = th_load_relaxed(&task->reserved_word);
    if (th_unlikely(word & TH_TASK_CANCELLED)) {
        /* relaxed: it came too late for the run before, and is none of this post's */
        th_and_relaxed(&task->reserved_word, ~TH_TASK_CANCELLED);
    }
    bool woken = (word & (TH_TASK_WOKEN | TH_TASK_SIGNALED)) != 0;
    /* relaxed: as above */
    th_store_relaxed(&task->reserved_mark, woken ? TH_TASK_POSTED_WOKEN : TH_TASK_POSTED);
    return 0;
}

/* ---- from its own body ---- */

/*
 * The body posts its own task: it is counted now, and queued when the body has returned
 * (th_task_repost).
 */
static int post_self(th_fiber *fiber, thrum_sched *sched, const posting *how) {
    bool fit;
    if (sched == fiber->sched) {
        bool late = how->waits && thrum_task_is_cancelled(fiber->task) &&
                    th_load_relaxed(&sched->xstopping); /* relaxed: stop set it, then cancelled */
        if (late) {
            return -ESHUTDOWN; /* it was told not to wait */
        }
        fit = fits(sched, fiber->task);
        if (fit) {
            th_flow_began(&fiber->worker->flow.xcreated);
        }
    } else {
        th_outside *record = th_outside_enter(sched, true);
        if (!record) {
            return -ESHUTDOWN;
        }
        fit = fits(sched, fiber->task);
        if (fit) {
            th_flow_began(&record->flow.xcreated);
        }
        th_outside_leave(sched, record);
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

/* ---- queueing what is counted ---- */

/* On a worker of the scheduler, in its context. */
static TH_ALWAYS_INLINE void queue_here(th_worker *worker, thrum_task *task, const posting *how) {
    if (th_unlikely(how->waits)) {
        if (th_task_begin_waiting(th_timers_for_tasks(worker), task, how->deadline)) {
            th_flow_ended(&worker->flow.xsuspended);
            if (how->deadline == INT64_MAX) {
                th_flow_ended(&worker->flow.xdormant);
            }
            return;
        }
        th_store_relaxed(&task->reserved_mark, TH_TASK_POSTED_WOKEN); /* relaxed: still ours */
        th_tsan_release(task); /* its words were the timers' */
    }
    th_submit(worker, work_of(task), how->hint);
}

static void queue_outside(thrum_sched *sched, th_outside *record, thrum_task *task,
                          const posting *how) {
    if (how->waits) {
        if (th_task_begin_waiting(th_timers_of(sched, NULL), task, how->deadline)) {
            th_flow_ended(&record->flow.xsuspended);
            if (how->deadline == INT64_MAX) {
                th_flow_ended(&record->flow.xdormant);
            }
            return;
        }
        th_store_relaxed(&task->reserved_mark, TH_TASK_POSTED_WOKEN); /* relaxed: still ours */
        th_tsan_release(task); /* its words were the timers' */
    }
    th_submit_outside(sched, work_of(task));
}

void th_task_repost(th_fiber *fiber) {
    thrum_sched *sched = fiber->repost_sched;
    posting how = {.hint = fiber->repost_hint,
                   .waits = fiber->repost_waits,
                   .deadline = fiber->repost_deadline};
    fiber->repost = false;
    if (sched == fiber->sched) {
        fiber->worker->unseen = true;
        queue_here(fiber->worker, fiber->task, &how);
        fiber->worker->unseen = false;
    } else {
        th_outside *record = th_outside_enter(sched, false);
        queue_outside(sched, record, fiber->task, &how);
        th_outside_leave(sched, record);
    }
}

static TH_ALWAYS_INLINE int post(thrum_sched *sched, thrum_task *task, const posting *how,
                                 bool begun) {
    th_worker *worker = th_here();
    if (begun && is_own(worker, task)) {
        return post_self(worker->current, sched, how);
    }
    if (worker && worker->sched == sched) {
        if (!fits(sched, task)) {
            return -EINVAL;
        }
        th_tsan_release(task); /* from here on it may be gone */
        th_enter(worker);
        th_flow_began(&worker->flow.xcreated);
        queue_here(worker, task, how);
        th_leave(worker);
        return 0;
    }
    th_outside *record = th_outside_enter(sched, true);
    if (!record) {
        return -ESHUTDOWN;
    }
    bool fit = fits(sched, task);
    if (fit) {
        th_tsan_release(task);
        th_flow_began(&record->flow.xcreated);
        queue_outside(sched, record, task, how);
    }
    th_outside_leave(sched, record);
    return fit ? 0 : -EINVAL;
}

static TH_ALWAYS_INLINE int post_how(thrum_sched *sched, thrum_task *task, const posting *how) {
    uint32_t before;
    int result = mark_posted(sched, task, &before);
    if (th_likely(!result)) {
        result = post(sched, task, how, before == TH_TASK_BEGUN);
        if (th_unlikely(result)) {
            th_store_relaxed(&task->reserved_mark, before); /* relaxed: it is the caller's again */
        }
    }
    return result;
}

int thrum_task_post_hint(thrum_sched *sched, thrum_task *task, thrum_hint hint) {
    if (th_unlikely((unsigned)hint > THRUM_HINT_YIELD)) {
        return -EINVAL;
    }
    const posting how = {.hint = hint};
    return post_how(sched, task, &how);
}

int thrum_task_post(thrum_sched *sched, thrum_task *task) {
    const posting how = {.hint = THRUM_HINT_NONE};
    return post_how(sched, task, &how);
}

int thrum_task_post_until(thrum_sched *sched, thrum_task *task, thrum_time deadline) {
    const posting how = {.waits = true, .deadline = deadline};
    return post_how(sched, task, &how);
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
        th_store_relaxed(&tasks[i]->reserved_mark, 0u); /* relaxed: they are the caller's again */
    }
}

/* All are marked and none is the running body's own, or why not. */
static int mark_batch(const thrum_sched *sched, thrum_task *const tasks[], size_t n) {
    const th_worker *worker = th_here();
    for (size_t i = 0; i < n; i++) {
        uint32_t before = 0;
        int result = mark_posted(sched, tasks[i], &before);
        if (!result && before == TH_TASK_BEGUN && is_own(worker, tasks[i])) {
            th_store_relaxed(&tasks[i]->reserved_mark, before); /* relaxed: as it was */
            result = -EINVAL;
        }
        if (result) {
            unmark(tasks, i);
            return result;
        }
    }
    return 0;
}

/*
 * What is tied to a worker goes to its inbox one by one; the rest is one chain. Each pointer is
 * read before anything is queued behind it: a task may free what comes before it in the array.
 */
static TH_NO_TSAN void batch_pinned(thrum_sched *sched, th_worker *worker,
                                    thrum_task *const tasks[], size_t n, th_chain *chain) {
    *chain = (th_chain){0};
    for (size_t i = 0; i < n; i++) {
        th_work *work = work_of(tasks[i]);
        if (work->worker < 0) {
            th_chain_append(chain, work);
        } else if (worker) {
            th_submit(worker, work, THRUM_HINT_NONE);
        } else {
            th_submit_outside(sched, work);
        }
    }
}

static bool all_fit(const thrum_sched *sched, thrum_task *const tasks[], size_t n) {
    for (size_t i = 0; i < n; i++) {
        if (!fits(sched, tasks[i])) {
            return false;
        }
        th_tsan_release(tasks[i]); /* soon it may be gone */
    }
    return true;
}

static int post_batch_here(th_worker *worker, thrum_task *const tasks[], size_t n) {
    if (!all_fit(worker->sched, tasks, n)) {
        return -EINVAL;
    }
    th_enter(worker);
    th_count(&worker->flow.xcreated, n); /* relaxed: as th_flow_began */
    batch_pinned(worker->sched, worker, tasks, n, &worker->batch);
    if (worker->batch.count) {
        th_submit_chain(worker, &worker->batch);
    }
    th_leave(worker);
    return 0;
}

static int post_batch_outside(thrum_sched *sched, thrum_task *const tasks[], size_t n) {
    th_outside *record = th_outside_enter(sched, true);
    if (!record) {
        return -ESHUTDOWN;
    }
    int result = -EINVAL;
    if (all_fit(sched, tasks, n)) {
        th_count(&record->flow.xcreated, n); /* relaxed: as th_flow_began */
        th_chain chain;
        batch_pinned(sched, NULL, tasks, n, &chain);
        if (chain.count) {
            th_submit_chain_outside(sched, chain);
        }
        result = 0;
    }
    th_outside_leave(sched, record);
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
                                              : post_batch_outside(sched, tasks, n);
    if (result) {
        unmark(tasks, n);
    }
    return result;
}
