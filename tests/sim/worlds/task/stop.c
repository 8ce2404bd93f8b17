/*
 * stop.c: starting, stopping, and threads that come in between (core/control/STOP.md).
 */
#include "base/atomic.h"
#include "core/ready/external.h"
#include "core/state/handle.h"
#include "core/state/worker.h"
#include "platform/platform.h"
#include "whole.h"

static thrum_sched *sched;
static whole_gate gate;
static thrum_event event;
static int results[WHOLE_TASKS];

static void begin_bare(unsigned workers) {
    thrum_config config = whole_config(workers);
    sched = whole_start_bare(&config);
}

static void begin(unsigned workers) {
    thrum_config config = whole_config(workers);
    sched = whole_start(&config);
}

/* D7: workers that are about to park for the first time, against exit. */
SIM_WORLD(stop_at_once_bare_1, .asleep = whole_asleep) {
    begin_bare(1);
    whole_stop(sched);
}

SIM_WORLD(stop_at_once_bare, .asleep = whole_asleep) {
    begin_bare(2);
    whole_stop(sched);
}

SIM_WORLD(stop_at_once, .heavy = true, .asleep = whole_asleep) {
    begin(2);
    whole_stop(sched);
}

/* ---- tasks that begin others meanwhile ---- */

static void chain(thrum_task *self, void *arg) {
    unsigned i = whole_number(self);
    whole_ran[i]++;
    if (i < 3) {
        whole_post(sched, i + 1, chain, arg);
    }
}

/* Posts by tasks while a stop is on are accepted, and waited for. */
SIM_WORLD(stop_drains, .asleep = whole_asleep) {
    begin_bare(2);
    whole_post(sched, 0, chain, NULL);
    whole_stop(sched);
    whole_ran_once(0, 4);
}

/* A body posts its own task: it is counted at the post, and queued at its end. */
static void again(thrum_task *self, void *arg) {
    (void)arg;
    if (++whole_ran[whole_number(self)] < 3) {
        sim_check(thrum_task_post(sched, self) == 0);
    }
}

SIM_WORLD(stop_self_post, .asleep = whole_asleep) {
    begin_bare(2);
    whole_post(sched, 0, again, NULL);
    whole_stop(sched);
    sim_check(whole_ran[0] == 3);
}

/* ---- external threads ---- */

/* Posts two tasks, each of which is accepted or refused. */
static void posts(void *arg) {
    unsigned first = *(const unsigned *)arg;
    for (unsigned i = first; i < first + 2; i++) {
        thrum_task_init(&whole_tasks[i], whole_count, NULL);
        results[i] = thrum_task_post(sched, &whole_tasks[i]);
    }
}

static void ran_if_accepted(unsigned from, unsigned to) {
    for (unsigned i = from; i < to; i++) {
        sim_check(results[i] == 0 || results[i] == -ESHUTDOWN);
        sim_check(whole_ran[i] == (results[i] == 0));
    }
}

static const unsigned numbers[] = {0, 1, 2, 3, 4, 5, 6, 7};

/*
 * Enter and leave: an external thread's post beside a stop is refused, or runs; nothing is freed
 * before the external thread has left, and a later one finds that the scheduler is gone.
 */
SIM_WORLD(stop_external, .asleep = whole_asleep) {
    begin_bare(1);
    int t = sim_spawn(posts, (void *)(uintptr_t)&numbers[0]);
    whole_stop(sched);
    sim_join(t);
    ran_if_accepted(0, 2);
}

SIM_WORLD(stop_two_externals, .asleep = whole_asleep) {
    begin_bare(2);
    int a = sim_spawn(posts, (void *)(uintptr_t)&numbers[0]);
    int b = sim_spawn(posts, (void *)(uintptr_t)&numbers[2]);
    whole_stop(sched);
    sim_join(a);
    sim_join(b);
    ran_if_accepted(0, 4);
}

/* The record is there before: only `inside` and the flags decide. */
static void posts_three(void *arg) {
    whole_post(sched, 2, whole_count, NULL);
    whole_open(&gate);
    posts(arg);
}

SIM_WORLD(stop_known_external, .asleep = whole_asleep_shared) {
    begin_bare(1);
    int t = sim_spawn(posts_three, (void *)(uintptr_t)&numbers[0]);
    whole_pass(&gate);
    whole_stop(sched);
    sim_join(t);
    ran_if_accepted(0, 2);
}

/* A batch is posted, all or none, and a task for a worker that does not exist. */
static void posts_batch(void *arg) {
    (void)arg;
    thrum_task *list[2] = {&whole_tasks[0], &whole_tasks[1]};
    thrum_task_init(list[0], whole_count, NULL);
    thrum_task_init(list[1], whole_count, NULL);
    results[0] = results[1] = thrum_task_post_batch(sched, list, 2);
    thrum_task_set_worker(&whole_tasks[2], 1);
    thrum_task_init(&whole_tasks[2], whole_count, NULL);
    thrum_task_set_worker(&whole_tasks[2], 1);
    int result = thrum_task_post(sched, &whole_tasks[2]);
    sim_check(result == -EINVAL || result == -ESHUTDOWN);
}

