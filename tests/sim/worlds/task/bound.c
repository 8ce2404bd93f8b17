/*
 * bound.c: threads that are bound to a scheduler, with workers and without: they wait, run work
 * tied to them, are woken late, and leave (core/bound/BOUND.md).
 */
#include <errno.h>

#include "base/atomic.h"
#include "core/state/handle.h"
#include "core/state/worker.h"
#include "whole.h"

static thrum_sched *sched;
static thrum_sem sem;
static unsigned ran; /* plain: its readers must be ordered */
static int told;     /* plain */
static whole_gate bound_too;

static void begin(unsigned workers) {
    thrum_config config = whole_config(workers);
    sched = whole_start(&config);
    thrum_sem_init(&sem, 0);
}

static void bind(void) {
    sim_check(thrum_sched_bind(sched) == 0);
}

static void unbind(void) {
    sim_check(thrum_sched_unbind() == 0);
}

static int adds(void *arg) {
    (void)arg;
    ran++;
    return 0;
}

static int yields_and_adds(void *arg) {
    thrum_yield();
    return adds(arg);
}

/* Two tasks tied to the thread that posted them run when it unbinds. */
SIM_WORLD(bound_unbind_runs_all, .heavy = true) {
    begin(0);
    bind();
    sim_check(thrum_go(yields_and_adds, NULL) == 0);
    sim_check(thrum_go(adds, NULL) == 0);
    unbind();
    sim_check(ran == 2);
    whole_stop(sched);
}

static int posts(void *arg) {
    (void)arg;
    told = 7;
    thrum_sem_post(&sem);
    return 0;
}

static void posts_external(void *arg) {
    thrum_attr attr = THRUM_ATTR_INIT;
    (void)arg;
    attr.sched = sched;
    sim_check(thrum_go_with(&attr, posts, NULL) == 0);
}

/* No workers: posts of a thread that is not bound run on the waiting one, asleep or not. */
SIM_WORLD(bound_external_post, .heavy = true) {
    begin(0);
    int t = sim_spawn(posts_external, NULL);
    bind();
    sim_check(thrum_sem_wait(&sem) == 0 && told == 7);
    unbind();
    sim_join(t);
    whole_stop(sched);
}

static void posts_itself(void *arg) {
    (void)arg;
    told = 7;
    thrum_sem_post(&sem);
}

/*
 * The waker of a bound thread may be late: by then that has unbound, and another was bound instead.
 */
SIM_WORLD(bound_late_wake, .heavy = true) {
    begin(0);
    int t = sim_spawn(posts_itself, NULL);
    bind();
    sim_check(thrum_sem_wait(&sem) == 0 && told == 7);
    unbind();
    bind();
    sim_check(thrum_go(adds, NULL) == 0);
    unbind();
    sim_check(ran == 1);
    sim_join(t);
    whole_stop(sched);
}

/* The same with a worker as the waker, whose scheduler is stopped at once. */
SIM_WORLD(bound_late_wake_by_worker, .heavy = true) {
    begin(1);
    bind();
    sim_check(thrum_go(posts, NULL) == 0);
    sim_check(thrum_sem_wait(&sem) == 0 && told == 7);
    unbind();
    whole_stop(sched);
}

/* A wait with a deadline, which comes first or not, is no run that began and never ends. */
SIM_WORLD(bound_timed_wait, .heavy = true) {
    begin(0);
    int t = sim_spawn(posts_itself, NULL);
    bind();
    int code = thrum_sem_wait_until(&sem, thrum_now() + 1000);
    sim_check(code == -ETIMEDOUT || (code == 0 && told == 7));
    sim_check(thrum_sched_wait_idle(sched, THRUM_FOREVER) == 0);
    unbind();
    sim_join(t);
    sim_check(thrum_sem_try_wait(&sem) == (code ? 0 : -EAGAIN));
    whole_stop(sched);
}

static int takes_a_unit(void *arg) {
    sim_check(thrum_sem_wait(&sem) == 0 && told == 7);
    return adds(arg);
}

/* A fiber that is tied to a thread is woken by another one; unbind waits for it. */
SIM_WORLD(bound_fiber_is_woken, .heavy = true) {
    begin(0);
    int t = sim_spawn(posts_itself, NULL);
    bind();
    sim_check(thrum_go(takes_a_unit, NULL) == 0);
    unbind();
    sim_check(ran == 1);
    sim_join(t);
    whole_stop(sched);
}

