/*
 * stop_until.c: stopping while tasks wait (core/control/STOP.md, core/task/TASKS.md): waits that
 * only a wakeup could end are cancelled when nothing else is left; deadlines are waited for, and
 * cancelled once stop's own has passed; then another stop ends it. The races: stop's check against
 * the last wakeup, its cancel against wakeups, deadlines and posts of bodies.
 */
#include <errno.h>

#include "base/atomic.h"
#include "core/state/worker.h"
#include "platform/platform.h"
#include "whole.h"

#define TASKS 3
#define SOON 300
#define LATER 1000000

static thrum_sched *sched;
static thrum_task tasks[TASKS];
static unsigned runs[TASKS];
static bool cancelled[TASKS];
static bool expired[TASKS];
static int told;

static void begin(unsigned workers, thrum_policy policy) {
    thrum_config config = whole_config(workers);
    config.policy = policy;
    sched = whole_start_bare(&config);
}

static unsigned look(thrum_task *self) {
    unsigned i = (unsigned)(self - tasks);
    runs[i]++;
    cancelled[i] = thrum_task_is_cancelled(self);
    expired[i] = thrum_task_is_expired(self);
    return i;
}

static void body(thrum_task *self, void *arg) {
    (void)arg;
    look(self);
}

static void post_wait(unsigned i, thrum_task_fn fn) {
    thrum_task_init(&tasks[i], fn, NULL);
    sim_check(thrum_task_post_wait(sched, &tasks[i]) == 0);
}

static void post_after(unsigned i, thrum_task_fn fn, thrum_time after) {
    thrum_task_init(&tasks[i], fn, NULL);
    sim_check(thrum_task_post_after(sched, &tasks[i], after) == 0);
}

/* Stops until it has succeeded: the first stop may time out, the second waits for ever. */
static void stop_late(thrum_time after) {
    int result = thrum_sched_stop_until(sched, thrum_after(after));
    sim_check(result == 0 || result == -ETIMEDOUT);
    if (result) {
        whole_stop(sched);
    } else {
        whole_forget(sched);
    }
}

/* ---- without a deadline of its own ---- */

static void cancels_waiting(unsigned workers, thrum_policy policy) {
    begin(workers, policy);
    for (unsigned i = 0; i < TASKS; i++) {
        post_wait(i, body);
    }
    whole_stop(sched);
    for (unsigned i = 0; i < TASKS; i++) {
        sim_check(runs[i] == 1 && cancelled[i] && !expired[i]);
    }
}

/* Tasks wait for a wakeup: one run each, cancelled. */
SIM_WORLD(stop_cancels, .asleep = whole_asleep) {
    cancels_waiting(1, THRUM_SHARDED);
}

SIM_WORLD(stop_cancels_2, .asleep = whole_asleep) {
    cancels_waiting(2, THRUM_SHARDED);
}

SIM_WORLD(stop_cancels_fifo, .asleep = whole_asleep) {
    cancels_waiting(2, THRUM_FIFO);
}

/* Deadlines are waited for. */
SIM_WORLD(stop_waits, .asleep = whole_asleep) {
    begin(2, THRUM_SHARDED);
    post_after(0, body, LATER);
    post_after(1, body, SOON);
    whole_stop(sched);
    for (unsigned i = 0; i < 2; i++) {
        sim_check(runs[i] == 1 && !cancelled[i] && expired[i]);
    }
}

/* A task that a deadline wakes wakes the waiting one, which is not cancelled. */
static void wakes_next(thrum_task *self, void *arg) {
    unsigned i = look(self);
    (void)arg;
    thrum_task_wakeup(&tasks[i + 1]);
}

SIM_WORLD(stop_chain, .asleep = whole_asleep) {
    begin(2, THRUM_SHARDED);
    post_wait(2, body);
    post_wait(1, wakes_next);
    post_after(0, wakes_next, SOON);
    whole_stop(sched);
    for (unsigned i = 0; i < TASKS; i++) {
        sim_check(runs[i] == 1 && !cancelled[i]);
    }
}

