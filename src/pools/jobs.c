/*
 * jobs.c: see jobs.h.
 *
 * Invariant: as many threads are looking as jobs are queued, or no thread sleeps and the limit is
 * reached, or no further thread could be started. A thread is looking from the moment when a caller
 * decides to start or to wake it, and again from the end of a job, before it wakes the callers;
 * until it takes a job, or sleeps.
 */
#include "pools/jobs.h"

#include <errno.h>

#include "base/atomic.h"
#include "core/control/atfork.h"
#include "core/ready/waiter.h"
#include "core/state/driver.h"
#include "sync/waitlist.h"
#include "thrum/sched.h"

/* A thread that waits for something to do; on its stack. */
struct th_job_sleeper {
    th_job_sleeper *next; /* with the lock */
    uint32_t xcalled;     /* 1: off the list; written with the lock, slept on without it */
};

static inline th_waitlist waiters_of(th_job *job) {
    return (th_waitlist){&job->first, &job->last};
}

static void set_length(th_jobs *jobs, uint32_t n) {
    /* relaxed: without the lock it is a hint (th_idle_spin_look) */
    th_store_relaxed(&jobs->xlength, n);
}

static void set_threads(th_jobs *jobs, uint32_t n) {
    /* relaxed: without the lock it is read by a sleeper that then joins (th_jobs_stop) */
    th_store_relaxed(&jobs->xthreads, n);
}

/* ---- after a fork ---- */

static th_lock known_lock;
static th_jobs *known; /* all jobs, with that lock */

/*
 * In the child of a fork, on its only thread: the threads, and their jobs, are the parent's.
 */
static void in_child(void) {
    th_lock_init(&known_lock);
    for (th_jobs *jobs = known; jobs; jobs = jobs->more) {
        th_lock_init(&jobs->lock);
        jobs->queued = (th_job_list){NULL, NULL};
        jobs->begun = (th_job_list){NULL, NULL};
        jobs->sleepers = NULL;
        set_threads(jobs, 0);
        set_length(jobs, 0);
        jobs->spin.taken = false;
        jobs->looking = 0;
        jobs->starting = 0;
    }
}

void th_jobs_begin(th_jobs *jobs) {
    /* pairs: th_jobs_begin; that forks are watched */
    if (th_likely(th_load_acquire(&jobs->xknown))) {
        return;
    }
    th_atfork_in_child(in_child);
    TH_LOCKED(&known_lock);
    if (!jobs->xknown) { /* written with the lock held */
        jobs->more = known;
        known = jobs;
        th_store_release(&jobs->xknown, 1); /* pairs: th_jobs_begin; that forks are watched */
    }
}

/* ---- with the lock ---- */

static void push(th_job_list *list, th_job *job) {
    job->next = NULL;
    job->prev = list->last;
    *(list->last ? &list->last->next : &list->first) = job;
    list->last = job;
}

static void take_off(th_job_list *list, th_job *job) {
    *(job->prev ? &job->prev->next : &list->first) = job->next;
    *(job->next ? &job->next->prev : &list->last) = job->prev;
}

static void withdraw(th_jobs *jobs, th_job *job) {
    take_off(&jobs->queued, job);
    set_length(jobs, jobs->xlength - 1);
}

/* Takes the thread that lay down last off the list, and returns the word to wake it by, or NULL. */
static uint32_t *call_sleeper(th_jobs *jobs) {
    th_job_sleeper *sleeper = jobs->sleepers;
    if (!sleeper) {
        return NULL;
    }
    jobs->sleepers = sleeper->next;
    jobs->looking++;
    /* relaxed: it takes the lock next. It may be gone when it is woken, which is allowed */
    th_store_relaxed(&sleeper->xcalled, 1);
    return &sleeper->xcalled;
}

/* How many threads there may be in all. */
static uint32_t limit_of(const th_jobs *jobs) {
    return jobs->threads_max + jobs->hanging_max;
}

/* Whether there may be one more thread. Those in a call that all have given up do not count. */
static bool may_start(const th_jobs *jobs, uint32_t max) {
    if (jobs->xthreads >= limit_of(jobs)) {
        return false;
    }
    for (const th_job *job = jobs->begun.first; job && jobs->xthreads >= max; job = job->next) {
        max += job->by_thread && th_jobs_is_forgotten(job);
    }
    return jobs->xthreads < max;
}

