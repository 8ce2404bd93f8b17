/*
 * blocking_pool.c: the blocking pool; blocking_pool.h has its words and rules.
 *
 * A member that leaves cannot join itself: the next one to leave joins it, and the last one is
 * joined by th_blocking_pool_free. So at most one thread that has left is not joined yet.
 */
#include "pools/blocking_pool.h"

#include <errno.h>

#include "base/atomic.h"
#include "base/check.h"
#include "core/ready/waiter.h"
#include "core/state/driver.h"
#include "core/basis/lock.h"
#include "core/state/thread.h"
#include "core/wait/cancel.h"
#include "core/wait/wait.h"
#include "pools/idle_spin.h"
#include "platform/platform.h"
#include "sync/waitlist.h"

/* How many queued jobs are failed at a time when there is no thread to run them. */
#define FAIL_MAX TH_LIMIT(256u, 2u)

int64_t th_blocking_patience = 100000000;

/* Lives on the waiter's stack; it belongs to the pool from being queued until the wake. */
struct job {
    struct job *next; /* the queue's link; the pool's lock protects it and the next two */
    struct job *prev;
    bool queued;
    thrum_fn fn;
    void *arg;
    int result;
    int code; /* 0, or the reason why fn has not begun; written before the wake */
    th_waiter waiter;
};

struct member {
    th_blocking_pool *pool; /* constant */
    struct member *next;    /* the idle list's link */
    struct member *prev;
    uint32_t xcalled;    /* 1: off the idle list; written under the lock, slept on without it */
    th_os_thread thread; /* written under start_lock by the caller that started it */
};

struct th_blocking_pool {
    thrum_sched *sched; /* constant, as are the next two */
    int64_t keepalive;
    uint32_t threads_max;

    th_lock start_lock; /* held while a thread is started */

    th_lock lock; /* protects all that follows; fields with an x are also read without it */
    bool stopping;
    uint32_t xqueued;  /* the length of the queue */
    uint32_t looking;  /* the number of members that will look at the queue next */
    uint32_t running;  /* the number of jobs that have begun and not ended */
    uint32_t xthreads; /* the number of members; th_blocking_pool_free sleeps on it */
    uint64_t xcalls;
    uint64_t begun;     /* the number of jobs that have begun */
    void *refuse_first; /* callers that were refused a thread and wait for a member */
    void *refuse_last;
    struct job *first; /* the queue */
    struct job *last;
    th_idle_spin spin;
    struct member *idle; /* the idle list; the last member to fall asleep is the first */
    struct member *left; /* the last member to leave, not joined; once taken, its joiner's */
};

th_blocking_pool *th_blocking_pool_new(thrum_sched *sched) {
    th_blocking_pool *pool = th_sched_alloc(sched, sizeof(*pool));
    if (pool != NULL) {
        const thrum_config *config = th_sched_config(sched);
        *pool = (th_blocking_pool){
            .sched = sched,
            .keepalive = config->blocking_keepalive,
            .threads_max = config->blocking_threads_max,
        };
    }
    return pool;
}

/* ---- with the lock ---- */

static th_waitlist refused_of(th_blocking_pool *pool) {
    return (th_waitlist){&pool->refuse_first, &pool->refuse_last};
}

static void set_queued(th_blocking_pool *pool, uint32_t n) {
    /* relaxed: without the lock it is a hint (th_idle_spin_look) */
    th_store_relaxed(&pool->xqueued, n);
}

static void push_job(th_blocking_pool *pool, struct job *job) {
    job->queued = true;
    job->next = NULL;
    job->prev = pool->last;
    if (pool->last == NULL) {
        pool->first = job;
    } else {
        pool->last->next = job;
    }
    pool->last = job;
    set_queued(pool, pool->xqueued + 1);
}

/* Removes a job from anywhere in the queue. */
static void remove_job(th_blocking_pool *pool, struct job *job) {
    if (job->prev == NULL) {
        pool->first = job->next;
    } else {
        job->prev->next = job->next;
    }
    if (job->next == NULL) {
        pool->last = job->prev;
    } else {
        job->next->prev = job->prev;
    }
    job->queued = false;
    set_queued(pool, pool->xqueued - 1);
}

static struct job *pop_job(th_blocking_pool *pool) {
    struct job *job = pool->first;
    if (job != NULL) {
        remove_job(pool, job);
    }
    return job;
}

