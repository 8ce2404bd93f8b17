/*
 * pinned_ready.c: fibers that are tied to a worker and become ready, while tasks that are tied to
 * it wait to begin: the fibers come first, whoever wakes them, and neither is slept over.
 */
#include <errno.h>
#include <thrum/event.h>

#include "base/atomic.h"
#include "platform/platform.h"
#include "whole.h"

static thrum_sched *sched;
static thrum_event event;
static whole_gate gate;
static thrum_time until;
static unsigned gone_on; /* plain, like the next: worker 0 runs what changes them */
static unsigned begun;
static uint32_t xwoken;

static thrum_config any_policy(unsigned workers) {
    thrum_config config = whole_config(workers);
    config.policy = (thrum_policy)sim_pick(3);
    return config;
}

static void begin(const thrum_config *config) {
    sched = whole_start(config);
    thrum_event_init(&event, THRUM_EVENT_MANUAL, false);
}

static void go_pinned(thrum_fn fn) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    attr.flags = THRUM_PINNED;
    attr.worker = 0;
    sim_check(thrum_go_with(&attr, fn, NULL) == 0);
}

static void post_pinned(unsigned i, thrum_task_fn fn) {
    thrum_task_init(&whole_tasks[i], fn, NULL);
    thrum_task_set_worker(&whole_tasks[i], 0);
    sim_check(thrum_task_post(sched, &whole_tasks[i]) == 0);
}

static int waits(void *arg) {
    (void)arg;
    int code = thrum_event_wait_until(&event, until);
    sim_check(code == 0 || code == -ETIMEDOUT);
    gone_on++;
    return 0;
}

static void begins(thrum_task *self, void *arg) {
    (void)arg;
    begun++;
    whole_count(self, NULL);
}

static void begins_last(thrum_task *self, void *arg) {
    sim_check(gone_on == 1);
    begins(self, arg);
}

/* Keeps worker 0. */
static void holds(thrum_task *self, void *arg) {
    (void)arg;
    whole_pass(&gate);
    /* pairs: wakes; what it has done is known here */
    while (!th_load_acquire(&xwoken)) {
        th_os_relax();
    }
    whole_count(self, NULL);
}

static void wakes(void) {
    thrum_event_signal(&event);
    th_store_release(&xwoken, 1u); /* pairs: holds; publishes the wake */
    whole_open(&gate);
}

static void wakes_there(thrum_task *self, void *arg) {
    (void)arg;
    wakes();
    whole_count(self, NULL);
}

/*
 * While worker 0 is held up, two tasks are queued there, and then its fiber is woken: by a thread,
 * or by a task of the other worker.
 */
SIM_WORLD(pinned_ready_first, .heavy = true, .asleep = whole_asleep_shared) {
    thrum_config config = any_policy(2);
    until = THRUM_FOREVER;
    begin(&config);
    go_pinned(waits);
    sim_check(thrum_sched_wait_idle(sched, THRUM_FOREVER) == 0);
    post_pinned(0, holds);
    post_pinned(1, begins_last);
    post_pinned(2, begins_last);
    if (sim_pick(2)) {
        wakes();
        whole_stop(sched);
        whole_ran_once(0, 3);
    } else {
        thrum_task_init(&whole_tasks[3], wakes_there, NULL);
        thrum_task_set_worker(&whole_tasks[3], 1);
        sim_check(thrum_task_post(sched, &whole_tasks[3]) == 0);
        whole_stop(sched);
        whole_ran_once(0, 4);
    }
    sim_check(gone_on == 1 && begun == 2);
}

static void posts_two(void *arg) {
    (void)arg;
    post_pinned(0, begins);
    post_pinned(1, begins);
}

/*
 * A thread posts while the fiber is woken, or its deadline passes, and its worker parks; then a
 * stop.
 */
SIM_WORLD(pinned_ready_parks, .heavy = true, .asleep = whole_asleep) {
    thrum_config config = any_policy(2);
    begin(&config);
    until = sim_pick(2) ? thrum_now() + 1000 : THRUM_FOREVER;
    go_pinned(waits);
    int t = sim_spawn(posts_two, NULL);
    thrum_event_signal(&event);
    sim_join(t);
    whole_stop(sched);
    whole_ran_once(0, 2);
    sim_check(gone_on == 1 && begun == 2);
}

/* ---- neither starves ---- */

static thrum_sem turns[2];
static uint32_t xstop;

/* Two such fibers wake each other, so that one of them is ready at each pick. */
static int plays(void *arg) {
    unsigned me = (unsigned)(uintptr_t)arg;
    /* relaxed: it orders nothing */
    while (!th_load_relaxed(&xstop)) {
        th_os_relax(); /* on a processor of its own an external thread goes on as well */
        thrum_sem_post(&turns[1 - me]);
        sim_check(thrum_sem_wait(&turns[me]) == 0);
    }
    thrum_sem_post(&turns[1 - me]);
    return 0;
}

static void stops(thrum_task *self, void *arg) {
    th_store_relaxed(&xstop, 1u); /* relaxed: it orders nothing */
    begins(self, arg);
}

static void play(unsigned flags) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    attr.flags = flags;
    attr.worker = 0;
    thrum_sem_init(&turns[0], 0);
    thrum_sem_init(&turns[1], 0);
    for (uintptr_t i = 0; i < 2; i++) {
        sim_check(thrum_go_with(&attr, plays, (void *)i) == 0);
    }
}

/* The task that ends the game is tied to the worker; the fibers are, or only stay there. */
SIM_WORLD(pinned_ready_gives_way, .heavy = true) {
    thrum_config config = any_policy(1);
    config.global_interval = 1 + sim_pick(4);
    begin(&config);
    play(sim_pick(2) ? THRUM_PINNED : 0);
    post_pinned(0, stops);
    whole_stop(sched);
    whole_ran_once(0, 1);
}
