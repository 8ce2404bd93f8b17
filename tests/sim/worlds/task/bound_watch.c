/*
 * bound_watch.c: no workers: loose work (posted from a thread that is not bound, or due) is served
 * as long as a bound thread sleeps, whatever the thread that was woken for it does
 * (core/bound/BOUND.md, "The watch"). Threads are held up in their own code, or in a body, until
 * others have run it: if no thread comes for it, all sleep.
 */
#include "base/atomic.h"
#include "core/state/worker.h"
#include "whole.h"

#define LATER 1000

static thrum_sched *sched;
static thrum_sem mine;   /* the wait of the thread that is then held up */
static thrum_sem theirs; /* the wait of the other one */
static whole_gate through;
static whole_gate bound_too;
static int told; /* plain */

static void begin(void) {
    thrum_config config = whole_config(0);
    sched = whole_start(&config);
    thrum_sem_init(&mine, 0);
    thrum_sem_init(&theirs, 0);
}

/* The task that must not be forgotten. */
static void waits(void *arg) {
    (void)arg;
    sim_check(thrum_sched_bind(sched) == 0);
    whole_open(&bound_too);
    sim_check(thrum_sem_wait(&theirs) == 0 && told == 7);
    whole_open(&through);
    sim_check(thrum_sched_unbind() == 0);
}

static void tells(thrum_task *self, void *arg) {
    (void)self;
    (void)arg;
    told = 7;
    thrum_sem_post(&theirs);
}

static thrum_task telling;

static void posts_later(void *arg) {
    (void)arg;
    thrum_task_init(&telling, tells, NULL);
    sim_check(thrum_task_post_after(sched, &telling, LATER) == 0);
}

static void posts_now(void *arg) {
    (void)arg;
    thrum_task_init(&telling, tells, NULL);
    sim_check(thrum_task_post(sched, &telling) == 0);
}

static void wakes_me(void *arg) {
    (void)arg;
    thrum_sem_post(&mine);
}

/*
 * Bound last, so the first to be woken: the thread waits once, and then has code of its own to run.
 */
static void goes_on(void (*posts)(void *)) {
    begin();
    int other = sim_spawn(waits, NULL);
    whole_pass(&bound_too);
    sim_check(thrum_sched_bind(sched) == 0);
    int poster = sim_spawn(posts, NULL);
    int waker = sim_spawn(wakes_me, NULL);
    sim_check(thrum_sem_wait(&mine) == 0);
    whole_pass(&through);
    sim_check(thrum_sched_unbind() == 0);
    sim_join(poster);
    sim_join(waker);
    sim_join(other);
    whole_stop(sched);
}

/* A deadline passes, and the thread that was notified of it goes on with its own code. */
SIM_WORLD(bound_watch_deadline, .heavy = true) {
    goes_on(posts_later);
}

/*
 * A task to run at once comes, and the thread that was woken for it found that it could go on
 * itself.
 */
SIM_WORLD(bound_watch_work, .heavy = true) {
    goes_on(posts_now);
}

/* ---- beside a body that is held up ---- */

static void tells_all(thrum_task *self, void *arg) {
    tells(self, arg);
    whole_open(&through);
}

static void stands_still(thrum_task *self, void *arg) {
    (void)self;
    (void)arg;
    whole_pass(&through);
}

static thrum_task standing;

static void posts_both(void *arg) {
    (void)arg;
    thrum_task_init(&telling, tells_all, NULL);
    sim_check(thrum_task_post_after(sched, &telling, LATER) == 0);
    thrum_task_init(&standing, stands_still, NULL);
    sim_check(thrum_task_post(sched, &standing) == 0);
}

static void waits_and_wakes_me(void *arg) {
    (void)arg;
    sim_check(thrum_sched_bind(sched) == 0);
    sim_check(thrum_sem_wait(&theirs) == 0 && told == 7);
    thrum_sem_post(&mine);
    sim_check(thrum_sched_unbind() == 0);
}

/* One of two threads runs the body; the other one has the deadline. */
SIM_WORLD(bound_watch_body, .heavy = true) {
    begin();
    int other = sim_spawn(waits_and_wakes_me, NULL);
    int poster = sim_spawn(posts_both, NULL);
    sim_check(thrum_sched_bind(sched) == 0);
    sim_check(thrum_sem_wait(&mine) == 0);
    sim_check(thrum_sched_unbind() == 0);
    sim_join(poster);
    sim_join(other);
    whole_stop(sched);
}

static thrum_sem last;
static whole_gate posted;

static int waits_and_stands_still(void *arg) {
    (void)arg;
    sim_check(thrum_sem_wait(&mine) == 0);
    whole_pass(&through);
    thrum_sem_post(&last);
    return 0;
}

