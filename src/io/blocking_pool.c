/*
 * blocking_pool.c: the blocking pool; blocking_pool.h has its words and rules.
 *
 * A member that leaves can't join itself: the next one to leave does, and the last one is joined by
 * th_blocking_pool_free. So at most one thread that has left is not joined yet.
 */
#include "io/blocking_pool.h"

#include <errno.h>

#include "base/atomic.h"
#include "base/check.h"
#include "core/wait/cancel.h"
#include "core/state/driver.h"
#include "core/state/lock.h"
#include "core/state/thread.h"
#include "core/wait/wait.h"
#include "core/ready/waiter.h"
#include "platform/platform.h"

/* So many calls that nobody can come for are failed at a time. */
#define FAIL_MAX TH_LIMIT(256u, 2u)

/* Lives on the stack of who waits; the pool's from being queued until the waiter is woken. */
struct job {
    struct job *next; /* the queue's, protected by the pool's lock, as are the next two */
    struct job *prev;
    bool queued;
    thrum_fn fn;
    void *arg;
    int result;
    int code; /* 0, or why fn has not begun; written before the wake */
    th_waiter waiter;
};

struct member {
    th_blocking_pool *pool; /* constant */
    struct member *next;    /* the idle list's */
    struct member *prev;
    uint32_t xcalled;    /* 1: taken off the idle list; written under the lock, slept on without */
    th_os_thread thread; /* written under start_lock by who started it */
};

struct th_blocking_pool {
    thrum_sched *sched; /* these three are constant */
    int64_t keepalive;
    uint32_t threads_max;

    th_lock start_lock; /* held while a thread is started */

    th_lock lock; /* protects all that follows; what begins with x is read without it too */
    bool stopping;
    uint32_t queued;   /* length of the queue */
    uint32_t looking;  /* members that will look at the queue next */
    uint32_t xthreads; /* members; th_blocking_pool_free sleeps on it */
    uint64_t xcalls;
    struct job *first; /* the queue */
    struct job *last;
    struct member *idle; /* who slept last comes first */
    struct member *left; /* the last to leave, not joined; from then on its joiner's */
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

/* ---- under the lock ---- */

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
    pool->queued++;
}

/* It is in the queue, anywhere. */
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
    pool->queued--;
}

static struct job *pop_job(th_blocking_pool *pool) {
    struct job *job = pool->first;
    if (job != NULL) {
        remove_job(pool, job);
    }
    return job;
}

