/*
 * blocking_stop.c: a blocking call acts for the task that waits for it, also once a stop has begun.
 */
/* matrix: policy workers */
#include "support/support.h"
#include "support/times.h"

typedef struct stage {
    rig *r;
    thrum_sem begun; /* one unit for each call */
    atomic_bool refused;
    atomic_int ran;
    thrum_task task;
    thrum_task waiting;
    thrum_scope scope;
    pthread_t bound_on;
} stage;

static int nothing(void *arg) {
    (void)arg;
    return 0;
}

static int runs(void *arg) {
    stage *s = arg;
    atomic_fetch_add(&s->ran, 1);
    return 21;
}

static void runs_as_task(thrum_task *self, void *arg) {
    (void)self;
    runs(arg);
}

static int runs_tied(void *arg) {
    stage *s = arg;
    CHECK(pthread_equal(thread_now(), s->bound_on));
    return runs(arg);
}

/* A thread that acts for no task: from now on the stop refuses what it posts. */
static void *posts_until_refused(void *arg) {
    stage *s = ((crew_seat *)arg)->arg;
    const thrum_attr attr = rig_attr(s->r);
    int code;
    while ((code = thrum_go_with(&attr, nothing, NULL)) == 0) {
        sched_yield();
    }
    CHECK_EQ(code, -ESHUTDOWN);
    CHECK_EQ(thrum_sched_bind(s->r->sched), -ESHUTDOWN);
    atomic_store(&s->refused, true);
    return NULL;
}

/* Runs on the pool's thread. */
static int call(void *arg) {
    stage *s = arg;
    thrum_attr attr = rig_attr(s->r);
    thrum_handle *handle;
    int result = 0;
    thrum_sem_post(&s->begun);
    SPIN_UNTIL(atomic_load(&s->refused));
    CHECK_EQ(thrum_go_with(&attr, runs, s), 0);
    CHECK_EQ(thrum_spawn_with(&handle, &attr, runs, s), 0);
    CHECK_EQ(thrum_join(handle, &result), 0);
    CHECK_EQ(result, 21);
    CHECK_EQ(thrum_task_post(s->r->sched, &s->task), 0);
    CHECK_EQ(thrum_task_post_until(s->r->sched, &s->waiting, soon()), 0);
    CHECK_EQ(thrum_scope_go(&s->scope, runs, s), 0);
    CHECK_EQ(thrum_sched_bind(s->r->sched), 0);
    s->bound_on = thread_now();
    attr.flags = THRUM_PINNED;
    CHECK_EQ(thrum_spawn_with(&handle, &attr, runs_tied, s), 0);
    thrum_shield_begin(); /* it has waits like a task's now, which a stop cancels */
    CHECK_EQ(thrum_join(handle, &result), 0);
    thrum_shield_end();
    CHECK_EQ(result, 21);
    CHECK_EQ(thrum_sched_unbind(), 0);
    return 5;
}

enum { RAN = 6 };

