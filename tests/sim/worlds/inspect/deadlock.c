/*
 * deadlock.c: the report of a deadlock comes if and only if nothing inside can go on
 * (core/watch/DEADLOCK.md). In worlds `_quiet` nothing is ever deadlocked, and a report is a
 * fault; in worlds `_told` a thread waits for the report, so a missing report is a deadlock of the
 * world.
 */
#include <errno.h>

#include "base/atomic.h"
#include "core/state/worker.h"
#include "crew.h"
#include "platform/platform.h"
#include "whole.h"

static thrum_sched *sched;
static thrum_sem sems[3];
static whole_gate told;
static unsigned reports; /* plain: the hook counts, one thread at a time; read at the end */
static bool may_tell;    /* constant once it runs */

static void take_report(void *ctx, const char *report) {
    (void)ctx;
    sim_check(may_tell);
    sim_check(report[0] == 't');
    reports++;
    whole_open(&told);
}

static void begin(unsigned workers, bool tell) {
    may_tell = tell;
    for (unsigned i = 0; i < 3; i++) {
        thrum_sem_init(&sems[i], 0);
    }
    sched = whole_start_told(workers, take_report);
}

static void end(unsigned expected) {
    whole_stop(sched);
    sim_check(reports == expected);
}

static int wait_on(unsigned i) {
    sim_check(thrum_sem_wait(&sems[i]) == 0);
    return 0;
}

/* Started from an external thread, so that it may be found alone: it starts everything else. */
static void start(thrum_fn entry) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    sim_check(thrum_go_with(&attr, entry, NULL) == 0);
}

/* ---- nothing is deadlocked ---- */

static int answers(void *arg) {
    (void)arg;
    wait_on(0);
    thrum_sem_post(&sems[1]);
    return 0;
}

static int asks(void *arg) {
    (void)arg;
    sim_check(thrum_go(answers, NULL) == 0);
    thrum_sem_post(&sems[0]);
    return wait_on(1);
}

/* Each wakes the other and then waits; on two workers the last to park is not the last to run. */
SIM_WORLD(deadlock_quiet_asks, .heavy = true) {
    begin(2, false);
    start(asks);
    end(0);
}

SIM_WORLD(deadlock_quiet_asks_alone, .heavy = true) {
    begin(1, false);
    start(asks);
    end(0);
}

static int sleeps_and_posts(void *arg) {
    (void)arg;
    sim_check(thrum_sleep(1000) == 0);
    thrum_sem_post(&sems[1]);
    return 0;
}

static int waits_for_sleeper(void *arg) {
    (void)arg;
    sim_check(thrum_go(sleeps_and_posts, NULL) == 0);
    return wait_on(1);
}

/* A deadline is pending, or is being fired: taken out of the timers and not yet queued. */
SIM_WORLD(deadlock_quiet_sleeps, .heavy = true, .timers_max = 2) {
    begin(1 + sim_pick(2), false);
    start(waits_for_sleeper);
    end(0);
}

static int times_out(void *arg) {
    (void)arg;
    int code = thrum_sem_wait_until(&sems[0], thrum_after(1000));
    sim_check(code == -ETIMEDOUT);
    thrum_sem_post(&sems[1]);
    return 0;
}

static int waits_for_late(void *arg) {
    (void)arg;
    sim_check(thrum_go(times_out, NULL) == 0);
    return wait_on(1);
}

SIM_WORLD(deadlock_quiet_times_out, .heavy = true, .timers_max = 2) {
    begin(1 + sim_pick(2), false);
    start(waits_for_late);
    end(0);
}

/* ---- a deadlock is reported, once ---- */

static int deadlock_alone(void *arg) {
    (void)arg;
    return wait_on(0);
}

/* The last worker to park reports. Then an external thread wakes the fiber after all. */
SIM_WORLD(deadlock_told_one, .heavy = true) {
    begin(1 + sim_pick(2), true);
    start(deadlock_alone);
    whole_pass(&told);
    thrum_sem_post(&sems[0]);
    end(1);
}

static int deadlock_second(void *arg) {
    (void)arg;
    return wait_on(1);
}

static int deadlock_first(void *arg) {
    (void)arg;
    sim_check(thrum_go(deadlock_second, NULL) == 0);
    return wait_on(0);
}