/* The same by a body that has posted its own task: while that runs nothing is cancelled. */
static void posts_and_wakes(thrum_task *self, void *arg) {
    (void)arg;
    look(self);
    post_wait(1, body);
    for (unsigned i = 0; i < 3; i++) {
        th_os_relax();
    }
    thrum_task_wakeup(&tasks[1]);
}

static void quiet(unsigned workers) {
    begin(workers, THRUM_SHARDED);
    thrum_task_init(&tasks[0], posts_and_wakes, NULL);
    sim_check(thrum_task_post(sched, &tasks[0]) == 0);
    whole_stop(sched);
    sim_check(runs[1] == 1 && !cancelled[1]);
}

SIM_WORLD(stop_quiet, .asleep = whole_asleep) {
    quiet(1);
}

SIM_WORLD(stop_quiet_2, .asleep = whole_asleep) {
    quiet(2);
}

/* A cancelled task that asks to wait again is refused; its posts of others are accepted. */
static void asks_again(thrum_task *self, void *arg) {
    (void)arg;
    unsigned i = look(self);
    sim_check(cancelled[i]);
    sim_check(thrum_task_post_wait(sched, self) == -ESHUTDOWN);
    sim_check(thrum_task_post_after(sched, self, SOON) == -ESHUTDOWN);
    if (i == 0) {
        thrum_task_wakeup(&tasks[2]);
    }
    if (i == 1 && runs[1] == 1) {
        thrum_task_set_body(self, body, NULL);
        sim_check(thrum_task_post(sched, self) == 0);
    }
}

SIM_WORLD(stop_asks_again, .asleep = whole_asleep) {
    begin(2, THRUM_SHARDED);
    post_wait(0, asks_again);
    post_wait(1, asks_again);
    post_wait(2, body);
    whole_stop(sched);
    sim_check(runs[0] == 1 && runs[1] == 2 && runs[2] == 1);
}

/* ---- a wakeup at that moment ---- */

static void wakes(void *arg) {
    (void)arg;
    told = 7;
    thrum_task_wakeup(&tasks[0]);
}

static void reads(thrum_task *self, void *arg) {
    (void)arg;
    look(self);
    if (!cancelled[0]) {
        sim_check(told == 7);
    }
}

static void wakeup_beside(unsigned workers, thrum_policy policy) {
    begin(workers, policy);
    post_wait(0, reads);
    int t = sim_spawn(wakes, NULL);
    whole_stop(sched);
    sim_join(t);
    sim_check(runs[0] == 1);
}

/*
 * It is woken or cancelled, or both; it runs once. The later one touches the task and nothing else.
 */
SIM_WORLD(stop_wakeup, .asleep = whole_asleep) {
    wakeup_beside(1, THRUM_SHARDED);
}

SIM_WORLD(stop_wakeup_2, .asleep = whole_asleep) {
    wakeup_beside(2, THRUM_SHARDED);
}

SIM_WORLD(stop_wakeup_fifo, .asleep = whole_asleep) {
    wakeup_beside(2, THRUM_FIFO);
}

static int result_external;

static void posts_external(void *arg) {
    (void)arg;
    thrum_task_init(&tasks[0], body, NULL);
    result_external = thrum_task_post_wait(sched, &tasks[0]);
}

/* A post to wait beside a stop is refused, or cancelled. */
SIM_WORLD(stop_post_wait, .asleep = whole_asleep) {
    begin(1, THRUM_SHARDED);
    int t = sim_spawn(posts_external, NULL);
    whole_stop(sched);
    sim_join(t);
    sim_check(result_external == 0 || result_external == -ESHUTDOWN);
    sim_check(runs[0] == (result_external == 0) && (!runs[0] || cancelled[0]));
}

/* ---- with a deadline ---- */

