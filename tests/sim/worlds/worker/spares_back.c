/*
 * spares_back.c: a spare that becomes idle again leaves nothing behind, regardless of its queued
 * work (core/worker/SPARES.md, S3), and stop, idleness and the deadlock report know of it (S4, S5).
 */
#include <errno.h>

#include "base/atomic.h"
#include "core/state/worker.h"
#include "crew.h"
#include "platform/platform.h"
#include "platform/sim/controller.h"
#include "spares.h"

#define LONG_NS (10 * SPARES_NS)

static thrum_sem sem;
static uint32_t xstood; /* 1: the spare takes part; its earlier writes are known then */

static void tell_stood(void) {
    th_store_release(&xstood, 1u); /* pairs: pass_stood */
    th_os_futex_wake(&xstood, 1);
}

static void pass_stood(void) {
    while (!th_load_acquire(&xstood)) { /* pairs: tell_stood */
        th_os_futex_wait(&xstood, 0, TH_FOREVER);
    }
}

/* On the spare: lets worker 0 go on, and computes until the spare is no longer wanted. */
static void outstay(void) {
    whole_open(&spares_gate);
    whole_pass(&spares_passed);
    sim_pass(SPARES_STAY_NS + SPARES_NS);
}

static void begin(unsigned spares, thrum_policy policy, thrum_task_fn fn) {
    spares_begin(1, spares, policy);
    whole_post(spares_sched, 0, spares_holds, NULL);
    whole_post(spares_sched, 1, fn, NULL);
}

/* ---- work that it has queued ---- */

static int yields(void *arg) {
    thrum_yield();
    thrum_yield();
    whole_ran[*(int *)arg]++;
    return 0;
}

static int number_4 = 4;

/* The last one to be queued goes into the slot, the others into the ring, and beyond it. */
static void queues(thrum_task *self, void *arg) {
    (void)arg;
    whole_count(self, NULL);
    whole_open(&spares_gate);
    whole_pass(&spares_passed);
    for (unsigned i = 2; i < 4; i++) {
        thrum_hint hint = i == 3 && sim_pick(2) ? THRUM_HINT_NEXT : THRUM_HINT_NONE;
        thrum_task_init(&whole_tasks[i], whole_count, NULL);
        sim_check(thrum_task_post_hint(spares_sched, &whole_tasks[i], hint) == 0);
    }
    sim_check(thrum_go(yields, &number_4) == 0);
    sim_pass(SPARES_STAY_NS + SPARES_NS);
}

static void leaves(thrum_policy policy) {
    begin(1, policy, queues);
    whole_stop(spares_sched);
    whole_ran_once(0, 5);
}

SIM_WORLD(spares_leaves, .heavy = true, .asleep = spares_asleep) {
    leaves(THRUM_SHARDED);
}

SIM_WORLD(spares_leaves_fifo, .heavy = true, .asleep = spares_asleep) {
    leaves(THRUM_FIFO);
}

SIM_WORLD(spares_leaves_global, .heavy = true, .asleep = spares_asleep) {
    leaves(THRUM_GLOBAL);
}

/* A fiber sleeps that began on the spare. */
static int sleeps(void *arg) {
    sim_check(thrum_sleep(LONG_NS) == 0);
    whole_ran[*(int *)arg]++;
    return 0;
}

static int number_2 = 2;

static void outstays(thrum_task *self, void *arg) {
    (void)arg;
    whole_count(self, NULL);
    outstay();
}

static int sleeps_then(void *arg) {
    thrum_task_init(&whole_tasks[1], outstays, NULL);
    sim_check(thrum_task_post(spares_sched, &whole_tasks[1]) == 0);
    return sleeps(arg);
}

SIM_WORLD(spares_leaves_timer, .heavy = true, .asleep = spares_asleep) {
    thrum_attr attr = THRUM_ATTR_INIT;
    spares_begin(1, 1, (thrum_policy)sim_pick(3));
    whole_post(spares_sched, 0, spares_holds, NULL);
    attr.sched = spares_sched;
    sim_check(thrum_go_with(&attr, sleeps_then, &number_2) == 0);
    whole_stop(spares_sched);
    whole_ran_once(0, 3);
}

/* ---- pinned work ---- */

static void stands(thrum_task *self, void *arg) {
    (void)arg;
    whole_count(self, NULL);
    sim_check(thrum_worker_id() == 1);
    tell_stood();
    outstay();
}

static void on_spare(thrum_task *self, void *arg) {
    (void)arg;
    whole_count(self, NULL);
    sim_check(thrum_worker_id() == 1);
    sim_pass(SPARES_STAY_NS + SPARES_NS);
}

static void on_first(thrum_task *self, void *arg) {
    (void)arg;
    whole_count(self, NULL);
    sim_check(thrum_worker_id() == 0);
}

static unsigned level; /* the priority of what is pinned to the spare */

static void post_pinned(unsigned i, int worker, thrum_task_fn fn) {
    thrum_task_init(&whole_tasks[i], fn, NULL);
    sim_check(thrum_task_set_priority(&whole_tasks[i], worker ? level : THRUM_NORMAL) == 0);
    thrum_task_set_worker(&whole_tasks[i], worker);
    sim_check(thrum_task_post(spares_sched, &whole_tasks[i]) == 0);
}