static void push_idle(th_blocking_pool *pool, struct member *me) {
    /* relaxed: other threads set it under the lock, which orders it */
    th_store_relaxed(&me->xcalled, 0);
    me->prev = NULL;
    me->next = pool->idle;
    if (me->next != NULL) {
        me->next->prev = me;
    }
    pool->idle = me;
}

static void remove_idle(th_blocking_pool *pool, struct member *member) {
    if (member->prev != NULL) {
        member->prev->next = member->next;
    } else {
        pool->idle = member->next;
    }
    if (member->next != NULL) {
        member->next->prev = member->prev;
    }
}

/*
 * Takes the member that fell asleep last off the idle list, and counts it as looking. Returns the
 * word to wake it by after the lock is released: by then it may have seen the call and be gone,
 * which th_os_futex_wake allows. NULL: no member is idle.
 */
static uint32_t *call_idle(th_blocking_pool *pool) {
    struct member *member = pool->idle;
    if (member == NULL) {
        return NULL;
    }
    remove_idle(pool, member);
    pool->looking++;
    /* relaxed: the member then takes the lock, which orders the rest */
    th_store_relaxed(&member->xcalled, 1);
    return &member->xcalled;
}

static void set_threads(th_blocking_pool *pool, uint32_t n) {
    /* relaxed: without the lock it is read as a figure, or by a sleeper that then joins */
    th_store_relaxed(&pool->xthreads, n);
}

/* ---- a member's life ---- */

/* Joins a member that has left, and frees its record. */
static void reap(th_blocking_pool *pool, struct member *member) {
    /* The member's starter may still be about to write the handle. */
    th_lock_acquire(&pool->start_lock);
    th_lock_release(&pool->start_lock);
    th_os_thread_join(member->thread);
    th_sched_free(pool->sched, member);
}

/* Leaves the pool. With the lock, which it gives up. */
static void leave(th_blocking_pool *pool, struct member *me) {
    struct member *before = pool->left;
    pool->left = me;
    set_threads(pool, pool->xthreads - 1);
    bool last = pool->stopping && pool->xthreads == 0;
    th_lock_release(&pool->lock);
    if (last) {
        th_os_futex_wake(&pool->xthreads, 1); /* the pool lives until this thread is joined */
    }
    if (before != NULL) {
        reap(pool, before);
    }
}

/*
 * Looks for a job for a moment, unless the member has one processor. The lock is held before and
 * after. True: there is one, or the pool stops.
 */
static bool spin_idle(th_blocking_pool *pool, bool alone) {
    if (!th_idle_spin_begin(&pool->spin, alone)) {
        return false;
    }
    pool->looking++;
    th_lock_release(&pool->lock);
    th_idle_spin_look(&pool->xqueued);
    th_lock_acquire(&pool->lock);
    pool->looking--;
    const bool found = pool->first != NULL;
    th_idle_spin_end(&pool->spin, found);
    return found || pool->stopping;
}

/*
 * Sleeps until called or until the keepalive has passed. The lock is held before and after. True:
 * it was called. False: it was not, and has left the idle list.
 */
static bool sleep_idle(th_blocking_pool *pool, struct member *me) {
    push_idle(pool, me);
    th_lock_release(&pool->lock);

    int64_t now = th_os_now();
    bool forever = pool->keepalive >= TH_FOREVER - now;
    int64_t deadline = forever ? TH_FOREVER : now + pool->keepalive;
    int code;
    do {
        code = th_os_futex_wait(&me->xcalled, 0, deadline);
        /* relaxed: the lock, which is taken next, orders the rest */
    } while (th_load_relaxed(&me->xcalled) == 0 && code != -ETIMEDOUT);

    th_lock_acquire(&pool->lock);
    /* relaxed: written under the lock */
    bool called = th_load_relaxed(&me->xcalled) != 0;
    if (!called) {
        remove_idle(pool, me);
    }
    return called;
}

/*
 * Makes the call, on a thread that acts for the waiting task's scheduler: what it posts counts as
 * posted by that task. The thread is as before when the task goes on.
 */
static int call_for(thrum_sched *sched, thrum_fn fn, void *arg) {
    th_thread *thread = th_thread_self();
    thread->acts_for = sched;
    int result = fn(arg);
    thread->acts_for = NULL;
    if (thread->worker != NULL) {
        th_misuse("thrum_sched_unbind", "missing: a blocking call has returned bound",
                  thread->worker);
    }
    return result;
}