static void until(unsigned workers, thrum_policy policy) {
    begin(workers, policy);
    post_after(0, body, 40 * LATER);
    post_after(1, body, SOON);
    post_wait(2, body);
    stop_late(LATER);
    for (unsigned i = 0; i < TASKS; i++) {
        sim_check(runs[i] == 1 && (cancelled[i] || expired[i]));
    }
}

/* Past it, waits for a deadline are cancelled, and a second stop ends it. */
SIM_WORLD(stop_until_1, .asleep = whole_asleep) {
    until(1, THRUM_SHARDED);
}

SIM_WORLD(stop_until_2, .asleep = whole_asleep) {
    until(2, THRUM_SHARDED);
}

SIM_WORLD(stop_until_fifo, .asleep = whole_asleep) {
    until(2, THRUM_FIFO);
}

/* A wakeup, the end of stop's time, and the deadline itself meet. */
SIM_WORLD(stop_until_wakeup, .asleep = whole_asleep, .timers_max = 3) {
    begin(2, THRUM_SHARDED);
    post_after(0, body, LATER + SOON);
    int t = sim_spawn(wakes, NULL);
    stop_late(LATER);
    sim_join(t);
    sim_check(runs[0] == 1);
}

/* A body goes on posting its task: once it is cancelled it gets the error. */
static void ticks(thrum_task *self, void *arg) {
    (void)arg;
    look(self);
    int result = thrum_task_post_after(sched, self, LATER);
    sim_check(result == 0 || (result == -ESHUTDOWN && cancelled[0]));
}

static void stops_ticks(thrum_time after) {
    begin(2, THRUM_SHARDED);
    post_after(0, ticks, SOON);
    int result = thrum_sched_stop_until(sched, thrum_after(after));
    sim_check(result == -ETIMEDOUT);
    while ((result = thrum_sched_stop_until(sched, thrum_after(after))) == -ETIMEDOUT) {
    }
    sim_check(result == 0 && cancelled[0]);
    whole_forget(sched);
}

SIM_WORLD(stop_until_ticks, .asleep = whole_asleep) {
    stops_ticks(10 * LATER);
}

static whole_gate gate;

static void stops_once(void *arg) {
    (void)arg;
    result_external = thrum_sched_stop_until(sched, thrum_after(SOON));
    whole_open(&gate);
}

static void holds(thrum_task *self, void *arg) {
    (void)arg;
    look(self);
    whole_pass(&gate);
}

/* One thread's stop is too late, another one's ends it, and sees the first one's cancels. */
SIM_WORLD(stop_until_taken_over, .asleep = whole_asleep_shared) {
    begin(1, THRUM_SHARDED);
    post_after(0, body, 40 * LATER);
    thrum_task_init(&tasks[1], holds, NULL);
    sim_check(thrum_task_post(sched, &tasks[1]) == 0);
    int t = sim_spawn(stops_once, NULL);
    int result;
    while (!th_load_relaxed(&sched->xstopping)) { /* relaxed: the other one has begun */
        th_os_relax();
    }
    while ((result = thrum_sched_stop(sched)) == -EBUSY) {
        th_os_relax();
    }
    sim_check(result == 0);
    whole_forget(sched);
    sim_join(t);
    sim_check(result_external == -ETIMEDOUT);
    sim_check(runs[0] == 1 && (cancelled[0] || expired[0]));
}

static thrum_sched *other;

static whole_gate taken_over;

/* Stays: at its end it would take locks, which would order its writes. */
static void stops_once_and_stays(void *arg) {
    stops_once(arg);
    whole_pass(&taken_over);
}

/* Keeps the thread on which the other task began to stop. */
static void stays(thrum_task *self, void *arg) {
    (void)self;
    (void)arg;
    whole_pass(&taken_over);
}

static int takes_over(void *arg) {
    int result;
    (void)arg;
    whole_post(other, 0, stays, NULL);
    while ((result = thrum_sched_stop(sched)) == -EBUSY) {
        sim_check(thrum_sleep(SOON) == 0);
    }
    sim_check(result == 0);
    whole_open(&taken_over);
    return 0;
}

