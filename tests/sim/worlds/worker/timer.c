/*
 * timer.c: deadlines (core/due/TIME.md): timers that several threads insert into, cancel and fire;
 * parking against an earlier deadline; which worker fires for another that does not come round. At
 * each moment when all threads sleep `whole_asleep` checks: nothing is overdue, and a parked worker
 * sleeps no longer than until the first of its deadlines.
 */
#include <errno.h>

#include "base/atomic.h"
#include "core/basis/parkword.h"
#include "core/state/worker.h"
#include "platform/platform.h"
#include "whole.h"

#define TASKS 4
#define SOON 300
#define LATER 1000000
/* How late a deadline may be whose worker does not come round: the sentinel's longest sleep. */
#define RESCUE_NS 4000000

static thrum_sched *sched;
static thrum_task tasks[TASKS];
static int64_t due[TASKS];
static unsigned ran[TASKS];
static whole_gate gate;

static void begin(unsigned workers, thrum_policy policy) {
    thrum_config config = whole_config(workers);
    config.policy = policy;
    sched = whole_start_bare(&config);
}

/* A deadline is never early. */
static void body(thrum_task *self, void *arg) {
    (void)arg;
    unsigned i = (unsigned)(self - tasks);
    sim_check(thrum_now() >= due[i]);
    sim_check(thrum_task_is_expired(self));
    ran[i]++;
}

static void post_at(unsigned i, thrum_task_fn fn, int64_t deadline) {
    thrum_task_init(&tasks[i], fn, NULL);
    due[i] = deadline;
    sim_check(thrum_task_post_until(sched, &tasks[i], deadline) == 0);
}

static void end(unsigned n) {
    whole_stop(sched);
    for (unsigned i = 0; i < n; i++) {
        sim_check(ran[i] == 1);
    }
}

/* ---- parking against an earlier deadline ---- */

/* The second deadline is the earlier one: a worker that sleeps until the first must be notified. */
static void earlier_and_earlier(void *arg) {
    unsigned first = *(const unsigned *)arg;
    int64_t now = thrum_now();
    post_at(first, body, now + 2 * LATER);
    post_at(first + 1, body, now + LATER);
}

static const unsigned numbers[] = {0, 2};

static void external(unsigned workers, thrum_policy policy) {
    begin(workers, policy);
    earlier_and_earlier((void *)(uintptr_t)&numbers[0]);
    end(2);
}

SIM_WORLD(timer_external_1, .asleep = whole_asleep) {
    external(1, THRUM_SHARDED);
}

SIM_WORLD(timer_external_2, .asleep = whole_asleep) {
    external(2, THRUM_SHARDED);
}

SIM_WORLD(timer_external_global, .asleep = whole_asleep) {
    external(2, THRUM_GLOBAL);
}

SIM_WORLD(timer_external_fifo, .asleep = whole_asleep) {
    external(2, THRUM_FIFO);
}

/* Two threads insert into one wheel at the same time. */
SIM_WORLD(timer_two_externals, .asleep = whole_asleep) {
    begin(1, THRUM_SHARDED);
    int t = sim_spawn(earlier_and_earlier, (void *)(uintptr_t)&numbers[1]);
    earlier_and_earlier((void *)(uintptr_t)&numbers[0]);
    sim_join(t);
    end(4);
}

/*
 * Work, deadlines, rest, and again: the sentinel's long sleep begins and ends while timers are
 * pending.
 */
SIM_WORLD(timer_work_between, .asleep = whole_asleep) {
    begin(2, THRUM_SHARDED);
    post_at(0, body, thrum_after(LATER));
    whole_post(sched, 0, whole_count, NULL);
    post_at(1, body, thrum_after(SOON));
    whole_post(sched, 1, whole_count, NULL);
    end(2);
    whole_ran_once(0, 2);
}

/* A worker goes to sleep with deadlines that its own task has set, while an external thread sets
 * one. */
static void sets_two(thrum_task *self, void *arg) {
    (void)arg;
    ran[self - tasks]++;
    post_at(1, body, thrum_after(LATER));
    post_at(2, body, thrum_after(SOON));
}