/* The two block on different workers, at about the same time. */
SIM_WORLD(deadlock_told_two, .heavy = true) {
    begin(2, true);
    start(deadlock_first);
    whole_pass(&told);
    thrum_sem_post(&sems[0]);
    thrum_sem_post(&sems[1]);
    whole_stop(sched);
    sim_check(reports == 1 || reports == 2); /* it is reported again if the first has ended alone */
}

/*
 * A wake comes from an external thread at any moment: reported or not, everything ends, and nothing
 * is touched late.
 */
SIM_WORLD(deadlock_woken_external, .heavy = true) {
    begin(1 + sim_pick(2), true);
    start(deadlock_alone);
    thrum_sem_post(&sems[0]);
    whole_stop(sched);
    sim_check(reports <= 1);
}

/* ---- calls under way in the blocking pool ---- */

static int brings_nothing(void *arg) {
    (void)arg;
    return 0;
}

static int calls_and_posts(void *arg) {
    int result = -1;
    sim_check(thrum_blocking(brings_nothing, arg, &result) == 0 && result == 0);
    thrum_sem_post(&sems[1]);
    return 0;
}

static int waits_for_caller(void *arg) {
    sim_check(thrum_go(calls_and_posts, arg) == 0);
    return wait_on(1);
}

/* All workers sleep and all fibers wait; but one of them waits for a thread that will wake it. */
SIM_WORLD(deadlock_quiet_blocking, .heavy = true) {
    begin(1 + sim_pick(2), false);
    start(waits_for_caller);
    end(0);
}

static int posts_inside(void *arg) {
    (void)arg;
    thrum_sem_post(&sems[1]);
    return 0;
}

static int calls_and_waits(void *arg) {
    int result = -1;
    sim_check(thrum_blocking(posts_inside, arg, &result) == 0 && result == 0);
    return wait_on(0);
}

static int waits_for_the_call(void *arg) {
    sim_check(thrum_go(calls_and_waits, arg) == 0);
    wait_on(1);
    thrum_sem_post(&sems[0]);
    return 0;
}

/* The call itself wakes a fiber, and then its caller. */
SIM_WORLD(deadlock_quiet_blocking_posts, .heavy = true) {
    begin(1 + sim_pick(2), false);
    start(waits_for_the_call);
    end(0);
}

static int calls_and_deadlocks(void *arg) {
    int result = -1;
    sim_check(thrum_blocking(brings_nothing, arg, &result) == 0 && result == 0);
    return wait_on(0);
}

/* A check while the call was under way reported nothing: the last thread to come checks again. */
SIM_WORLD(deadlock_told_blocking, .heavy = true) {
    begin(1 + sim_pick(2), true);
    start(calls_and_deadlocks);
    whole_pass(&told);
    thrum_sem_post(&sems[0]);
    end(1);
}

/* ---- bound threads ---- */

static void bind(void) {
    sim_check(thrum_sched_bind(sched) == 0);
}

static void unbind(void) {
    sim_check(thrum_sched_unbind() == 0);
}

static uint32_t xbound;

/* A thread that waits before the other has come would be deadlocked. */
static void both_bind(void) {
    bind();
    th_add_relaxed(&xbound, 1u);
    crew_until(th_load_relaxed(&xbound) == 2);
}

static void root_asks(void *arg) {
    (void)arg;
    both_bind();
    thrum_sem_post(&sems[0]);
    wait_on(1);
    unbind();
}

static void root_answers(void *arg) {
    (void)arg;
    both_bind();
    wait_on(0);
    thrum_sem_post(&sems[1]);
    unbind();
}

static void together(void (*first)(void *), void (*second)(void *)) {
    void (*const parts[])(void *) = {first, second};
    sim_together(2, parts, NULL);
}

/* No workers: each root wakes the other, which no counter shows, before it sleeps or leaves. */
SIM_WORLD(deadlock_quiet_roots, .heavy = true) {
    begin(0, false);
    together(root_asks, root_answers);
    end(0);
}

static int waits_on_2(void *arg) {
    (void)arg;
    return wait_on(2);
}

static void root_with_fiber(void *arg) {
    (void)arg;
    both_bind();
    sim_check(thrum_go(waits_on_2, NULL) == 0);
    wait_on(0);
    thrum_sem_post(&sems[2]);
    thrum_sem_post(&sems[1]);
    unbind();
}

static void root_wakes_and_waits(void *arg) {
    (void)arg;
    both_bind();
    thrum_sem_post(&sems[0]);
    wait_on(1);
    unbind();
}