SIM_WORLD(stop_batch, .asleep = whole_asleep) {
    begin_bare(1);
    int t = sim_spawn(posts_batch, NULL);
    whole_stop(sched);
    sim_join(t);
    ran_if_accepted(0, 2);
}

/* Without memory for records external threads share one, and take turns. */
SIM_WORLD(stop_no_records, .asleep = whole_asleep, .refusals = 2) {
    thrum_config config = whole_config(1);
    sched = whole_start_bare(&config);
    int t = sim_spawn(posts, (void *)(uintptr_t)&numbers[0]);
    posts((void *)(uintptr_t)&numbers[2]);
    whole_stop(sched);
    sim_join(t);
    sim_check(results[2] == 0 && results[3] == 0);
    ran_if_accepted(0, 4);
}

/* ---- waits beside a stop ---- */

static uint32_t xdone;

static void waits_idle(void *arg) {
    thrum_time deadline = *(const thrum_time *)arg;
    int result = thrum_sched_wait_idle(sched, deadline);
    sim_check(result == 0 || (result == -ETIMEDOUT && deadline != THRUM_FOREVER));
    th_store_relaxed(&xdone, 1u); /* relaxed: it orders nothing */
}

static void stop_beside(unsigned workers, thrum_time deadline) {
    begin_bare(workers);
    whole_post(sched, 0, chain, NULL);
    int t = sim_spawn(waits_idle, &deadline);
    /* relaxed: only that it was called in time, which is the user's duty */
    while (!th_load_relaxed(&sched->xquiesce_waiters) && !th_load_relaxed(&xdone)) {
        thrum_yield();
    }
    whole_stop(sched);
    sim_join(t);
    whole_ran_once(0, 4);
}

/* Stop frees only after the waiter has left the list, and the counter. */
SIM_WORLD(stop_beside_wait, .asleep = whole_asleep) {
    stop_beside(1, THRUM_FOREVER);
}

SIM_WORLD(stop_beside_wait_2, .asleep = whole_asleep) {
    stop_beside(2, THRUM_FOREVER);
}

SIM_WORLD(stop_beside_timed_wait, .asleep = whole_asleep) {
    stop_beside(1, thrum_after(300));
}

static uint32_t xrefused; /* the user's order: the second stop was called before the first ended */

static void hold(thrum_task *self, void *arg) {
    (void)arg;
    whole_count(self, NULL);
    whole_pass(&gate);
    while (!th_load_acquire(&xrefused)) {
        th_os_relax();
    }
}

static void stops_too(void *arg) {
    (void)arg;
    /* relaxed: only that the other one has begun */
    while (!th_load_relaxed(&sched->xstopping)) {
        thrum_yield();
    }
    sim_check(thrum_sched_stop(sched) == -EBUSY);
    th_store_release(&xrefused, 1u);
    whole_open(&gate);
}

/* The second stop is refused. */
SIM_WORLD(stop_twice, .asleep = whole_asleep_shared) {
    begin_bare(1);
    whole_post(sched, 0, hold, NULL);
    int t = sim_spawn(stops_too, NULL);
    whole_stop(sched);
    sim_join(t);
    whole_ran_once(0, 1);
}

/* ---- fibers ---- */

static int seen;
static int told;

static int waits(void *arg) {
    (void)arg;
    sim_check(thrum_event_wait(&event) == 0);
    seen = told;
    return 0;
}

static void signals(void *arg) {
    (void)arg;
    told = 1;
    thrum_event_signal(&event);
}

static void go(thrum_fn fn, void *arg) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    sim_check(thrum_go_with(&attr, fn, arg) == 0);
}

/* Wakes go through while it stops; the waker of the last fiber may still be leaving. */
SIM_WORLD(stop_waker, .heavy = true, .asleep = whole_asleep) {
    begin(1);
    thrum_event_init(&event, THRUM_EVENT_MANUAL, false);
    go(waits, NULL);
    int t = sim_spawn(signals, NULL);
    whole_stop(sched);
    sim_check(seen == 1);
    sim_join(t);
}

/* Two fibers and two wakers, each with a record of its own or without one. */
static thrum_sem sem;

static int waits_sem(void *arg) {
    (void)arg;
    return thrum_sem_wait(&sem);
}

static void posts_sem(void *arg) {
    (void)arg;
    thrum_sem_post(&sem);
}

SIM_WORLD(stop_two_wakers, .heavy = true, .asleep = whole_asleep) {
    begin(2);
    thrum_sem_init(&sem, 0);
    go(waits_sem, NULL);
    go(waits_sem, NULL);
    int a = sim_spawn(posts_sem, NULL);
    int b = sim_spawn(posts_sem, NULL);
    whole_stop(sched);
    sim_join(a);
    sim_join(b);
}