static void posts_tells_all_later(void *arg) {
    (void)arg;
    thrum_task_init(&telling, tells_all, NULL);
    sim_check(thrum_task_post_after(sched, &telling, LATER) == 0);
}

static void posts_tells_all_now(void *arg) {
    (void)arg;
    thrum_task_init(&telling, tells_all, NULL);
    sim_check(thrum_task_post(sched, &telling) == 0);
    whole_open(&posted);
}

static void wakes_me_then(void *arg) {
    whole_pass(&posted);
    wakes_me(arg);
}

static void waits_for_told(void *arg) {
    (void)arg;
    sim_check(thrum_sched_bind(sched) == 0);
    whole_open(&bound_too);
    sim_check(thrum_sem_wait(&theirs) == 0 && told == 7);
    sim_check(thrum_sched_unbind() == 0);
}

/* The same, with a body on a fiber that is tied to the thread. */
static void fiber_stands_still(void (*posts)(void *), void (*wakes)(void *)) {
    begin();
    thrum_sem_init(&last, 0);
    int other = sim_spawn(waits_for_told, NULL);
    whole_pass(&bound_too);
    sim_check(thrum_sched_bind(sched) == 0);
    sim_check(thrum_go(waits_and_stands_still, NULL) == 0);
    int poster = sim_spawn(posts, NULL);
    int waker = sim_spawn(wakes, NULL);
    sim_check(thrum_sem_wait(&last) == 0);
    sim_check(thrum_sched_unbind() == 0);
    sim_join(poster);
    sim_join(waker);
    sim_join(other);
    whole_stop(sched);
}

SIM_WORLD(bound_watch_fiber, .heavy = true) {
    fiber_stands_still(posts_tells_all_later, wakes_me);
}

/*
 * There is work to run at once. The thread that was woken for it takes the fiber without a fence,
 * so only the end of its sleep shows it that there is more.
 */
SIM_WORLD(bound_watch_fiber_work, .heavy = true) {
    fiber_stands_still(posts_tells_all_now, wakes_me_then);
}

/* ---- several at once ---- */

static whole_gate met[2];
static thrum_task meeting[2];

static void meets(thrum_task *self, void *arg) {
    unsigned i = (unsigned)(self - meeting);
    (void)arg;
    whole_open(&met[i]);
    whole_pass(&met[1 - i]);
    thrum_sem_post(i ? &theirs : &mine);
}

static void posts_batch(void *arg) {
    thrum_task *tasks[2] = {&meeting[0], &meeting[1]};
    (void)arg;
    sim_check(thrum_task_post_batch(sched, tasks, 2) == 0);
}

static void posts_two_now(void *arg) {
    (void)arg;
    sim_check(thrum_task_post(sched, &meeting[0]) == 0);
    sim_check(thrum_task_post(sched, &meeting[1]) == 0);
}

static void posts_two_later(void *arg) {
    thrum_time deadline = thrum_after(LATER);
    (void)arg;
    sim_check(thrum_task_post_until(sched, &meeting[0], deadline) == 0);
    sim_check(thrum_task_post_until(sched, &meeting[1], deadline) == 0);
}

static void waits_for_theirs(void *arg) {
    (void)arg;
    sim_check(thrum_sched_bind(sched) == 0);
    sim_check(thrum_sem_wait(&theirs) == 0);
    sim_check(thrum_sched_unbind() == 0);
}

/* Each body holds its thread until the other one runs: two threads sleep, and both are needed. */
static void two_meet(void (*posts)(void *)) {
    begin();
    thrum_task_init(&meeting[0], meets, NULL);
    thrum_task_init(&meeting[1], meets, NULL);
    int other = sim_spawn(waits_for_theirs, NULL);
    int poster = sim_spawn(posts, NULL);
    sim_check(thrum_sched_bind(sched) == 0);
    sim_check(thrum_sem_wait(&mine) == 0);
    sim_check(thrum_sched_unbind() == 0);
    sim_join(poster);
    sim_join(other);
    whole_stop(sched);
}

/* The same, posted in one call. */
SIM_WORLD(bound_watch_batch, .heavy = true) {
    two_meet(posts_batch);
}

/*
 * The same, posted one by one: a thread that finds the turn taken may sleep, and the holder of the
 * turn wakes one that does.
 */
SIM_WORLD(bound_watch_turns, .heavy = true) {
    two_meet(posts_two_now);
}

/* The same with one deadline: the thread that fires them is not the only one to run them. */
SIM_WORLD(bound_watch_due, .heavy = true) {
    two_meet(posts_two_later);
}