/* Has a thread look, if one more is needed and there may be fewer than `max`. */
static th_jobs_call call_thread(th_jobs *jobs, uint32_t max) {
    th_jobs_call call = {0};
    if (jobs->xlength > jobs->looking) {
        call.xwake = call_sleeper(jobs);
        call.start = !call.xwake && max && may_start(jobs, max);
    }
    if (call.start) {
        set_threads(jobs, jobs->xthreads + 1);
        jobs->looking++;
        jobs->starting++;
        jobs->last_start = thrum_now();
    }
    return call;
}

th_jobs_call th_jobs_put(th_jobs *jobs, th_job *job) {
    job->references++;
    job->state = TH_JOB_QUEUED;
    job->code = 0;
    push(&jobs->queued, job);
    set_length(jobs, jobs->xlength + 1);
    const bool short_of = jobs->xlength > jobs->looking;
    const th_jobs_call call = short_of ? call_thread(jobs, jobs->threads_max) : (th_jobs_call){0};
    /* If the limit of threads is reached, a look would change nothing. */
    const bool crowded =
        jobs->starting || (jobs->xlength > jobs->looking && jobs->xthreads < limit_of(jobs));
    job->seen = jobs->taken;
    job->since = crowded ? thrum_now() : THRUM_FOREVER;
    /* relaxed: a hint; its consequences are decided with the lock */
    th_store_relaxed(&job->xcrowded, crowded);
    return call;
}

/* ---- with the lock: jobs that the system does without a thread ---- */

void th_jobs_begun(th_jobs *jobs, th_job *job) {
    job->references++;
    job->state = TH_JOB_BEGUN;
    job->by_thread = false;
    job->code = 0;
    push(&jobs->begun, job);
    jobs->calls++;
}

th_waiter *th_jobs_done(th_jobs *jobs, th_job *job) {
    take_off(&jobs->begun, job);
    job->state = TH_JOB_DONE;
    job->references--;
    return th_waitlist_detach(waiters_of(job));
}

bool th_jobs_are_crowded(const th_jobs *jobs) {
    return jobs->xlength >= jobs->looking && !jobs->sleepers && !may_start(jobs, jobs->threads_max);
}

th_job *th_jobs_find(th_jobs *jobs, bool (*is)(const th_job *job, const void *ctx),
                     const void *ctx) {
    th_job *const first[2] = {jobs->begun.first, jobs->queued.first};
    for (unsigned i = 0; i < 2; i++) {
        for (th_job *job = first[i]; job; job = job->next) {
            if (is(job, ctx)) {
                return job;
            }
        }
    }
    return NULL;
}

void th_jobs_join(th_jobs *jobs, th_job *job, th_waiter *me, const void *object) {
    /* relaxed: written with the lock */
    const bool timed = !jobs->leave || th_load_relaxed(&job->xcrowded);
    th_waiter_init_for(me, jobs->on, (void *)(uintptr_t)object, timed, jobs->leave);
    th_waitlist_push(waiters_of(job), me);
}

/* ---- a thread ---- */

/* With the lock, which it gives up and takes again: ends a job that is on no list any longer. */
static void end_job(th_jobs *jobs, th_job *job, int code) {
    job->state = TH_JOB_DONE;
    job->code = code;
    th_waiter *chain = th_waitlist_detach(waiters_of(job));
    const bool last = --job->references == 0;
    th_lock_release(&jobs->lock);
    th_waitlist_wake_all(chain);
    if (last) {
        jobs->end(job);
    }
    th_lock_acquire(&jobs->lock);
}

static void run_job(th_jobs *jobs, th_job *job) {
    withdraw(jobs, job);
    jobs->looking--;
    push(&jobs->begun, job);
    job->state = TH_JOB_BEGUN;
    job->by_thread = true;
    jobs->calls++;
    jobs->taken++;
    th_lock_release(&jobs->lock);
    jobs->run(job);
    th_lock_acquire(&jobs->lock);
    take_off(&jobs->begun, job);
    jobs->looking++;
    end_job(jobs, job, 0);
}

/*
 * With the lock, which it gives up meanwhile; still looking. True: there is a job. `never`: of this
 * thread, since each has the processors of its starter.
 */