static int seven(void *arg) {
    *(int *)arg = 7;
    return 7;
}

/* A handle may be joined when its scheduler is gone, or while it goes. */
static void joins(void *arg) {
    int result = 0;
    sim_check(thrum_join(arg, &result) == 0);
    sim_check(result == 7 && seen == 7);
}

SIM_WORLD(stop_handle_stays, .heavy = true, .asleep = whole_asleep) {
    begin(1);
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    thrum_handle *handle;
    sim_check(thrum_spawn_with(&handle, &attr, seven, &seen) == 0);
    int t = sim_spawn(joins, handle);
    whole_stop(sched);
    sim_join(t);
}

/* Takes task objects, and gives them back beside a stop: to its own record, whose objects the stop
 * flushes, or to the slab, which the last of them frees. */
static void keeps_objects(void *arg) {
    (void)arg;
    void *objects[3];
    th_external *record = th_external_enter(sched, true);
    sim_check(record);
    th_slab *slab = sched->spawn_slab;
    for (unsigned i = 0; i < 3; i++) {
        objects[i] = th_external_take_object(sched, record);
        sim_check(objects[i]);
    }
    th_external_leave(sched, record);
    whole_open(&gate);
    for (unsigned i = 0; i < 3; i++) {
        th_external_put_object(slab, objects[i]);
    }
}

SIM_WORLD(stop_objects, .asleep = whole_asleep_shared) {
    thrum_config config = whole_config(1);
    sched = whole_start_bare(&config);
    sched->spawn_slab =
        th_slab_new(sizeof(thrum_handle), sched->config.alloc, sched->config.free, NULL);
    sim_check(sched->spawn_slab);
    int t = sim_spawn(keeps_objects, NULL);
    whole_pass(&gate);
    whole_stop(sched);
    sim_join(t);
}

static int entry(void *arg) {
    for (unsigned i = 0; i < 2; i++) {
        sim_check(thrum_go(seven, (int *)arg + i) == 0);
    }
    return 3;
}

/* thrum_run starts, runs the entry and stops in one call. */
SIM_WORLD(stop_run, .heavy = true) {
    thrum_config config = whole_config(2);
    sim_check(thrum_run(&config, entry, results) == 3);
    sim_check(results[0] == 7 && results[1] == 7);
}

/* ---- order by stopping ---- */

static int written; /* plain */

static void writes(thrum_task *self, void *arg) {
    (void)arg;
    whole_count(self, NULL);
    written = 7;
}

static void reads(void *ctx, int worker) {
    (void)ctx;
    (void)worker;
    sim_check(written == 7);
}

static void begin_with_hook(unsigned workers) {
    thrum_config config = whole_config(workers);
    config.worker_stop = reads;
    sched = whole_start(&config);
}

/* The workers' last hook comes after the stop caller's earlier writes. */
SIM_WORLD(stop_hook, .heavy = true) {
    begin_with_hook(1);
    written = 7;
    whole_stop(sched);
}

/* It also comes after all tasks, those of other workers too. */
SIM_WORLD(stop_hook_after_tasks, .heavy = true) {
    begin_with_hook(2);
    whole_post(sched, 0, writes, NULL);
    whole_stop(sched);
}

static void posts_until_refused(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 3; i++) {
        thrum_task_init(&whole_tasks[i], whole_count, NULL);
        if (thrum_task_post(sched, &whole_tasks[i]) == -ESHUTDOWN) {
            sim_check(written == 7);
            return;
        }
    }
}

/* A refused thread may read writes from before the stop: mostly the reason. */
SIM_WORLD(stop_refusal_tells) {
    begin_bare(1);
    int t = sim_spawn(posts_until_refused, NULL);
    written = 7;
    whole_stop(sched);
    sim_join(t);
}

/* ---- a task stops another scheduler ---- */

static thrum_sched *other;

static int stops_other(void *arg) {
    (void)arg;
    results[0] = thrum_sched_stop(other);
    sim_check(thrum_sched_stop(thrum_sched_current()) == -EDEADLK);
    return 0;
}

/* If no thread can be had to wait in its place, the other one goes on as before. */
SIM_WORLD(stop_from_task, .heavy = true, .refusals = 1) {
    thrum_config config = whole_config(1);
    other = whole_start_bare(&config);
    sched = whole_start(&config);
    whole_post(other, 0, whole_count, NULL);
    results[0] = 1;
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    int started = thrum_go_with(&attr, stops_other, NULL);
    sim_check(started == 0 || started == -ENOMEM);
    whole_stop(sched);
    sim_check(started || results[0] == 0 || results[0] == -EAGAIN || results[0] == -ENOMEM);
    if (results[0] != 0) {
        whole_post(other, 1, whole_count, NULL);
        whole_stop(other);
        whole_ran_once(1, 2);
    }
    whole_ran_once(0, 1);
}
