/*
 * quiesce.c: wait_idle and wait_done (core/ready/QUIESCENCE.md). The tasks' writes are read plainly
 * after the wait: a sum that is equal too early shows as a task that has not run, or as a race.
 */
#include "base/atomic.h"
#include "core/control/quiesce.h"
#include "core/state/worker.h"
#include "crew.h"
#include "platform/platform.h"
#include "whole.h"

static thrum_sched *sched;
static whole_gate gate;

static void begin_bare(unsigned workers) {
    thrum_config config = whole_config(workers);
    sched = whole_start_bare(&config);
}

static void wait_idle(void) {
    sim_check(thrum_sched_wait_idle(sched, THRUM_FOREVER) == 0);
}

/* Posts the next one as its last deed: begins and ends move from worker to worker. */
static void chain(thrum_task *self, void *arg) {
    unsigned i = whole_number(self);
    whole_ran[i]++;
    if (i + 1 < (unsigned)(uintptr_t)arg) {
        whole_post(sched, i + 1, chain, arg);
    }
}

/* Posts two more. */
static void fork_two(thrum_task *self, void *arg) {
    (void)arg;
    whole_count(self, NULL);
    whole_post(sched, 1, whole_count, NULL);
    whole_post(sched, 2, whole_count, NULL);
}

/* Neither begun work is missed nor work that it begins; then the same again, and for done. */
SIM_WORLD(quiesce_fork, .asleep = whole_asleep) {
    begin_bare(2);
    whole_post(sched, 0, fork_two, NULL);
    wait_idle();
    whole_ran_once(0, 3);
    whole_post(sched, 3, whole_count, NULL);
    sim_check(thrum_sched_wait_done(sched, THRUM_FOREVER) == 0);
    whole_ran_once(0, 4);
    whole_stop(sched);
}

/* Each end lets another task begin, here or there. */
SIM_WORLD(quiesce_chain, .asleep = whole_asleep) {
    begin_bare(2);
    whole_post(sched, 0, chain, (void *)3);
    wait_idle();
    whole_ran_once(0, 3);
    whole_stop(sched);
}

/* The links of the chain are tied to the workers in turn. */
static void pinned_chain(thrum_task *self, void *arg) {
    unsigned i = whole_number(self);
    whole_ran[i]++;
    if (i < 3) {
        thrum_task_init(&whole_tasks[i + 1], pinned_chain, arg);
        thrum_task_set_worker(&whole_tasks[i + 1], (int)(i + 1) % 2);
        sim_check(thrum_task_post(sched, &whole_tasks[i + 1]) == 0);
    }
}

SIM_WORLD(quiesce_pinned_chain, .asleep = whole_asleep) {
    begin_bare(2);
    whole_post(sched, 0, pinned_chain, NULL);
    wait_idle();
    whole_ran_once(0, 4);
    whole_stop(sched);
}

/* ---- more waiters, more posters ---- */

static void post_and_wait(void *arg) {
    unsigned i = *(const unsigned *)arg;
    whole_post(sched, i, whole_count, NULL);
    wait_idle();
    whole_ran_once(i, i + 1);
}

static const unsigned numbers[] = {0, 1, 2, 3, 4, 5, 6, 7};

/* Two waiters: each sees its own posts, and neither holds up the other. */
SIM_WORLD(quiesce_two_waiters, .asleep = whole_asleep) {
    begin_bare(2);
    int t = sim_spawn(post_and_wait, (void *)(uintptr_t)&numbers[1]);
    post_and_wait((void *)(uintptr_t)&numbers[0]);
    sim_join(t);
    whole_stop(sched);
}

static uint32_t xposted;

static void post_and_tell(void *arg) {
    unsigned i = *(const unsigned *)arg;
    whole_post(sched, i, whole_count, NULL);
    th_store_release(&xposted, 1u);
}

/*
 * Another thread posts and ends: its count moves from its record to `retired`, and is in neither
 * sum or in one (external threads and the lock).
 */
SIM_WORLD(quiesce_poster_ends, .asleep = whole_asleep) {
    begin_bare(1);
    int t = sim_spawn(post_and_tell, (void *)(uintptr_t)&numbers[1]);
    whole_post(sched, 0, whole_count, NULL);
    bool told = th_load_acquire(&xposted) != 0;
    wait_idle();
    whole_ran_once(0, 1);
    if (told) {
        whole_ran_once(1, 2);
    }
    sim_join(t);
    wait_idle();
    whole_ran_once(0, 2);
    whole_stop(sched);
}

/* Two such threads at once. */
SIM_WORLD(quiesce_posters_end, .asleep = whole_asleep) {
    begin_bare(2);
    int a = sim_spawn(post_and_tell, (void *)(uintptr_t)&numbers[0]);
    int b = sim_spawn(post_and_wait, (void *)(uintptr_t)&numbers[1]);
    wait_idle();
    sim_join(a);
    wait_idle();
    whole_ran_once(0, 1);
    sim_join(b);
    whole_ran_once(0, 2);
    whole_stop(sched);
}

/* ---- deadlines ---- */

static void hold(thrum_task *self, void *arg) {
    (void)arg;
    whole_count(self, NULL);
    whole_pass(&gate);
}