static void push_idle(th_blocking_pool *pool, struct member *me) {
    /* relaxed: set by others under the lock, which orders it */
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
 * Takes the member that slept last off the idle list and makes it one that looks. Returns what to
 * wake it by, after the lock is released: by then it may have seen the call and be gone, which
 * th_os_futex_wake allows. NULL: nobody is idle.
 */
static uint32_t *call_idle(th_blocking_pool *pool) {
    struct member *member = pool->idle;
    if (member == NULL) {
        return NULL;
    }
    remove_idle(pool, member);
    pool->looking++;
    /* relaxed: an order to look under the lock, which orders the rest */
    th_store_relaxed(&member->xcalled, 1);
    return &member->xcalled;
}

static void set_threads(th_blocking_pool *pool, uint32_t n) {
    /* relaxed: read without the lock as a figure only, or by who sleeps on it and then joins */
    th_store_relaxed(&pool->xthreads, n);
}

/* ---- a member's life ---- */

/* Waits for the end of one that has left, and frees its record. */
static void reap(th_blocking_pool *pool, struct member *member) {
    /* Its starter may still be about to write the handle. */
    th_lock_acquire(&pool->start_lock);
    th_lock_release(&pool->start_lock);
    th_os_thread_join(member->thread);
    th_sched_free(pool->sched, member);
}

/* Leaves the pool: takes the lock over and releases it. */
static void leave(th_blocking_pool *pool, struct member *me) {
    struct member *before = pool->left;
    pool->left = me;
    set_threads(pool, pool->xthreads - 1);
    bool last = pool->stopping && pool->xthreads == 0;
    th_lock_release(&pool->lock);
    if (last) {
        th_os_futex_wake(&pool->xthreads, 1); /* the pool lives until we are joined */
    }
    if (before != NULL) {
        reap(pool, before);
    }
}

/*
 * Sleeps until called or until the keepalive has passed. The lock is held before and after. True:
 * called. False: off the idle list by itself.
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
        /* relaxed: the lock, taken next, orders the rest */
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
 * The call, on a thread that acts for the task that waits for it: what it posts counts as that
 * task's. Before the task goes on the thread is as it was.
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

/* Carries the job out. Without the lock, which is held again afterwards. */
static void run_job(th_blocking_pool *pool, struct job *job) {
    job->result = call_for(pool->sched, job->fn, job->arg);
    if (th_unlikely(th_thread_self()->orphan)) {
        th_thread_body_ends(job->result); /* in the child of a fork: the caller is the parent's */
    }
    job->code = 0;
    /* Looking already before the wake: the fiber's next call then finds us about to come. */
    th_lock_acquire(&pool->lock);
    pool->looking++;
    th_lock_release(&pool->lock);
    th_waiter_wake(&job->waiter); /* the job is gone */
    th_lock_acquire(&pool->lock);
    pool->looking--;
}

static void member_main(void *arg) {
    struct member *me = arg;
    th_blocking_pool *pool = me->pool;
    th_thread_self()->serves = true;
    th_lock_acquire(&pool->lock);
    pool->looking--;
    for (;;) {
        struct job *job = pop_job(pool);
        if (job != NULL) {
            th_lock_release(&pool->lock);
            run_job(pool, job);
        } else if (pool->stopping) {
            break;
        } else if (sleep_idle(pool, me)) {
            pool->looking--;
        } else if (pool->first == NULL) {
            break;
        }
    }
    leave(pool, me);
}

/* ---- the caller's side ---- */

/* A member more, counted already. Without the lock. */
static int start_member(th_blocking_pool *pool) {
    struct member *member = th_sched_alloc(pool->sched, sizeof(*member));
    if (member == NULL) {
        return -ENOMEM;
    }
    *member = (struct member){.pool = pool};
    th_lock_acquire(&pool->start_lock);
    /* Not only where the worker runs that happens to call. */
    const th_os_cpuset *cpus = th_sched_cpus(pool->sched);
    int code = th_os_thread_start_on(&member->thread, "thrum-blocking", member_main, member, cpus);
    th_lock_release(&pool->start_lock);
    if (code != 0) {
        th_sched_free(pool->sched, member);
    }
    return code;
}

/* With the lock: takes some of the jobs off the queue, linked by `next`. */
static struct job *pop_some(th_blocking_pool *pool) {
    struct job *first = pool->first;
    struct job *last = NULL;
    for (unsigned i = 0; i < FAIL_MAX && pool->first != NULL; i++) {
        last = pop_job(pool);
    }
    if (last != NULL) {
        last->next = NULL;
    }
    return first;
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
 * The member that was counted could not be started. If it was the only one, nobody will ever come
 * for what is queued: all of it fails, some at a time, unless a call that came meanwhile starts a
 * member. Else the jobs wait for the others; but others may have relied on our member to look, and
 * gone idle, so one of those is called if need be.
 */
static void start_failed(th_blocking_pool *pool, int code) {
    uint32_t *wake = NULL;
    struct job *failed;
    th_lock_acquire(&pool->lock);
    pool->looking--;
    set_threads(pool, pool->xthreads - 1);
    while (pool->xthreads == 0 && (failed = pop_some(pool)) != NULL) {
        th_lock_release(&pool->lock);
        fail_each(failed, code);
        th_lock_acquire(&pool->lock);
    }
    if (pool->xthreads != 0 && pool->queued > pool->looking) {
        wake = call_idle(pool);
    }
    th_lock_release(&pool->lock);
    if (wake != NULL) {
        th_os_futex_wake(wake, 1);
    }
}

/* The caller was cancelled: its job is withdrawn, if it has not begun. */
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

int th_blocking_pool_run(th_blocking_pool *pool, thrum_fn fn, void *arg, int *result) {
    struct job job = {.fn = fn, .arg = arg};
    uint32_t *wake = NULL;
    bool start = false;
    th_waiter_init(&job.waiter, TH_ON_BLOCKING, pool);
    job.waiter.leave = withdraw;
    if (th_cancel_can(&job.waiter) && job.waiter.fiber != NULL &&
        th_cancel_is_on(job.waiter.fiber)) {
        return -ECANCELED; /* queued, it might begin before it is withdrawn */
    }

    th_lock_acquire(&pool->lock);
    th_count(&pool->xcalls, 1);
    push_job(pool, &job);
    if (pool->queued > pool->looking) {
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
    *result = job.result; /* it also waited when it failed: whoever saw that has woken us */
    return job.code;
}

/* ---- the end, and looking in ---- */

void th_blocking_pool_free(th_blocking_pool *pool) {
    th_lock_acquire(&pool->lock);
    pool->stopping = true;
    for (uint32_t *wake; (wake = call_idle(pool)) != NULL;) {
        th_os_futex_wake(wake, 1);
    }
    th_lock_release(&pool->lock);
    uint32_t threads;
    /* relaxed: the joins order what the threads did before ours */
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