static void inside(unsigned workers, thrum_policy policy) {
    begin(workers, policy);
    thrum_task_init(&tasks[0], sets_two, NULL);
    sim_check(thrum_task_post(sched, &tasks[0]) == 0);
    post_at(3, body, thrum_after(SOON));
    end(4);
}

SIM_WORLD(timer_inside_1, .asleep = whole_asleep) {
    inside(1, THRUM_SHARDED);
}

SIM_WORLD(timer_inside_2, .asleep = whole_asleep) {
    inside(2, THRUM_SHARDED);
}

/* In one order for all, each worker inserts into worker 0's timers, and notifies it. */
SIM_WORLD(timer_inside_fifo, .asleep = whole_asleep) {
    inside(2, THRUM_FIFO);
}

SIM_WORLD(timer_inside_fifo_3, .asleep = whole_asleep) {
    inside(3, THRUM_FIFO);
}

/* More deadlines than are fired at a time are due at once: the lock is given up in between. */
SIM_WORLD(timer_many, .asleep = whole_asleep) {
    begin(2, THRUM_SHARDED);
    int64_t at = thrum_after(LATER);
    for (unsigned i = 0; i < TASKS; i++) {
        post_at(i, body, at);
    }
    end(TASKS);
}

/* ---- exactly then ---- */

SIM_UNSEEN static uint64_t timer_wakes(void) {
    uint64_t wakes = 0;
    for (unsigned i = 0; i < sched->workers_count; i++) {
        wakes += sched->workers[i].counters.xwakes_timer;
    }
    return wakes;
}

/* Both workers sleep, and no sentinel makes rounds. */
SIM_UNSEEN static bool at_rest(void) {
    const unsigned sentinel = th_park_sentinel(sched->xpark);
    return th_park_parked(sched->xpark) == 2 &&
           (!sentinel || sched->workers[sentinel - 1].rounds.long_sleep);
}

/* The thread's own sleep: a spurious return does not end it. */
static void sleep_until(int64_t deadline) {
    static uint32_t xnever;
    while (th_os_now() < deadline) {
        th_os_futex_wait(&xnever, 0, deadline);
    }
}

/*
 * An idle scheduler of one worker wakes for its deadlines, once each, and for nothing else.
 */
SIM_WORLD(timer_exact, .asleep = whole_asleep) {
    begin(1, THRUM_SHARDED);
    int64_t now = thrum_now();
    post_at(0, body, now + 2 * LATER);
    post_at(1, body, now + 40 * LATER);
    sleep_until(now + 100 * LATER);
    sim_check(thrum_sched_wait_done(sched, THRUM_FOREVER) == 0);
    sim_check(timer_wakes() <= 2);
    end(2);
}

/* Two workers: one of them may be the sentinel for a round, when it did not see the other park. */
SIM_WORLD(timer_exact_2, .asleep = whole_asleep) {
    begin(2, THRUM_SHARDED);
    while (!at_rest()) {
        sleep_until(thrum_after(LATER));
    }
    uint64_t before = timer_wakes();
    sleep_until(thrum_after(100 * LATER));
    sim_check(timer_wakes() == before);
    int64_t now = thrum_now();
    post_at(0, body, now + 40 * LATER);
    sleep_until(now + 39 * LATER);
    sim_check(thrum_now() >= due[0] || timer_wakes() == before);
    end(1);
}

static void cancelled_body(thrum_task *self, void *arg) {
    (void)arg;
    sim_check(thrum_task_is_cancelled(self) || thrum_now() >= due[self - tasks]);
    ran[self - tasks]++;
}

/* A cancelled timer wakes its worker at most once: the worker may sleep until it. */
SIM_WORLD(timer_cancelled, .asleep = whole_asleep) {
    begin(1, THRUM_SHARDED);
    int64_t now = thrum_now();
    post_at(0, cancelled_body, now + 40 * LATER);
    post_at(1, cancelled_body, now + 41 * LATER);
    int late = thrum_task_cancel(&tasks[0]) + thrum_task_cancel(&tasks[1]);
    late |= thrum_now() >= due[0];
    sim_check(thrum_sched_wait_done(sched, THRUM_FOREVER) == 0);
    sleep_until(now + 100 * LATER);
    sim_check(late || timer_wakes() <= 1);
    end(2);
}