static int waits_for_the_call(void *arg) {
    stage *s = arg;
    int result = 0;
    CHECK_EQ(thrum_scope_open(&s->scope, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_blocking(call, s, &result), 0);
    CHECK_EQ(result, 5);
    const int code = thrum_scope_join(&s->scope);
    CHECK(code == 0 || code == -ECANCELED);
    return 0;
}

static void stage_begin(stage *s, rig *r) {
    memset(s, 0, sizeof *s);
    s->r = r;
    thrum_sem_init(&s->begun, 0);
    thrum_task_init(&s->task, runs_as_task, s);
    thrum_task_init(&s->waiting, runs_as_task, s);
    rig_go(r, waits_for_the_call, s);
    CHECK_EQ(thrum_sem_wait(&s->begun), 0);
}

TEST(once_a_stop_has_begun_a_call_may_start_tasks_and_bind) {
    /*
     * What its task could do, its thread can; other threads are refused. All of it ends before the
     * stop.
     */
    rig r;
    stage s;
    crew c;
    rig_begin(&r, 0);
    stage_begin(&s, &r);
    crew_start(&c, 1, posts_until_refused, &s);
    rig_stop(&r);
    CHECK_EQ(atomic_load(&s.ran), RAN);
    crew_join(&c);
}

TEST(past_a_stops_deadline_too) {
    /* The next stop waits for it. */
    rig r;
    stage s;
    crew c;
    rig_begin(&r, 0);
    stage_begin(&s, &r);
    CHECK_EQ(thrum_sched_stop_until(r.sched, past()), -ETIMEDOUT);
    crew_start(&c, 1, posts_until_refused, &s);
    rig_stop(&r);
    CHECK_EQ(atomic_load(&s.ran), RAN);
    crew_join(&c);
}

TEST(without_workers_too) {
    /* The thread that stops it runs what the call starts, or the call's own thread does. */
    rig r;
    stage s;
    crew c;
    rig_init(&r);
    r.config.workers = 0;
    rig_start(&r);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    stage_begin(&s, &r);
    crew_start(&c, 1, posts_until_refused, &s);
    rig_stop(&r);
    CHECK_EQ(atomic_load(&s.ran), RAN);
    crew_join(&c);
}

static int stays_bound(void *arg) {
    CHECK_EQ(thrum_sched_bind(((rig *)arg)->sched), 0);
    return 0;
}

static int calls_what_stays(void *arg) {
    return thrum_blocking(stays_bound, arg, NULL);
}

static void run_stays_bound(void *arg) {
    rig r;
    (void)arg;
    rig_begin(&r, 0);
    (void)rig_run(&r, calls_what_stays, &r);
}

TEST(a_call_that_returns_bound_aborts) {
    /* Its thread belongs to the pool. */
    check_dies(run_stays_bound, NULL,
               "thrum_sched_unbind: missing: a blocking call has returned bound");
}

/* ---- what would wait for the call itself ---- */

static void check_refused(thrum_sched *sched) {
    CHECK_EQ(thrum_sched_stop(sched), -EDEADLK);
    CHECK_EQ(thrum_sched_stop_until(sched, past()), -EDEADLK);
    CHECK_EQ(thrum_sched_stop_until(sched, THRUM_FOREVER), -EDEADLK);
    CHECK_EQ(thrum_sched_wait_done(sched, 0), -EDEADLK);
    CHECK_EQ(thrum_sched_wait_done(sched, THRUM_FOREVER), -EDEADLK);
}

/* Runs on the pool's thread. */
static int stops_its_own(void *arg) {
    rig *r = arg;
    check_refused(r->sched);
    CHECK_EQ(thrum_sched_wait_idle(r->sched, THRUM_FOREVER), 0); /* its task is blocked */
    CHECK_EQ(thrum_sched_bind(r->sched), 0);
    check_refused(r->sched);
    CHECK_EQ(thrum_sched_wait_idle(r->sched, THRUM_FOREVER), 0);
    CHECK_EQ(thrum_sched_unbind(), 0);
    check_refused(r->sched);
    rig other; /* it does not act for tasks of this scheduler */
    rig_begin(&other, 1);
    rig_go(&other, nothing, NULL);
    rig_wait_done(&other);
    rig_stop(&other);
    return 3;
}

static int calls_what_stops_its_own(void *arg) {
    int result = 0;
    CHECK_EQ(thrum_blocking(stops_its_own, arg, &result), 0);
    CHECK_EQ(result, 3);
    return 0;
}

TEST(a_call_cannot_stop_the_scheduler_of_its_task) {
    /*
     * Nor can it wait until the scheduler is done; it may wait for idleness, and stop another
     * scheduler.
     */
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, calls_what_stops_its_own, &r), 0);
    rig_stop(&r);
}

TEST(nor_without_workers) {
    /* The same holds with the task on a bound thread. */
    rig r;
    rig_init(&r);
    r.config.workers = 0;
    rig_start(&r);
    CHECK_EQ(thrum_sched_bind(r.sched), 0);
    CHECK_EQ(rig_run(&r, calls_what_stops_its_own, &r), 0);
    rig_stop(&r);
}

/* Runs on the pool's thread. */
static int forks(void *arg) {
    rig *r = arg;
    int status = 0;
    const pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        CHECK_EQ(thrum_sched_stop(r->sched), -ESHUTDOWN);
        CHECK_EQ(thrum_sched_wait_idle(r->sched, THRUM_FOREVER), -ESHUTDOWN);
        CHECK_EQ(thrum_sched_wait_done(r->sched, THRUM_FOREVER), -ESHUTDOWN);
        CHECK_EQ(thrum_sched_bind(r->sched), -ESHUTDOWN);
        const thrum_attr attr = rig_attr(r);
        CHECK_EQ(thrum_go_with(&attr, nothing, NULL), -ESHUTDOWN);
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    check_refused(r->sched);
    return 0;
}

static int calls_what_forks(void *arg) {
    return thrum_blocking(forks, arg, NULL);
}

TEST(a_child_that_a_call_forks_acts_for_no_task) {
    /* There it is the parent's scheduler, which refuses everything with another code. */
    rig r;
    rig_begin(&r, 0);
    CHECK_EQ(rig_run(&r, calls_what_forks, &r), 0);
    rig_stop(&r);
}