/* Runs the job. Without the lock, which is held afterwards. */
static void run_job(th_blocking_pool *pool, struct job *job) {
    job->result = call_for(pool->sched, job->fn, job->arg);
    if (th_unlikely(th_thread_self()->orphan)) {
        th_thread_body_ends(job->result); /* in a forked process: the caller is in its parent */
    }
    job->code = 0;
    /* It counts as looking before the wake, so that the fiber's next call needs no other member. */
    th_lock_acquire(&pool->lock);
    pool->looking++;
    pool->running--;
    th_waiter *refused = pool->xqueued < pool->looking ? th_waitlist_pop(refused_of(pool)) : NULL;
    th_lock_release(&pool->lock);
    th_waiter_wake(&job->waiter); /* afterwards the job is gone */
    if (th_unlikely(refused != NULL)) {
        th_waiter_let_go(refused);
    }
    th_lock_acquire(&pool->lock);
    pool->looking--;
}

static void member_main(void *arg) {
    struct member *me = arg;
    th_blocking_pool *pool = me->pool;
    th_thread_self()->serves = true;
    const bool alone = th_idle_spin_is_alone();
    th_lock_acquire(&pool->lock);
    pool->looking--;
    for (;;) {
        struct job *job = pop_job(pool);
        if (job != NULL) {
            pool->running++;
            pool->begun++;
            th_lock_release(&pool->lock);
            run_job(pool, job);
        } else if (pool->stopping) {
            break;
        } else if (spin_idle(pool, alone)) {
            continue;
        } else if (sleep_idle(pool, me)) {
            pool->looking--;
        } else if (pool->first == NULL) {
            break;
        }
    }
    leave(pool, me);
}

/* ---- the caller's side ---- */

/* Starts a member, which is counted already. Without the lock. */
static int start_member(th_blocking_pool *pool) {
    struct member *member = th_sched_alloc(pool->sched, sizeof(*member));
    if (member == NULL) {
        return -ENOMEM;
    }
    *member = (struct member){.pool = pool};
    th_lock_acquire(&pool->start_lock);
    /* The thread may use all of the scheduler's CPUs, not only those of the calling worker. */
    const th_os_cpuset *cpus = th_sched_cpus(pool->sched);
    int code = th_os_thread_start_on(&member->thread, "thrum-blocking", member_main, member, cpus);
    th_lock_release(&pool->start_lock);
    if (code != 0) {
        th_sched_free(pool->sched, member);
    }
    return code;
}

/*
 * With the lock. Takes some of the jobs that no member will look for off the queue, the newest;
 * returns them linked by `next`.
 */
static struct job *pop_surplus(th_blocking_pool *pool) {
    struct job *chain = NULL;
    for (unsigned i = 0; i < FAIL_MAX && pool->xqueued > pool->looking; i++) {
        struct job *job = pool->last;
        remove_job(pool, job);
        job->next = chain;
        chain = job;
    }
    return chain;
}

static void fail_each(struct job *failed, int code) {
    while (failed != NULL) {
        struct job *next = failed->next;
        failed->code = code;
        th_waiter_wake(&failed->waiter);
        failed = next;
    }
}

/*
 * To be called when the member that was counted could not be started. Another may have gone idle
 * because this one was counted as looking: it is called if need be. Jobs that no member will look
 * for fail, some at a time: a busy member may be waiting for what they would do.
 */
static void start_failed(th_blocking_pool *pool, int code) {
    th_lock_acquire(&pool->lock);
    pool->looking--;
    set_threads(pool, pool->xthreads - 1);
    uint32_t *wake = pool->xqueued > pool->looking ? call_idle(pool) : NULL;
    struct job *failed;
    while ((failed = pop_surplus(pool)) != NULL) {
        th_lock_release(&pool->lock);
        fail_each(failed, code);
        th_lock_acquire(&pool->lock);
    }
    th_lock_release(&pool->lock);
    if (wake != NULL) {
        th_os_futex_wake(wake, 1);
    }
}

/* To be called when the caller was cancelled. True: its job had not begun, and is withdrawn. */
static bool withdraw(void *object, th_waiter *waiter) {
    th_blocking_pool *pool = object;
    struct job *job = th_container(waiter, struct job, waiter);
    th_lock_acquire(&pool->lock);
    bool queued = job->queued;
    if (queued) {
        remove_job(pool, job);
    }
    th_lock_release(&pool->lock);
    return queued;
}