static bool look_on(th_jobs *jobs, bool never) {
    if (!th_idle_spin_begin(&jobs->spin, never || jobs->stopping)) {
        return false;
    }
    th_lock_release(&jobs->lock);
    th_idle_spin_look(&jobs->xlength);
    th_lock_acquire(&jobs->lock);
    const bool found = jobs->queued.first != NULL;
    th_idle_spin_end(&jobs->spin, found);
    return found;
}

/* With the lock, which it gives up meanwhile. False: nothing came. */
static bool lie_down(th_jobs *jobs) {
    jobs->looking--;
    if (!jobs->linger || jobs->stopping) {
        return false;
    }
    th_job_sleeper me = {.next = jobs->sleepers};
    jobs->sleepers = &me;
    th_lock_release(&jobs->lock);
    const thrum_time deadline = thrum_after(jobs->linger);
    int code;
    do {
        code = th_os_futex_wait(&me.xcalled, 0, deadline);
        /* relaxed: the lock, which is taken next, orders the rest */
    } while (!th_load_relaxed(&me.xcalled) && code != -ETIMEDOUT);
    th_lock_acquire(&jobs->lock);
    if (th_load_relaxed(&me.xcalled)) { /* relaxed: written with the lock held */
        return true;
    }
    (void)TH_UNLINK(&jobs->sleepers, &me, next);
    return false;
}

void th_jobs_serve(th_jobs *jobs) {
    const bool never = !jobs->linger || th_idle_spin_is_alone();
    th_lock_acquire(&jobs->lock);
    do {
        while (jobs->queued.first) {
            run_job(jobs, jobs->queued.first);
        }
    } while (look_on(jobs, never) || lie_down(jobs));
    set_threads(jobs, jobs->xthreads - 1);
}

static void thread_main(void *arg) {
    th_jobs *jobs = arg;
    th_jobs_serve(jobs);
    th_lock_release(&jobs->lock);
}

/* A thread of the process's, for the scheduler that the caller is on. */
static int start_detached(th_jobs *jobs) {
    th_os_thread thread;
    /* All of the scheduler's CPUs, and not only those of the calling worker. */
    const thrum_sched *sched = thrum_sched_current();
    const th_os_cpuset *cpus = sched ? th_sched_cpus(sched) : NULL;
    const int code = th_os_thread_start_on(&thread, jobs->name, thread_main, jobs, cpus);
    if (!code) {
        th_os_thread_detach(thread);
    }
    return code;
}

/* With the lock: whether no thread will take the job, or none has taken any for long. */
static bool is_refused(const th_jobs *jobs, const th_job *job) {
    const thrum_time patience =
        jobs->patience > TH_REFUSED_PATIENCE ? jobs->patience : TH_REFUSED_PATIENCE;
    return !jobs->xthreads || (job->seen == jobs->taken && job->since <= thrum_now() - patience);
}

/*
 * Without the lock, the thread being counted. If it cannot be started, a thread that sleeps because
 * of it is woken, and refused jobs fail.
 */
static void start_thread(th_jobs *jobs) {
    const int code = jobs->start ? jobs->start(jobs) : start_detached(jobs);
    th_jobs_call call = {0};
    th_lock_acquire(&jobs->lock);
    jobs->starting--;
    if (code) {
        set_threads(jobs, jobs->xthreads - 1);
        jobs->looking--;
        call = call_thread(jobs, 0);
        th_job *job;
        while (jobs->xlength > jobs->looking && is_refused(jobs, job = jobs->queued.first)) {
            withdraw(jobs, job);
            end_job(jobs, job, code);
        }
    }
    th_jobs_unlock(jobs, call);
}

void th_jobs_unlock(th_jobs *jobs, th_jobs_call call) {
    th_lock_release(&jobs->lock);
    if (call.xwake) {
        th_os_futex_wake(call.xwake, 1);
    } else if (call.start) {
        start_thread(jobs);
    }
}

/* ---- a caller ---- */

/* Until when the caller waits before it looks whether all threads hang. */
static thrum_time wait_until(const th_jobs *jobs, const th_job *job, thrum_time deadline) {
    if (!jobs->patience || !th_load_relaxed(&job->xcrowded)) { /* relaxed: a hint */
        return deadline;
    }
    const thrum_time look = thrum_after(jobs->patience);
    return look < deadline ? look : deadline;
}

