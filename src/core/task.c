/*
 * task.c: thrum/task.h: intrusive tasks.
 *
 * reserved_state: POSTED from the post until the body begins, so that a second post can be refused.
 * It is no lock: two posts at the same time are the callers' mistake, and may both be taken.
 */
#include "thrum/task.h"

#include <string.h>

#include "base/annotate.h"
#include "base/atomic.h"
#include "core/idle.h"
#include "core/run.h"
#include "core/submit.h"
#include "core/worker.h"

#define POSTED 1u
#define BEGUN 2u

_Static_assert(offsetof(thrum_task, reserved_link) == offsetof(th_work, next) &&
                   offsetof(thrum_task, reserved_kind) == offsetof(th_work, kind) &&
                   offsetof(thrum_task, reserved_worker) == offsetof(th_work, worker),
               "a task begins with the header of work");

static th_work *work_of(thrum_task *task) {
    return (th_work *)(void *)task;
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

thrum_task_fn th_task_take(thrum_task *task, void **arg, uint64_t run_id) {
    /* relaxed: the post published it; for whoever posts again it is best effort */
    th_store_relaxed(&task->reserved_state, BEGUN);
    /* relaxed: as above; by which run it was begun */
    th_store_relaxed(&task->reserved[0], run_id);
    *arg = task->reserved_arg;
    return task->reserved_fn;
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
                                        uint64_t *before) {
    if (!sched || !task || !task->reserved_fn || task->reserved_kind != TH_WORK_TASK ||
        task->reserved_worker < -1) {
        return -EINVAL;
    }
    *before = th_load_relaxed(&task->reserved_state); /* relaxed: best effort, no extra atomic */
    if (*before == POSTED) {
        return -EBUSY;
    }
    th_store_relaxed(&task->reserved_state, POSTED); /* relaxed: as above */
    return 0;
}

/*
 * The body posts its own task: it is counted now, and queued when the body has returned
 * (th_task_repost).
 */
static int post_self(th_fiber *fiber, thrum_sched *sched, thrum_hint hint) {
    bool fit;
    if (sched == fiber->sched) {
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
            th_flow_began(&record->xcreated);
        }
        th_outside_leave(sched, record);
    }
    if (!fit) {
        return -EINVAL;
    }
    fiber->repost = true;
    fiber->repost_hint = (uint8_t)hint;
    fiber->repost_sched = sched;
    return 0;
}

void th_task_repost(th_fiber *fiber) {
    thrum_sched *sched = fiber->repost_sched;
    th_work *work = work_of(fiber->task);
    fiber->repost = false;
    if (sched == fiber->sched) {
        fiber->worker->unseen = true;
        th_submit(fiber->worker, work, fiber->repost_hint);
        fiber->worker->unseen = false;
    } else {
        th_outside *record = th_outside_enter(sched, false);
        th_submit_outside(sched, work);
        th_outside_leave(sched, record);
    }
}

static int post(thrum_sched *sched, thrum_task *task, thrum_hint hint, bool begun) {
    th_worker *worker = th_here();
    if (begun && is_own(worker, task)) {
        return post_self(worker->current, sched, hint);
    }
    if (worker && worker->sched == sched) {
        if (!fits(sched, task)) {
            return -EINVAL;
        }
        th_tsan_release(task); /* from here on it may be gone */
        th_enter(worker);
        th_flow_began(&worker->flow.xcreated);
        th_submit(worker, work_of(task), hint);
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
        th_flow_began(&record->xcreated);
        th_submit_outside(sched, work_of(task));
    }
    th_outside_leave(sched, record);
    return fit ? 0 : -EINVAL;
}

int thrum_task_post_hint(thrum_sched *sched, thrum_task *task, thrum_hint hint) {
    if (th_unlikely((unsigned)hint > THRUM_HINT_YIELD)) {
        return -EINVAL;
    }
    uint64_t before;
    int result = mark_posted(sched, task, &before);
    if (th_likely(!result)) {
        result = post(sched, task, hint, before == BEGUN);
        if (th_unlikely(result)) {
            th_store_relaxed(&task->reserved_state, before); /* relaxed: it is the caller's again */
        }
    }
    return result;
}

int thrum_task_post(thrum_sched *sched, thrum_task *task) {
    return thrum_task_post_hint(sched, task, THRUM_HINT_NONE);
}

/* ---- batches ---- */

static void unmark(thrum_task *const tasks[], size_t n) {
    for (size_t i = 0; i < n; i++) {
        th_store_relaxed(&tasks[i]->reserved_state, 0u); /* relaxed: they are the caller's again */
    }
}

/* All are marked and none is the running body's own, or why not. */
static int mark_batch(const thrum_sched *sched, thrum_task *const tasks[], size_t n) {
    const th_worker *worker = th_here();
    for (size_t i = 0; i < n; i++) {
        uint64_t before = 0;
        int result = mark_posted(sched, tasks[i], &before);
        if (!result && before == BEGUN && is_own(worker, tasks[i])) {
            th_store_relaxed(&tasks[i]->reserved_state, before); /* relaxed: as it was */
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
        th_count(&record->xcreated, n); /* relaxed: as th_flow_began */
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