/* As th_blocking_pool_run; a call that finds no member free, and is refused a new one, fails. */
static int try_to_run(th_blocking_pool *pool, thrum_fn fn, void *arg, int *result, bool again) {
    struct job job = {.fn = fn, .arg = arg};
    uint32_t *wake = NULL;
    bool start = false;
    th_waiter_init(&job.waiter, TH_ON_BLOCKING, pool);
    job.waiter.leave = withdraw;
    if (th_cancel_can(&job.waiter) && job.waiter.fiber != NULL &&
        th_cancel_is_on(job.waiter.fiber)) {
        return -ECANCELED; /* a queued job might begin before it is withdrawn */
    }

    th_lock_acquire(&pool->lock);
    th_count(&pool->xcalls, !again);
    push_job(pool, &job);
    if (pool->xqueued > pool->looking) {
        wake = call_idle(pool);
        if (wake == NULL && pool->xthreads < pool->threads_max) {
            start = true;
            set_threads(pool, pool->xthreads + 1);
            pool->looking++;
        }
    }
    th_lock_release(&pool->lock);

    if (wake != NULL) {
        th_os_futex_wake(wake, 1);
    } else if (start) {
        int code = start_member(pool);
        if (code != 0) {
            start_failed(pool, code);
        }
    }
    if (th_waiter_wait(&job.waiter) == TH_WAIT_CANCELLED) {
        return -ECANCELED;
    }
    *result = job.result; /* a job that failed was woken, too, by the caller that failed it */
    return job.code;
}

/*
 * The caller was refused with this code. Waits until a member is free, as long as jobs go on to
 * begin: 0, or the code that ends the call. Sets *last if none has begun for a while: then the next
 * try must be the last.
 */
static int wait_for_member(th_blocking_pool *pool, int code, bool *last) {
    th_lock_acquire(&pool->lock);
    code = pool->xthreads == 0 ? code : 0;
    while (code == 0 && !*last && pool->idle == NULL && pool->xqueued >= pool->looking) {
        const uint64_t begun = pool->begun;
        th_waiter me;
        th_waiter_init_for(&me, TH_ON_BLOCKING, pool, true, NULL);
        th_waitlist_push(refused_of(pool), &me);
        th_lock_release(&pool->lock);
        const int64_t deadline = th_os_now() + th_blocking_patience;
        const uint32_t outcome = th_waiter_wait_until(&me, deadline);
        th_lock_acquire(&pool->lock);
        (void)th_waitlist_leave(refused_of(pool), &me);
        if (outcome != TH_WAIT_TIMEDOUT) {
            code = th_waiter_result(outcome);
            break;
        }
        *last = pool->begun == begun;
    }
    th_lock_release(&pool->lock);
    return code;
}

int th_blocking_pool_run(th_blocking_pool *pool, thrum_fn fn, void *arg, int *result) {
    bool last = false;
    int code = try_to_run(pool, fn, arg, result, false);
    while (th_unlikely(code == -EAGAIN || code == -ENOMEM) && !last) {
        const int refused = wait_for_member(pool, code, &last);
        if (refused != 0) {
            return refused;
        }
        code = try_to_run(pool, fn, arg, result, true);
    }
    return code;
}

/* ---- the end, and the figures ---- */

void th_blocking_pool_free(th_blocking_pool *pool) {
    th_lock_acquire(&pool->lock);
    pool->stopping = true;
    for (uint32_t *wake; (wake = call_idle(pool)) != NULL;) {
        th_os_futex_wake(wake, 1);
    }
    th_lock_release(&pool->lock);
    uint32_t threads;
    /* relaxed: the joins order what the threads did */
    while ((threads = th_load_relaxed(&pool->xthreads)) != 0) {
        (void)th_os_futex_wait(&pool->xthreads, threads, TH_FOREVER);
    }
    th_lock_acquire(&pool->lock);
    struct member *last = pool->left;
    th_lock_release(&pool->lock);
    if (last != NULL) {
        reap(pool, last);
    }
    th_sched_free(pool->sched, pool);
}

uint64_t th_blocking_pool_calls(const th_blocking_pool *pool) {
    /* relaxed: a figure */
    return th_load_relaxed(&pool->xcalls);
}

uint32_t th_blocking_pool_threads(const th_blocking_pool *pool) {
    /* relaxed: a figure */
    return th_load_relaxed(&pool->xthreads);
}

void th_blocking_pool_load(th_blocking_pool *pool, uint32_t *queued, uint32_t *running) {
    th_lock_acquire(&pool->lock);
    *queued = pool->xqueued;
    *running = pool->running;
    th_lock_release(&pool->lock);
}
