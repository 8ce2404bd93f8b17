/*
 * blocking.c: thrum_blocking, and each scheduler's blocking pool as a driver (core/state/driver.h):
 * jobs (jobs.h) that lie on the stacks of the fibers which wait for them, and threads that are
 * joined before the scheduler ends.
 *
 * A thread that leaves cannot join itself: the next one to leave joins it, and the last one is
 * joined by th_blocking_pool_free. So at most one thread that has left is not joined yet.
 */
#include "thrum/blocking.h"

#include <errno.h>

#include "base/check.h"
#include "core/state/driver.h"
#include "core/state/thread.h"
#include "core/state/worker.h"
#include "core/wait/cancel.h"
#include "pools/blocking_pool.h"
#include "pools/jobs.h"
#include "thrum/sched.h"

int64_t th_blocking_patience = 100000000;

typedef struct call {
    th_job job; /* the first */
    th_blocking_pool *pool;
    thrum_fn fn;
    void *arg;
    int result;
    th_waiter waiter;
} call;

typedef struct member {
    th_blocking_pool *pool; /* constant */
    th_os_thread thread;    /* written with start_lock by the caller that started it */
} member;

struct th_blocking_pool {
    th_jobs jobs; /* the first; its lock protects `calls` and `left` */
    thrum_sched *sched;
    th_lock start_lock; /* held while a thread is started */
    uint64_t calls;
    member *left; /* the last member to leave, not joined; once taken, its joiner's */
};

/* ---- a member ---- */

/*
 * Makes the call, on a thread that acts for the waiting task's scheduler: its posts count as posted
 * by that task. The thread is as before when the task goes on.
 */
static void run(th_job *job) {
    call *c = (call *)(void *)job;
    th_thread *thread = th_thread_self();
    thread->acts_for = c->pool->sched;
    c->result = c->fn(c->arg);
    thread->acts_for = NULL;
    if (thread->worker) {
        th_misuse("thrum_sched_unbind", "missing: a blocking call has returned bound",
                  thread->worker);
    }
    if (th_unlikely(thread->orphan)) {
        th_thread_body_ends(c->result); /* in a forked process: the caller is in its parent */
    }
}

/* Joins a member that has left, and frees its record. */
static void reap(th_blocking_pool *pool, member *left) {
    /* The member's starter may still be about to write the handle. */
    th_lock_acquire(&pool->start_lock);
    th_lock_release(&pool->start_lock);
    th_os_thread_join(left->thread);
    th_sched_free(pool->sched, left);
}

static void member_main(void *arg) {
    member *me = arg;
    th_blocking_pool *pool = me->pool;
    th_thread_self()->serves = true;
    th_jobs_serve(&pool->jobs);
    member *before = pool->left;
    pool->left = me;
    const bool last = pool->jobs.stopping && !pool->jobs.xthreads;
    th_lock_release(&pool->jobs.lock);
    if (last) {
        th_os_futex_wake(&pool->jobs.xthreads, 1); /* the pool lives until this thread is joined */
    }
    if (before) {
        reap(pool, before);
    }
}

static int start(th_jobs *jobs) {
    th_blocking_pool *pool = (th_blocking_pool *)(void *)jobs;
    member *made = th_sched_alloc(pool->sched, sizeof *made);
    if (!made) {
        return -ENOMEM;
    }
    made->pool = pool;
    TH_LOCKED(&pool->start_lock);
    /* The thread may use all of the scheduler's CPUs, not only those of the calling worker. */
    const th_os_cpuset *cpus = th_sched_cpus(pool->sched);
    const int code = th_os_thread_start_on(&made->thread, jobs->name, member_main, made, cpus);
    if (code) {
        th_sched_free(pool->sched, made);
    }
    return code;
}

/* ---- a caller ---- */

static bool leave(void *object, th_waiter *waiter) {
    th_blocking_pool *pool = object;
    return th_jobs_withdraw(&pool->jobs, &th_container(waiter, call, waiter)->job, waiter);
}

int th_blocking_pool_run(th_blocking_pool *pool, thrum_fn fn, void *arg, int *result) {
    call c; /* field by field: the waiter is made below */
    th_jobs *jobs = &pool->jobs;
    th_fiber *fiber = th_fiber_self();
    if (fiber && !fiber->inherited.shields && th_cancel_is_on(fiber)) {
        return -ECANCELED; /* a queued job might begin before it is withdrawn */
    }
    th_job_init(&c.job);
    c.pool = pool;
    c.fn = fn;
    c.arg = arg;
    c.result = 0;
    th_lock_acquire(&jobs->lock);
    pool->calls++;
    const th_jobs_call todo = th_jobs_put(jobs, &c.job);
    th_jobs_join(jobs, &c.job, &c.waiter, pool);
    th_jobs_unlock(jobs, todo);
    const bool woken = !c.waiter.timed && th_waiter_wait(&c.waiter) == TH_WAIT_WOKEN;
    const int code = woken ? 0 : th_jobs_wait(jobs, &c.job, &c.waiter, THRUM_FOREVER);
    *result = c.result;
    return code ? code : c.job.code;
}

/* ---- the driver ---- */

void *th_blocking_pool_new(thrum_sched *sched) {
    th_blocking_pool *pool = th_sched_alloc(sched, sizeof *pool);
    if (pool) {
        const thrum_config *config = th_sched_config(sched);
        pool->sched = sched;
        pool->jobs =
            (th_jobs){.name = "thrum-blocking",
                      .on = TH_ON_BLOCKING,
                      .run = run,
                      .start = start,
                      .leave = leave,
                      .threads_max = config->blocking_threads_max,
                      .patience = th_blocking_patience,
                      .linger = config->blocking_keepalive ? config->blocking_keepalive : 1};
    }
    return pool;
}

void th_blocking_pool_free(void *instance) {
    th_blocking_pool *pool = instance;
    th_jobs_stop(&pool->jobs);
    th_lock_acquire(&pool->jobs.lock);
    member *last = pool->left;
    th_lock_release(&pool->jobs.lock);
    if (last) {
        reap(pool, last);
    }
    th_sched_free(pool->sched, pool);
}

static void add_metrics(void *instance, thrum_metrics *metrics) {
    th_blocking_pool *pool = instance;
    th_jobs_figures figures;
    th_jobs_read(&pool->jobs, &figures);
    metrics->blocking_threads += figures.threads;
    metrics->blocking_queued += figures.queued;
    metrics->blocking_running += figures.begun;
    TH_LOCKED(&pool->jobs.lock);
    metrics->blocking_calls += pool->calls;
}

static const th_driver driver = {.name = "blocking",
                                 .make = th_blocking_pool_new,
                                 .stop = th_blocking_pool_free,
                                 .metrics = add_metrics};

int thrum_blocking(thrum_fn fn, void *arg, int *result) {
    int value = 0;
    int code = 0;
    if (!fn) {
        return -EINVAL;
    }
    thrum_sched *sched = thrum_sched_current();
    if (!sched) {
        value = fn(arg);
    } else {
        th_blocking_pool *pool = th_sched_driver(sched, &driver);
        code = !pool ? -ENOMEM : th_blocking_pool_run(pool, fn, arg, &value);
    }
    if (code == 0 && result) {
        *result = value;
    }
    return code;
}