/* While a task runs it is not idle: only the deadline ends the wait. */
SIM_WORLD(quiesce_timeout, .asleep = whole_asleep_shared) {
    begin_bare(2);
    whole_post(sched, 0, hold, NULL);
    sim_check(thrum_sched_wait_idle(sched, thrum_after(500)) == -ETIMEDOUT);
    whole_open(&gate);
    int result = thrum_sched_wait_done(sched, thrum_after_us(200));
    sim_check(result == 0 || result == -ETIMEDOUT);
    if (result == 0) {
        whole_ran_once(0, 1);
    }
    whole_stop(sched);
    whole_ran_once(0, 1);
}

/* ---- bodies that have begun ---- */

static uint32_t xfirst, xsecond;

/* Ends when the second one has begun. */
static void begins_first(thrum_task *self, void *arg) {
    th_store_release(&xfirst, 1u);       /* pairs: quiesce_any_body; its begin */
    while (!th_load_acquire(&xsecond)) { /* pairs: begins_second; its begin */
        th_os_relax();
    }
    whole_count(self, arg);
}

static void begins_second(thrum_task *self, void *arg) {
    th_store_release(&xsecond, 1u); /* pairs: begins_first; our begin */
    hold(self, arg);
}

/* One of the two has begun and not ended at each moment when this is asked; in the end none has. */
SIM_WORLD(quiesce_any_body, .asleep = whole_asleep_shared) {
    begin_bare(2);
    whole_post(sched, 0, begins_first, NULL);
    whole_post(sched, 1, begins_second, NULL);
    crew_until(th_load_acquire(&xfirst)); /* pairs: begins_first; its begin */
    uint64_t begun;
    sim_check(th_quiesce_any_body(sched, &begun));
    sim_check(th_quiesce_any_body(sched, &begun));
    whole_open(&gate);
    wait_idle();
    sim_check(!th_quiesce_any_body(sched, &begun) && begun == 2);
    whole_ran_once(0, 2);
    whole_stop(sched);
}

/* ---- tasks that suspend ---- */

static thrum_event event;
static int before;
static int after;

static int waits(void *arg) {
    (void)arg;
    before = 1;
    sim_check(thrum_event_wait(&event) == 0);
    after = before + 1;
    return 0;
}

static void go(thrum_fn fn, void *arg) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    sim_check(thrum_go_with(&attr, fn, arg) == 0);
}

/* A blocked fiber is idle, and not done; woken from an external thread it is both in the end. */
SIM_WORLD(quiesce_suspended, .heavy = true, .asleep = whole_asleep) {
    thrum_config config = whole_config(2);
    sched = whole_start(&config);
    thrum_event_init(&event, THRUM_EVENT_MANUAL, false);
    go(waits, NULL);
    wait_idle();
    sim_check(before == 1 && after == 0);
    sim_check(thrum_sched_wait_done(sched, thrum_after(100)) == -ETIMEDOUT);
    thrum_event_signal(&event);
    sim_check(thrum_sched_wait_done(sched, THRUM_FOREVER) == 0);
    sim_check(after == 2);
    whole_stop(sched);
}

/* A fiber is woken by a task: the run that wakes it counts before its end. */
static int wakes(void *arg) {
    (void)arg;
    thrum_event_signal(&event);
    return 0;
}

SIM_WORLD(quiesce_woken, .heavy = true, .asleep = whole_asleep) {
    thrum_config config = whole_config(2);
    sched = whole_start(&config);
    thrum_event_init(&event, THRUM_EVENT_MANUAL, false);
    go(waits, NULL);
    go(wakes, NULL);
    wait_idle();
    sim_check(after == 2);
    whole_stop(sched);
}

/* Yields are begins and ends as well. */
static int yields(void *arg) {
    unsigned *count = arg;
    ++*count;
    thrum_yield();
    ++*count;
    thrum_yield();
    ++*count;
    return 0;
}

SIM_WORLD(quiesce_yields, .heavy = true, .asleep = whole_asleep) {
    thrum_config config = whole_config(2);
    sched = whole_start(&config);
    go(yields, &whole_ran[0]);
    go(yields, &whole_ran[1]);
    wait_idle();
    sim_check(whole_ran[0] == 3 && whole_ran[1] == 3);
    whole_stop(sched);
}

/* ---- a task waits for another scheduler ---- */

static thrum_sched *other;

static int waits_for_other(void *arg) {
    int *result = arg;
    whole_post(other, 0, whole_count, NULL);
    *result = thrum_sched_wait_idle(other, THRUM_FOREVER);
    if (*result == 0) {
        whole_ran_once(0, 1);
    }
    return 0;
}

/* A thread waits in the fiber's place; it may be refused. */
SIM_WORLD(quiesce_from_task, .heavy = true, .asleep = whole_asleep, .refusals = 1) {
    thrum_config config = whole_config(1);
    other = whole_start_bare(&config);
    sched = whole_start(&config);
    int result = 1;
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    int started = thrum_go_with(&attr, waits_for_other, &result);
    sim_check(started == 0 || started == -ENOMEM);
    whole_stop(sched);
    sim_check(started || result == 0 || result == -EAGAIN || result == -ENOMEM);
    whole_stop(other);
}
