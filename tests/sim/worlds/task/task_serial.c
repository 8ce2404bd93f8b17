/*
 * task_serial.c: serial tasks (core/task/TASKS.md): posts by other threads while a run is on. Each
 * post that is taken is one run, and the runs' writes are plain data: two runs that overlap, or
 * that nothing orders, are a race.
 */
#include <errno.h>

#include "base/atomic.h"
#include "platform/platform.h"
#include "whole.h"

#define SOON 300

static thrum_sched *sched;
static thrum_sched *other;
static thrum_task task;
static unsigned runs; /* plain */
static uint32_t xtaken, xbegun;
static bool inside, expired[4], cancelled[4], signaled[4];
static int told;

static void body(thrum_task *self, void *arg) {
    (void)arg;
    sim_check(!inside && runs < 4);
    inside = true;
    expired[runs] = thrum_task_is_expired(self);
    cancelled[runs] = thrum_task_is_cancelled(self);
    signaled[runs] = thrum_task_receive_signal(self);
    th_add_release(&xbegun, 1u); /* the user's order: it has begun */
    inside = false;
    runs++;
}

static void begin(unsigned workers, thrum_policy policy) {
    thrum_config config = whole_config(workers);
    config.policy = policy;
    sched = whole_start_bare(&config);
    thrum_task_init(&task, body, NULL);
    thrum_task_set_serial(&task);
}

static void await_begun(void) {
    while (!th_load_acquire(&xbegun)) {
        th_os_relax();
    }
}

static void took(int result) {
    sim_check(result == 0 || result == -EBUSY);
    if (result == 0) {
        th_add_relaxed(&xtaken, 1u); /* relaxed: joined */
    }
}

static void posts(void *arg) {
    (void)arg;
    took(thrum_task_post(sched, &task));
}

static void posts_somehow(void *arg) {
    (void)arg;
    thrum_task *all[1] = {&task};
    await_begun();
    unsigned how = sim_pick(3);
    took(how == 0   ? thrum_task_post_after(sched, &task, SOON)
         : how == 1 ? thrum_task_post_batch(sched, all, 1)
                    : thrum_task_post_hint(sched, &task, THRUM_HINT_NEXT));
}

static void end(void) {
    whole_stop(sched);
    sim_check(runs == th_load_relaxed(&xtaken)); /* relaxed: joined */
}

/* Posts come before, during and after a run: each is a run of its own, or was refused. */
static void beside(unsigned workers, thrum_policy policy, void (*with)(void *)) {
    begin(workers, policy);
    int t = sim_spawn(with, NULL);
    posts(NULL);
    await_begun();
    posts(NULL);
    sim_join(t);
    end();
    sim_check(runs >= 2);
}

SIM_WORLD(serial_post, .asleep = whole_asleep) {
    beside(1, THRUM_SHARDED, posts);
}

SIM_WORLD(serial_post_2, .asleep = whole_asleep) {
    beside(2, THRUM_SHARDED, posts);
}

SIM_WORLD(serial_post_fifo, .asleep = whole_asleep) {
    beside(2, THRUM_FIFO, posts);
}

SIM_WORLD(serial_somehow, .asleep = whole_asleep) {
    beside(1, THRUM_SHARDED, posts_somehow);
}

SIM_WORLD(serial_somehow_2, .asleep = whole_asleep) {
    beside(2, THRUM_SHARDED, posts_somehow);
}

/* ---- events for the post that a run keeps waiting ---- */

static void waits(void *arg) {
    (void)arg;
    await_begun();
    took(thrum_task_post_wait(sched, &task));
}

static void wakes(void *arg) {
    (void)arg;
    await_begun();
    told = 7;
    thrum_task_wakeup(&task);
}

static int cancel_result;

static void cancels(void *arg) {
    (void)arg;
    await_begun();
    cancel_result = thrum_task_cancel(&task);
}

static void waits_beside(unsigned workers, void (*with)(void *)) {
    begin(workers, THRUM_SHARDED);
    posts(NULL);
    int t = sim_spawn(with, NULL);
    waits(NULL);
    sim_join(t);
}

/* A wakeup is not lost: the run comes, and sees its data. */
SIM_WORLD(serial_wait_wakeup, .asleep = whole_asleep) {
    waits_beside(2, wakes);
    sim_check(thrum_sched_wait_done(sched, THRUM_FOREVER) == 0);
    sim_check(runs == 2 && told == 7 && !expired[1] && !cancelled[1]);
    end();
}

/* An accepted cancel belongs to that run; a refused one leaves nothing. */
static void cancel_beside(unsigned workers) {
    waits_beside(workers, cancels);
    if (cancel_result) {
        sim_check(cancel_result == -EBUSY);
        thrum_task_wakeup(&task);
    }
    sim_check(thrum_sched_wait_done(sched, THRUM_FOREVER) == 0);
    sim_check(runs == 2 && cancelled[1] == (cancel_result == 0) && !cancelled[0]);
    end();
}

SIM_WORLD(serial_wait_cancel, .asleep = whole_asleep) {
    cancel_beside(1);
}

SIM_WORLD(serial_wait_cancel_2, .asleep = whole_asleep) {
    cancel_beside(2);
}

/* ---- events while the task is in a queue ---- */

static uint32_t xknown;

/* A body that has taken a cancel sees its sender's earlier writes. */
static void looks(thrum_task *self, void *arg) {
    (void)arg;
    sim_check(!thrum_task_is_cancelled(self) || told == 7);
    runs++;
}

static void tells_and_cancels(void *arg) {
    (void)arg;
    told = 7;
    cancel_result = thrum_task_cancel(&task);
}

SIM_WORLD(serial_queued_cancel, .asleep = whole_asleep) {
    begin(1, THRUM_SHARDED);
    thrum_task_set_body(&task, looks, NULL);
    int t = sim_spawn(tells_and_cancels, NULL);
    posts(NULL);
    sim_join(t);
    end();
    sim_check(cancel_result == 0 || cancel_result == -EBUSY);
}

/* The awaited value is there, or a wakeup is still to come. */
static void waits_until_known(thrum_task *self, void *arg) {
    (void)arg;
    runs++;
    if (!th_load_relaxed(&xknown)) { /* relaxed: the wakeup orders it */
        sim_check(thrum_task_post_wait(sched, self) == 0);
    }
}

static void makes_known(void *arg) {
    (void)arg;
    th_store_relaxed(&xknown, 1u); /* relaxed: the wakeup publishes it */
    thrum_task_wakeup(&task);
}

SIM_WORLD(serial_queued_wakeup, .asleep = whole_asleep) {
    begin(1, THRUM_SHARDED);
    thrum_task_set_body(&task, waits_until_known, NULL);
    int t = sim_spawn(makes_known, NULL);
    posts(NULL);
    sim_check(thrum_sched_wait_done(sched, THRUM_FOREVER) == 0);
    sim_join(t);
    whole_stop(sched);
    sim_check(runs == 1 || runs == 2);
}

/* ---- to another scheduler ---- */

/*
 * A run is on in one scheduler while others post to another: the task comes there when the run has
 * returned.
 */
SIM_WORLD(serial_moved, .asleep = whole_asleep) {
    thrum_config config = whole_config(1);
    other = whole_start_bare(&config);
    begin(1, THRUM_SHARDED);
    posts(NULL);
    await_begun();
    took(sim_pick(2) ? thrum_task_post(other, &task) : thrum_task_post_after(other, &task, SOON));
    whole_stop(other);
    sim_check(runs == 2);
    end();
}