/* ---- a worker that does not come round ---- */

/* Holds its worker until the deadlines that it has set have passed and been served. */
static void opens(thrum_task *self, void *arg) {
    unsigned i = (unsigned)(self - tasks);
    body(self, arg);
    sim_check(thrum_now() < due[i] + RESCUE_NS + LATER);
    whole_open(&gate);
}

static void sets_and_holds(thrum_task *self, void *arg) {
    (void)arg;
    ran[self - tasks]++;
    post_at(1, opens, thrum_after(SOON));
    whole_pass(&gate);
}

/*
 * The overdue deadline of a worker that does not come round is fired by a peer, or by the sentinel
 * in its round.
 */
static void busy(unsigned workers, thrum_policy policy) {
    begin(workers, policy);
    thrum_task_init(&tasks[0], sets_and_holds, NULL);
    sim_check(thrum_task_post(sched, &tasks[0]) == 0);
    end(2);
}

SIM_WORLD(timer_busy, .asleep = whole_asleep_shared) {
    busy(2, THRUM_SHARDED);
}

SIM_WORLD(timer_busy_3, .asleep = whole_asleep_shared) {
    busy(3, THRUM_SHARDED);
}

SIM_WORLD(timer_busy_global, .asleep = whole_asleep_shared) {
    busy(2, THRUM_GLOBAL);
}

SIM_WORLD(timer_busy_fifo, .asleep = whole_asleep_shared) {
    busy(2, THRUM_FIFO);
}

/* The same with a deadline that an external thread sets. */
static void holds(thrum_task *self, void *arg) {
    (void)arg;
    ran[self - tasks]++;
    whole_pass(&gate);
}

static void busy_external(unsigned workers, thrum_policy policy) {
    begin(workers, policy);
    thrum_task_init(&tasks[0], holds, NULL);
    sim_check(thrum_task_post(sched, &tasks[0]) == 0);
    post_at(1, opens, thrum_after(LATER));
    end(2);
}

SIM_WORLD(timer_busy_external, .asleep = whole_asleep_shared) {
    busy_external(2, THRUM_SHARDED);
}

SIM_WORLD(timer_busy_external_fifo, .asleep = whole_asleep_shared) {
    busy_external(2, THRUM_FIFO);
}

/*
 * A worker goes busy for a pinned task at that moment, while another one looks for work and finds
 * none: either the latter sees the deadline, or the thread that sets it sees that it runs.
 */
static void posts_holder(void *arg) {
    (void)arg;
    thrum_task_init(&tasks[0], holds, NULL);
    thrum_task_set_worker(&tasks[0], 0);
    sim_check(thrum_task_post(sched, &tasks[0]) == 0);
}

SIM_WORLD(timer_busy_pinned) {
    begin(2, THRUM_FIFO); /* all timers belong to worker 0 */
    while (!at_rest()) {
        sleep_until(thrum_after(LATER));
    }
    int t = sim_spawn(posts_holder, NULL);
    whole_post(sched, 0, whole_count, NULL);
    post_at(1, opens, thrum_after(SOON));
    sim_join(t);
    end(2);
}

/* ---- pinned ---- */

static void on_its_worker(thrum_task *self, void *arg) {
    sim_check(thrum_worker_id() == self->reserved_worker);
    body(self, arg);
}

/* Whichever worker fires it, a pinned task runs on its own. */
static void pinned(thrum_policy policy) {
    begin(2, policy);
    for (unsigned i = 0; i < 3; i++) {
        thrum_task_init(&tasks[i], on_its_worker, NULL);
        thrum_task_set_worker(&tasks[i], (int)i % 2);
        due[i] = thrum_after(i == 2 ? SOON : LATER);
        sim_check(thrum_task_post_until(sched, &tasks[i], due[i]) == 0);
    }
    end(3);
}

SIM_WORLD(timer_pinned, .asleep = whole_asleep) {
    pinned(THRUM_SHARDED);
}

SIM_WORLD(timer_pinned_fifo, .asleep = whole_asleep) {
    pinned(THRUM_FIFO);
}