static void posts_twice(void *arg) {
    posts_itself(arg);
    thrum_sem_post(&sem);
}

/* Its own wake goes before the rest of the inbox and of the queue, and nothing of these is lost. */
SIM_WORLD(bound_root_is_first, .heavy = true) {
    begin(0);
    int t = sim_spawn(posts_twice, NULL);
    bind();
    sim_check(thrum_go(takes_a_unit, NULL) == 0);
    sim_check(thrum_go(yields_and_adds, NULL) == 0);
    sim_check(thrum_sem_wait(&sem) == 0 && told == 7);
    sim_check(thrum_go(adds, NULL) == 0);
    unbind();
    sim_check(ran == 3);
    sim_join(t);
    whole_stop(sched);
}

static int runs_after(void *arg) {
    (void)arg;
    sim_check(ran == 1);
    told++;
    return 0;
}

static void wakes_and_posts(void *arg) {
    thrum_attr attr = THRUM_ATTR_INIT;
    posts_itself(arg);
    attr.sched = sched;
    for (int i = 0; i < 3; i++) {
        sim_check(thrum_go_with(&attr, runs_after, NULL) == 0);
    }
}

/* A fiber that another thread wakes comes before tasks tied to this one, and before loose ones. */
SIM_WORLD(bound_ready_first, .heavy = true) {
    begin(0);
    bind();
    sim_check(thrum_go(takes_a_unit, NULL) == 0);
    sim_check(thrum_sched_step(THRUM_FOREVER) == 0);
    int t = sim_spawn(wakes_and_posts, NULL);
    sim_join(t);
    sim_check(thrum_go(runs_after, NULL) == 0 && thrum_go(runs_after, NULL) == 0);
    unbind();
    sim_check(ran == 1 && told == 12);
    whole_stop(sched);
}

/* Steps meet posts and wakes of another thread: each of these runs in a step. */
SIM_WORLD(bound_steps, .heavy = true) {
    begin(0);
    int t = sim_spawn(posts_external, NULL);
    bind();
    sim_check(thrum_go(takes_a_unit, NULL) == 0);
    sim_check(thrum_go(yields_and_adds, NULL) == 0);
    sim_check(thrum_sched_step(THRUM_FOREVER) == 0);
    sim_check(ran >= 1);
    int code = thrum_sched_step(thrum_now());
    sim_check(code == 0 || code == -ETIMEDOUT);
    sim_join(t);
    sim_check(thrum_sched_step(THRUM_FOREVER) == 0);
    sim_check(ran == 2 && told == 7);
    unbind();
    whole_stop(sched);
}

static unsigned ran_there; /* plain: the other thread changes it */

static int adds_there(void *arg) {
    (void)arg;
    sim_check(thrum_sem_wait(&sem) == 0 && told == 7);
    ran_there++;
    return 0;
}

static void binds_and_runs(void *arg) {
    (void)arg;
    bind();
    sim_check(thrum_go(adds_there, NULL) == 0);
    unbind();
}

/* Two threads are bound at once; one waits until the other one's work is idle. */
SIM_WORLD(bound_wait_idle, .heavy = true) {
    begin(0);
    posts_itself(NULL);
    int t = sim_spawn(binds_and_runs, NULL);
    bind();
    sim_check(thrum_go(adds, NULL) == 0);
    sim_check(thrum_sched_wait_idle(sched, THRUM_FOREVER) == 0);
    sim_check(ran == 1);
    unbind();
    sim_join(t);
    sim_check(ran_there == 1);
    whole_stop(sched);
}

static void binds_if_it_may(void *arg) {
    (void)arg;
    int code = thrum_sched_bind(sched);
    sim_check(code == 0 || code == -ESHUTDOWN);
    if (!code) {
        sim_check(thrum_go(adds, NULL) == 0);
        unbind();
        sim_check(ran == 1);
    }
}

/*
 * Stop waits until all have unbound, and runs the rest; a thread that comes too late gets an error.
 */
SIM_WORLD(bound_stop, .heavy = true) {
    begin(0);
    int t = sim_spawn(binds_if_it_may, NULL);
    sim_check(thrum_sched_stop(sched) == 0);
    whole_forget(sched);
    sim_join(t);
}