/* For the spare, which retires or sits; and for the worker that is held up. */
static void pin(unsigned priority) {
    level = priority;
    begin(1, (thrum_policy)sim_pick(3), stands);
    post_pinned(2, 0, on_first);
    pass_stood();
    if (sim_pick(2)) {
        spares_sleep(sim_pick(2) ? LONG_NS : SPARES_STAY_NS);
    }
    post_pinned(3, 1, on_spare);
    whole_post(spares_sched, 4, whole_count, NULL);
    whole_stop(spares_sched);
    whole_ran_once(0, 5);
}

SIM_WORLD(spares_pinned, .heavy = true, .asleep = spares_asleep) {
    pin(THRUM_NORMAL);
}

SIM_WORLD(spares_pinned_priority, .heavy = true, .asleep = spares_asleep) {
    pin(sim_pick(2) ? THRUM_HIGH : THRUM_LOW);
}

static int pinned_sleeps(void *arg) {
    sim_check(thrum_worker_id() == 1);
    if (sim_pick(2)) {
        sim_check(thrum_sleep(LONG_NS) == 0);
    }
    thrum_yield();
    sim_check(thrum_worker_id() == 1);
    return *(int *)arg;
}

static void starts_pinned(thrum_task *self, void *arg) {
    static int zero;
    thrum_attr attr = THRUM_ATTR_INIT;
    (void)arg;
    whole_count(self, NULL);
    attr.flags = THRUM_PINNED | level;
    attr.worker = 1;
    sim_check(thrum_worker_id() == 1);
    sim_check(thrum_go_with(&attr, pinned_sleeps, &zero) == 0);
    outstay();
}

static void pin_fiber(unsigned priority) {
    level = priority;
    begin(1, (thrum_policy)sim_pick(3), starts_pinned);
    whole_stop(spares_sched);
    whole_ran_once(0, 2);
}

SIM_WORLD(spares_pinned_fiber, .heavy = true, .asleep = spares_asleep) {
    pin_fiber(THRUM_NORMAL);
}

SIM_WORLD(spares_pinned_fiber_priority, .heavy = true, .asleep = spares_asleep) {
    pin_fiber(sim_pick(2) ? THRUM_HIGH : THRUM_LOW);
}

/*
 * The spare stood in the idle stack, and pinned work woke it: its entry is left behind. It sits
 * down, and a post pops the entry, while worker 0 may sleep.
 */
SIM_WORLD(spares_stale, .heavy = true, .asleep = spares_asleep) {
    level = THRUM_NORMAL;
    begin(1, THRUM_SHARDED, stands);
    pass_stood();
    spares_sleep(LONG_NS);
    post_pinned(2, 1, on_spare);
    if (sim_pick(2)) {
        spares_sleep(LONG_NS);
    }
    whole_post(spares_sched, 3, whole_count, NULL);
    whole_post(spares_sched, 4, whole_count, NULL);
    whole_stop(spares_sched);
    whole_ran_once(0, 5);
}

/* ---- all parked ---- */

/* The last to park is the spare that retires, or the worker that it took over for. */
SIM_WORLD(spares_idle, .heavy = true, .asleep = spares_asleep) {
    begin(1 + sim_pick(2), (thrum_policy)sim_pick(3), outstays);
    sim_check(thrum_sched_wait_idle(spares_sched, THRUM_FOREVER) == 0);
    whole_ran_once(0, 2);
    whole_post(spares_sched, 2, whole_count, NULL);
    sim_check(thrum_sched_wait_idle(spares_sched, THRUM_FOREVER) == 0);
    whole_ran_once(0, 3);
    whole_stop(spares_sched);
}

static whole_gate second_gate;

static void holds_again(thrum_task *self, void *arg) {
    (void)arg;
    whole_count(self, NULL);
    whole_pass(&second_gate);
}

static void opens_again(thrum_task *self, void *arg) {
    (void)arg;
    whole_count(self, NULL);
    whole_open(&second_gate);
}

/* When all is done nothing looks any longer; then a worker is held up again. */
SIM_WORLD(spares_again, .heavy = true, .asleep = spares_asleep) {
    begin(1 + sim_pick(2), THRUM_SHARDED, sim_pick(2) ? outstays : spares_opens);
    spares_sleep(SPARES_IDLE_ENDS * SPARES_NS);
    whole_post(spares_sched, 2, holds_again, NULL);
    whole_post(spares_sched, 3, opens_again, NULL);
    whole_stop(spares_sched);
    whole_ran_once(0, 4);
}

/*
 * The spare takes over still and sleeps as a worker does, so there is no monitor. One of the two
 * takes both tasks, and is held up by the first.
 */