static void root_wakes_and_leaves(void *arg) {
    (void)arg;
    both_bind();
    thrum_sem_post(&sems[0]);
    unbind();
}

/*
 * The worker checks as a third thread, while one root has woken the other and sleeps, or has left.
 */
SIM_WORLD(deadlock_quiet_three, .heavy = true) {
    begin(1, false);
    together(root_with_fiber, root_wakes_and_waits);
    end(0);
}

SIM_WORLD(deadlock_quiet_three_leaves, .heavy = true) {
    begin(1, false);
    together(root_with_fiber, root_wakes_and_leaves);
    end(0);
}

static int hands_on_last(void *arg) {
    (void)arg;
    thrum_sem_post(&sems[0]);
    thrum_sem_post(&sems[1]);
    return 0;
}

static int hands_on(void *arg) {
    (void)arg;
    return thrum_go(hands_on_last, NULL);
}

static int hands_on_first(void *arg) {
    (void)arg;
    sim_check(thrum_go(hands_on, NULL) == 0);
    return wait_on(0);
}

/* A root checks while runs of workers begin others and end. */
SIM_WORLD(deadlock_quiet_looked_at, .heavy = true) {
    begin(2, false);
    bind();
    sim_check(thrum_go(hands_on_first, NULL) == 0);
    wait_on(1);
    unbind();
    end(0);
}

static th_worker *root;
static uint32_t xgone;
static whole_gate held;

static int holds(void *arg) {
    (void)arg;
    whole_pass(&held);
    return 0;
}

static void root_waits_until_done(void *arg) {
    (void)arg;
    bind();
    root = th_here();
    th_store_release(&xbound, 1u); /* pairs: deadlock_quiet_let_go; root */
    sim_check(thrum_sched_wait_done(sched, THRUM_FOREVER) == 0);
    th_store_relaxed(&xgone, 1u); /* relaxed: it only lets another go on */
    thrum_sem_post(&sems[0]);
    unbind();
}

/*
 * A root that waits until all is done has been notified, and has not woken up yet. Then a task
 * comes from an external thread, and waits for the root's next action: the sum no longer lets the
 * root go, and only the fact that it was notified shows that it goes on.
 */
SIM_WORLD(deadlock_quiet_let_go, .heavy = true) {
    begin(1 + sim_pick(2), false);
    start(holds);
    int t = sim_spawn(root_waits_until_done, NULL);
    crew_until(th_load_acquire(&xbound)); /* pairs: root_waits_until_done; root */
    crew_until(th_load_relaxed(&sched->xquiesce_waiters));
    whole_open(&held);
    crew_until(th_load_relaxed(&root->tie.xquiesced) || th_load_relaxed(&xgone));
    start(deadlock_alone);
    sim_join(t);
    end(0);
}

static void root_and_fiber(void *arg) {
    (void)arg;
    bind();
    sim_check(thrum_go(answers, NULL) == 0);
    thrum_sem_post(&sems[0]);
    wait_on(1);
    unbind();
}

/* A root and a fiber of the workers wake each other. */
SIM_WORLD(deadlock_quiet_root_and_fiber, .heavy = true) {
    begin(1, false);
    root_and_fiber(NULL);
    end(0);
}

static void root_waits_0(void *arg) {
    (void)arg;
    both_bind();
    wait_on(0);
    unbind();
}

static void root_waits_1(void *arg) {
    (void)arg;
    both_bind();
    wait_on(1);
    unbind();
}

/* Both sleep at about the same time: the second one reports. */
SIM_WORLD(deadlock_told_roots, .heavy = true) {
    begin(0, true);
    int a = sim_spawn(root_waits_0, NULL);
    int b = sim_spawn(root_waits_1, NULL);
    whole_pass(&told);
    thrum_sem_post(&sems[0]);
    thrum_sem_post(&sems[1]);
    sim_join(a);
    sim_join(b);
    whole_stop(sched);
    sim_check(reports == 1 || reports == 2); /* it is reported again if the first has left alone */
}

/* The root that leaves, or the worker that parks at that moment, reports the remaining waits. */
SIM_WORLD(deadlock_told_unbound, .heavy = true) {
    begin(1, true);
    bind();
    sim_check(thrum_go(deadlock_alone, NULL) == 0);
    unbind();
    whole_pass(&told);
    thrum_sem_post(&sems[0]);
    end(1);
}
