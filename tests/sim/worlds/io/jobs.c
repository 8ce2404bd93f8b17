/*
 * jobs.c: calls that their callers may give up (src/pools/README.md): no job left behind, none
 * freed twice or while a thread is in it, and starts that are refused.
 */
#include <errno.h>

#include "base/atomic.h"
#include "core/ready/waiter.h"
#include "crew.h"
#include "pools/jobs.h"

#define LINGER 1000
#define PATIENCE 200
#define SOON 300 /* about as long as a few steps take */

typedef struct counted {
    th_job job;
    int made; /* plain: written by the thread, read by callers that have the result */
} counted;

static th_jobs jobs;
static unsigned ended; /* with the lock of the world's own */
static th_lock lock;

static void run(th_job *job) {
    counted *c = (counted *)(void *)job;
    sim_check(!c->made);
    c->made = 1;
}

static void free_one(th_job *job) {
    th_lock_acquire(&lock);
    ended++;
    th_lock_release(&lock);
    th_os_free(job);
}

static void make(unsigned threads_max) {
    th_lock_init(&lock);
    ended = 0;
    jobs = (th_jobs){.name = "jobs",
                     .on = TH_ON_FILE,
                     .run = run,
                     .end = free_one,
                     .threads_max = threads_max,
                     .linger = sim_pick(2) ? LINGER : 0,
                     .patience = sim_pick(2) ? PATIENCE : 0,
                     .hanging_max = 1,
                     .xknown = 1};
}

static void make_one(void) {
    make(1);
}

static void make_two(void) {
    make(2);
}

/* Until the threads have ended, too: they are nobody's. */
static void end(void) {
    uint32_t threads;
    do {
        th_lock_acquire(&jobs.lock);
        threads = jobs.xthreads;
        sim_check(!jobs.queued.first && !jobs.xlength);
        th_lock_release(&jobs.lock);
        if (threads) {
            crew_give_way();
        }
    } while (threads);
    sim_check(!jobs.sleepers && !jobs.looking && !jobs.begun.first);
    th_lock_acquire(&lock);
    sim_check(ended == 2);
    th_lock_release(&lock);
}

static void call(thrum_time deadline) {
    counted *c = th_os_alloc(sizeof *c);
    th_waiter me;
    if (!c) {
        th_lock_acquire(&lock);
        ended++;
        th_lock_release(&lock);
        return;
    }
    *c = (counted){.made = 0};
    th_job_init(&c->job);
    th_lock_acquire(&jobs.lock);
    const th_jobs_call todo = th_jobs_put(&jobs, &c->job);
    th_jobs_join(&jobs, &c->job, &me, "calls");
    th_jobs_unlock(&jobs, todo);
    const int code = th_jobs_wait(&jobs, &c->job, &me, deadline);
    sim_check(code == 0 || (code == -ETIMEDOUT && deadline != THRUM_FOREVER));
    sim_check(code || c->job.code || c->made == 1);
    th_jobs_drop(&jobs, &c->job);
    crew_scrub();
}

static void calls(void *unused) {
    (void)unused;
    call(THRUM_FOREVER);
}

static void calls_until_soon(void *unused) {
    (void)unused;
    call(thrum_now() + SOON);
}

/* ---- that forks are watched ---- */

static th_jobs fresh; /* in their first use */

/* A caller may fork next: then its thread goes through the list of all jobs, in the child. */
static void begins(void *unused) {
    (void)unused;
    th_jobs_begin(&fresh);
    sim_check(fresh.more == NULL);
}

static void nothing(void) {
}

static const crew_play begun = {nothing, NULL, 2, {begins, begins}};
SIM_WORLD(jobs_begin, .exhaustive = true) {
    crew_threads(&begun);
}

/* ---- calls ---- */

/* Two calls, one thread: the second one waits for its turn. */
static const crew_play one_thread = {make_one, end, 2, {calls, calls}};
CREW_WORLDS(jobs_one_thread, one_thread)

/* One is given up: queued, begun, or as it ends. */
static const crew_play given_up = {make_one, end, 2, {calls, calls_until_soon}};
CREW_WORLDS(jobs_given_up, given_up)

/* Two threads, both given up. */
static const crew_play both_given_up = {make_two, end, 2, {calls_until_soon, calls_until_soon}};
CREW_WORLDS(jobs_both_given_up, both_given_up)