SIM_WORLD(spares_rest_of_share, .heavy = true, .asleep = spares_asleep) {
    thrum_config config = spares_config(1, 1, (thrum_policy)sim_pick(3));
    config.local_capacity = 4; /* two are one share */
    spares_sched = whole_start(&config);
    whole_post(spares_sched, 0, spares_holds, NULL);
    whole_post(spares_sched, 1, spares_opens, NULL);
    whole_pass(&spares_passed);
    if (sim_pick(2)) {
        spares_sleep(SPARES_NS / 4);
    }
    whole_post(spares_sched, 2, holds_again, NULL);
    whole_post(spares_sched, 3, opens_again, NULL);
    whole_stop(spares_sched);
    whole_ran_once(0, 4);
}

static void post_after(unsigned i, thrum_task_fn fn, thrum_time after) {
    thrum_task_init(&whole_tasks[i], fn, NULL);
    sim_check(thrum_task_post_after(spares_sched, &whole_tasks[i], after) == 0);
}

/* A deadline wakes the worker, and no thread that would know how many spares sit by now. */
SIM_WORLD(spares_rest_due, .heavy = true, .asleep = spares_asleep) {
    begin(1, THRUM_SHARDED, outstays);
    post_after(2, holds_again, LONG_NS);
    post_after(3, opens_again, LONG_NS);
    whole_stop(spares_sched);
    whole_ran_once(0, 4);
}

/* ---- stop ---- */

/* At any moment: while the monitor begins, looks, rests. */
SIM_WORLD(spares_stop, .heavy = true) {
    spares_begin(1 + sim_pick(2), 1 + sim_pick(2), THRUM_SHARDED);
    if (sim_pick(2)) {
        spares_sleep((int64_t)sim_pick(3) * SPARES_NS / 2);
    }
    whole_stop(spares_sched);
}

static void reads(void *ctx, int worker) {
    (void)ctx, (void)worker;
    sim_check(whole_ran[0] == 1 && whole_ran[1] == 1);
}

/* The spare that took over is about to retire, or is idle; its hook sees all tasks' writes. */
SIM_WORLD(spares_stop_back, .heavy = true) {
    thrum_config config = spares_config(1, 1 + sim_pick(2), THRUM_SHARDED);
    config.worker_stop = reads;
    spares_sched = whole_start(&config);
    whole_post(spares_sched, 0, spares_holds, NULL);
    whole_post(spares_sched, 1, sim_pick(2) ? outstays : spares_opens, NULL);
    whole_pass(&spares_passed);
    if (sim_pick(2)) {
        spares_sleep(SPARES_STAY_NS + (int64_t)sim_pick(2) * SPARES_NS);
    }
    whole_stop(spares_sched);
    whole_ran_once(0, 2);
}

static void waits(thrum_task *self, void *arg) {
    (void)arg;
    sim_check(thrum_task_is_cancelled(self));
    whole_count(self, NULL);
}

/* A stop with a deadline cancels waits; it cannot cancel the task that holds the worker up. */
SIM_WORLD(spares_stop_until, .heavy = true) {
    spares_begin(1, 1 + sim_pick(2), THRUM_SHARDED);
    whole_post(spares_sched, 0, spares_holds, NULL);
    thrum_task_init(&whole_tasks[1], waits, NULL);
    sim_check(thrum_task_post_wait(spares_sched, &whole_tasks[1]) == 0);
    int result =
        thrum_sched_stop_until(spares_sched, thrum_after(SPARES_NS * (int64_t)(1 + sim_pick(3))));
    sim_check(result == -ETIMEDOUT);
    whole_open(&spares_gate);
    whole_stop(spares_sched);
    whole_ran_once(0, 2);
}

/* ---- the report of a deadlock ---- */

static whole_gate told;
static unsigned reports; /* plain: the hook counts, one thread at a time */

static void take_report(void *ctx, const char *report) {
    (void)ctx;
    sim_check(whole_ran[1] == 1 && report[0] == 't');
    reports++;
    whole_open(&told);
}

static int waits_for_ever(void *arg) {
    sim_check(thrum_sem_wait(&sem) == 0);
    return *(int *)arg;
}

/* It comes once, and not before the held-up one has ended. */
SIM_WORLD(spares_deadlock, .heavy = true) {
    static int zero;
    thrum_attr attr = THRUM_ATTR_INIT;
    thrum_config config = spares_config(1, 1 + sim_pick(2), THRUM_SHARDED);
    config.deadlock = take_report;
    thrum_sem_init(&sem, 0);
    attr.sched = spares_sched = whole_start(&config);
    whole_post(spares_sched, 0, spares_holds, NULL);
    sim_check(thrum_go_with(&attr, waits_for_ever, &zero) == 0);
    whole_post(spares_sched, 1, sim_pick(2) ? outstays : spares_opens, NULL);
    whole_pass(&told);
    thrum_sem_post(&sem);
    whole_stop(spares_sched);
    sim_check(reports == 1);
}

/* ---- refused ---- */

/* Memory for the spare is refused, or a thread for the next one: a second later it is there. */
SIM_WORLD(spares_refused, .heavy = true, .refusals = 3, .asleep = spares_asleep) {
    begin(1 + sim_pick(2), THRUM_SHARDED, spares_opens);
    whole_stop(spares_sched);
    whole_ran_once(0, 2);
}