/* With the lock: the job has been queued for a while. */
static th_jobs_call help_hanging(th_jobs *jobs, th_job *job) {
    if (job->state != TH_JOB_QUEUED) {
        th_store_relaxed(&job->xcrowded, false); /* relaxed: a hint */
        return (th_jobs_call){0};
    }
    const thrum_time now = thrum_now();
    if (job->seen != jobs->taken) {
        job->seen = jobs->taken;
        job->since = now;
    }
    const thrum_time last = job->since > jobs->last_start ? job->since : jobs->last_start;
    return now - last >= jobs->patience ? call_thread(jobs, limit_of(jobs)) : (th_jobs_call){0};
}

/* With the lock: takes a queued job off the list, and its reference. */
static void take_back(th_jobs *jobs, th_job *job) {
    withdraw(jobs, job);
    job->state = TH_JOB_NEW;
    job->references--;
}

bool th_jobs_withdraw(th_jobs *jobs, th_job *job, th_waiter *me) {
    TH_LOCKED(&jobs->lock);
    const bool queued = job->state == TH_JOB_QUEUED;
    if (queued) {
        take_back(jobs, job);
        (void)th_waitlist_leave(waiters_of(job), me);
    }
    return queued;
}

int th_jobs_wait(th_jobs *jobs, th_job *job, th_waiter *me, thrum_time deadline) {
    for (;;) {
        const thrum_time until = wait_until(jobs, job, deadline);
        const uint32_t outcome = th_waiter_wait_until(me, until);
        if (outcome == TH_WAIT_WOKEN) {
            return 0; /* only the end of the job wakes */
        }
        th_lock_acquire(&jobs->lock);
        (void)th_waitlist_leave(waiters_of(job), me);
        const bool done = job->state == TH_JOB_DONE;
        const bool stays = jobs->leave && job->state == TH_JOB_BEGUN;
        if (done || (!stays && (outcome != TH_WAIT_TIMEDOUT || until == deadline))) {
            /* The references of this caller and of the list: nobody else waits for it. */
            if (job->state == TH_JOB_QUEUED && job->references == 2) {
                take_back(jobs, job);
            }
            th_lock_release(&jobs->lock);
            return done ? 0 : th_waiter_result(outcome);
        }
        const th_jobs_call call = help_hanging(jobs, job);
        th_jobs_join(jobs, job, me, me->object);
        th_jobs_unlock(jobs, call);
    }
}

void th_jobs_drop(th_jobs *jobs, th_job *job) {
    th_jobs_call call = {0};
    th_lock_acquire(&jobs->lock);
    const bool last = --job->references == 0;
    if (job->state == TH_JOB_BEGUN && th_jobs_is_forgotten(job)) {
        call = call_thread(jobs, jobs->threads_max); /* its thread counts no longer */
    }
    th_jobs_unlock(jobs, call);
    if (last) {
        jobs->end(job);
    }
}

/* ---- the end, and the figures ---- */

void th_jobs_stop(th_jobs *jobs) {
    uint32_t *xwake;
    uint32_t threads;
    th_lock_acquire(&jobs->lock);
    jobs->stopping = true;
    while ((xwake = call_sleeper(jobs))) {
        th_os_futex_wake(xwake, 1);
    }
    th_lock_release(&jobs->lock);
    /* relaxed: the joins order the threads' writes */
    while ((threads = th_load_relaxed(&jobs->xthreads)) != 0) {
        (void)th_os_futex_wait(&jobs->xthreads, threads, TH_FOREVER);
    }
}

void th_jobs_read(th_jobs *jobs, th_jobs_figures *out) {
    TH_LOCKED(&jobs->lock);
    *out =
        (th_jobs_figures){.calls = jobs->calls, .threads = jobs->xthreads, .queued = jobs->xlength};
    th_job *const first[2] = {jobs->begun.first, jobs->queued.first};
    for (unsigned i = 0; i < 2; i++) {
        for (const th_job *job = first[i]; job; job = job->next) {
            out->begun += i == 0;
            for (const th_waiter *w = job->first; w; w = w->next) {
                out->waiting++;
            }
        }
    }
}