/* The other one is a task of another scheduler, which may go on on another thread than it began. */
SIM_WORLD(stop_until_taken_over_by_task, .heavy = true) {
    thrum_attr attr = THRUM_ATTR_INIT;
    thrum_config config = whole_config(2);
    begin(1, THRUM_SHARDED);
    thrum_task_init(&tasks[1], holds, NULL);
    sim_check(thrum_task_post(sched, &tasks[1]) == 0);
    other = whole_start(&config);
    attr.sched = other;
    int t = sim_spawn(stops_once_and_stays, NULL);
    while (!th_load_relaxed(&sched->xstopping)) { /* relaxed: the other one has begun */
        th_os_relax();
    }
    sim_check(thrum_go_with(&attr, takes_over, NULL) == 0);
    whole_stop(other);
    whole_forget(sched);
    sim_join(t);
    sim_check(result_external == -ETIMEDOUT && runs[1] == 1);
}

/* ---- timed waits of fibers ---- */

static thrum_sem sem;
static int waited[TASKS];

static void sleeps(thrum_task *self, void *arg) {
    unsigned i = (unsigned)(self - tasks);
    (void)arg;
    waited[i] = i == 0   ? thrum_sleep(40 * LATER)
                : i == 1 ? thrum_sem_wait_until(&sem, thrum_after(40 * LATER))
                         : thrum_sleep(SOON);
    runs[i]++;
}

/*
 * A sleeper, a timed wait, and one whose time is out earlier: -ECANCELED once stop's time is out.
 */
static void waits_of_fibers(unsigned workers, thrum_policy policy) {
    thrum_config config = whole_config(workers);
    config.policy = policy;
    sched = whole_start(&config);
    thrum_sem_init(&sem, 0);
    for (unsigned i = 0; i < TASKS; i++) {
        thrum_task_init(&tasks[i], sleeps, NULL);
        sim_check(thrum_task_post(sched, &tasks[i]) == 0);
    }
    stop_late(LATER);
    for (unsigned i = 0; i < TASKS; i++) {
        sim_check(runs[i] == 1);
        sim_check(waited[i] == -ECANCELED || waited[i] == (i == 1 ? -ETIMEDOUT : 0));
    }
    sim_check(thrum_sem_destroy(&sem) == 0);
}

SIM_WORLD(stop_until_fibers, .heavy = true, .asleep = whole_asleep) {
    waits_of_fibers(1, THRUM_SHARDED);
}

SIM_WORLD(stop_until_fibers_2, .heavy = true, .asleep = whole_asleep) {
    waits_of_fibers(2, THRUM_SHARDED);
}

SIM_WORLD(stop_until_fibers_fifo, .heavy = true, .asleep = whole_asleep) {
    waits_of_fibers(2, THRUM_FIFO);
}

static void posts_unit(void *arg) {
    (void)arg;
    thrum_sem_post(&sem);
}

static void waits_for_unit(thrum_task *self, void *arg) {
    (void)self;
    (void)arg;
    waited[0] = thrum_sem_wait_until(&sem, thrum_after(LATER + SOON));
}

/* A wake, a deadline and a cancel come at once: the unit is taken, or still there. */
SIM_WORLD(stop_until_wake, .heavy = true, .asleep = whole_asleep, .timers_max = 3) {
    thrum_config config = whole_config(1);
    sched = whole_start(&config);
    thrum_sem_init(&sem, 0);
    thrum_task_init(&tasks[0], waits_for_unit, NULL);
    sim_check(thrum_task_post(sched, &tasks[0]) == 0);
    int t = sim_spawn(posts_unit, NULL);
    stop_late(LATER);
    sim_join(t);
    sim_check((thrum_sem_try_wait(&sem) == 0) == (waited[0] != 0));
}