static void binds_and_unbinds(void *arg) {
    (void)arg;
    int code = thrum_sched_bind(sched);
    sim_check(code == 0 || code == -ESHUTDOWN);
    if (!code) {
        thrum_yield(); /* it runs on a fiber of its own, which no other task may share */
        unbind();
    }
}

/*
 * Two threads bind as it stops: a record has one owner, also one whose bind fails at the last step.
 */
SIM_WORLD(bound_bind_against_stop, .heavy = true) {
    begin(0);
    bind();
    unbind(); /* it leaves a spare record, later two */
    int first = sim_spawn(binds_and_unbinds, NULL);
    int second = sim_spawn(binds_and_unbinds, NULL);
    sim_check(thrum_sched_stop(sched) == 0);
    whole_forget(sched);
    sim_join(first);
    sim_join(second);
}

static void binds_and_waits(void *arg) {
    (void)arg;
    bind();
    whole_open(&bound_too);
    sim_check(thrum_sem_wait(&sem) == 0 && told == 7);
    unbind();
}

/* The stopper is bound, and has in its queue work that the other one needs to unbind. */
SIM_WORLD(bound_stopper, .heavy = true) {
    begin(0);
    bind();
    int t = sim_spawn(binds_and_waits, NULL);
    whole_pass(&bound_too);
    sim_check(thrum_go(posts, NULL) == 0);
    sim_check(thrum_sched_stop(sched) == 0);
    whole_forget(sched);
    sim_join(t);
}

/* Stop runs a task that came from an external thread while no thread was bound. */
SIM_WORLD(bound_stop_runs_the_rest, .heavy = true) {
    begin(0);
    posts_external(NULL);
    whole_stop(sched);
    sim_check(told == 7);
}

/* A task of the workers is started and joined by a bound thread. */
SIM_WORLD(bound_with_workers, .heavy = true) {
    thrum_handle *handle;
    begin(2);
    bind();
    sim_check(thrum_spawn(&handle, adds, NULL) == 0);
    sim_check(thrum_join(handle, NULL) == 0 && ran == 1);
    unbind();
    whole_stop(sched);
}

static int takes_a_unit_or_not(void *arg) {
    int code = thrum_sem_wait(&sem);
    sim_check(code == -ECANCELED || (code == 0 && told == 7));
    return adds(arg);
}

/* A stop times out, with a fiber that waits and is woken meanwhile; the next one ends both. */
SIM_WORLD(bound_stop_unfinished, .heavy = true) {
    thrum_attr attr = THRUM_ATTR_INIT;
    begin(0);
    attr.sched = sched;
    sim_check(thrum_go_with(&attr, takes_a_unit_or_not, NULL) == 0);
    sim_check(thrum_go_with(&attr, yields_and_adds, NULL) == 0);
    int t = sim_spawn(posts_itself, NULL);
    int code = thrum_sched_stop_until(sched, thrum_now() + 1000);
    sim_check(code == 0 || code == -ETIMEDOUT);
    if (code) {
        whole_stop(sched);
    } else {
        whole_forget(sched);
    }
    sim_check(ran == 2);
    sim_join(t);
}

static void waits_at_its_root(void *arg) {
    (void)arg;
    bind();
    whole_open(&bound_too);
    int code = thrum_sem_wait(&sem);
    sim_check(code == -ECANCELED);
    unbind();
}

/*
 * A stop past its deadline cancels a bound thread's own wait. Until the thread has left, it holds
 * the semaphore's list, and it finds one of several pieces of work then: so it notifies other bound
 * threads, and the stop wants that list meanwhile.
 */
SIM_WORLD(bound_stop_cancels_root, .heavy = true) {
    thrum_attr attr = THRUM_ATTR_INIT;
    begin(0);
    attr.sched = sched;
    int t = sim_spawn(waits_at_its_root, NULL);
    whole_pass(&bound_too);
    for (int i = 0; i < 2; i++) {
        sim_check(thrum_go_with(&attr, adds, NULL) == 0);
    }
    int code = thrum_sched_stop_until(sched, thrum_now());
    sim_check(code == 0 || code == -ETIMEDOUT);
    sim_join(t);
    if (code) {
        whole_stop(sched);
    } else {
        whole_forget(sched);
    }
    sim_check(ran == 2);
}
