/*
 * priority.c: work of high and of low priority. None is slept over, each runs once, a high task is
 * taken before what was queued earlier, and no priority keeps another waiting for ever.
 */
#include <errno.h>
#include <thrum/event.h>

#include "base/atomic.h"
#include "platform/platform.h"
#include "whole.h"

static thrum_sched *sched;
static whole_gate gate;
static unsigned order; /* plain, like the next: worker 0 runs what changes them */
static uint32_t xstop;

static unsigned level_of(unsigned i) {
    return i == 0 ? THRUM_HIGH : i == 1 ? THRUM_NORMAL : THRUM_LOW;
}

static thrum_config any_policy(unsigned workers) {
    thrum_config config = whole_config(workers);
    config.policy = (thrum_policy)sim_pick(3);
    return config;
}

static void post(unsigned i, thrum_task_fn fn, unsigned level, int worker) {
    thrum_task_init(&whole_tasks[i], fn, NULL);
    sim_check(thrum_task_set_priority(&whole_tasks[i], level) == 0);
    thrum_task_set_worker(&whole_tasks[i], worker);
    sim_check(thrum_task_post(sched, &whole_tasks[i]) == 0);
}

/* ---- not slept over ---- */

static void posts_two(void *arg) {
    (void)arg;
    post(0, whole_count, level_of(sim_pick(3)), -1);
    post(1, whole_count, level_of(sim_pick(3)), sim_pick(2) ? 0 : -1);
}

/* Two threads post while the workers park, or take what the other has posted. */
static void post_from_two(unsigned workers) {
    thrum_config config = any_policy(workers);
    sched = whole_start_bare(&config);
    int t = sim_spawn(posts_two, NULL);
    post(2, whole_count, level_of(sim_pick(3)), -1);
    sim_join(t);
    whole_stop(sched);
    whole_ran_once(0, 3);
}

SIM_WORLD(priority_posts_1, .asleep = whole_asleep) {
    post_from_two(1);
}

SIM_WORLD(priority_posts_2, .heavy = true, .asleep = whole_asleep) {
    post_from_two(2);
}

static void lets_go(thrum_task *self, void *arg) {
    (void)arg;
    whole_count(self, NULL);
    whole_open(&gate);
}

/* Keeps its thread until another worker has run what it posts: that one must be awake, or woken. */
static void posts_and_holds(thrum_task *self, void *arg) {
    (void)arg;
    whole_count(self, NULL);
    post(1, lets_go, sim_pick(2) ? THRUM_HIGH : THRUM_LOW, -1);
    whole_pass(&gate);
}

SIM_WORLD(priority_beside_a_long_run, .heavy = true, .asleep = whole_asleep_shared) {
    thrum_config config = any_policy(2);
    sched = whole_start_bare(&config);
    post(0, posts_and_holds, level_of(sim_pick(3)), -1);
    whole_stop(sched);
    whole_ran_once(0, 2);
}

/* A fiber of each priority waits, and is woken by a thread: it goes on, with its priority. */
static thrum_event event;

static int waits(void *arg) {
    (void)arg;
    sim_check(thrum_event_wait(&event) == 0);
    whole_ran[7]++;
    return 0;
}

static void signals(void *arg) {
    (void)arg;
    thrum_event_signal(&event);
}

SIM_WORLD(priority_woken, .heavy = true, .asleep = whole_asleep) {
    thrum_config config = any_policy(1);
    thrum_attr attr = THRUM_ATTR_INIT;
    sched = whole_start(&config);
    thrum_event_init(&event, THRUM_EVENT_MANUAL, false);
    attr.sched = sched;
    for (unsigned i = 0; i < 2; i++) {
        attr.flags = level_of(sim_pick(3)) | (sim_pick(2) ? THRUM_PINNED : 0);
        sim_check(thrum_go_with(&attr, waits, NULL) == 0);
    }
    int t = sim_spawn(signals, NULL);
    post(0, whole_count, level_of(sim_pick(3)), -1);
    sim_join(t);
    whole_stop(sched);
    whole_ran_once(0, 1);
    sim_check(whole_ran[7] == 2);
}

/* ---- the order ---- */

static uint32_t xholds;
static uint32_t xposted;

/* Keeps the worker until all are posted, and knows then that they are. */
static void holds(thrum_task *self, void *arg) {
    (void)arg;
    th_store_relaxed(&xholds, 1u); /* relaxed: it orders nothing */
    /* pairs: priority_order; the posts */
    while (!th_load_acquire(&xposted)) {
        th_os_relax();
    }
    whole_count(self, NULL);
}

/* Task i is to be number i. */
static void in_order(thrum_task *self, void *arg) {
    (void)arg;
    sim_check(whole_number(self) == ++order);
    whole_count(self, NULL);
}

/* While the worker is held up, a thread posts low, normal and high tasks, pinned or not. */
SIM_WORLD(priority_order, .heavy = true) {
    thrum_config config = any_policy(1);
    sched = whole_start_bare(&config);
    post(0, holds, THRUM_NORMAL, -1);
    /* relaxed: it orders nothing */
    while (!th_load_relaxed(&xholds)) {
        th_os_relax();
    }
    for (unsigned i = 3; i; i--) {
        post(i, in_order, level_of(i - 1), sim_pick(2) ? 0 : -1);
    }
    th_store_release(&xposted, 1u); /* pairs: holds; publishes the posts */
    whole_stop(sched);
    whole_ran_once(0, 4);
}

/* ---- none starves ---- */

static void floods(thrum_task *self, void *arg) {
    (void)arg;
    /* relaxed: it orders nothing */
    if (!th_load_relaxed(&xstop)) {
        th_os_relax();
        sim_check(thrum_task_post(sched, self) == 0);
    }
}

static void stops(thrum_task *self, void *arg) {
    (void)arg;
    th_store_relaxed(&xstop, 1u); /* relaxed: it orders nothing */
    whole_count(self, NULL);
}

/* A task that posts itself lets one of lower priority run after a few picks. */
SIM_WORLD(priority_gives_way, .heavy = true) {
    thrum_config config = any_policy(1);
    config.high_limit = 1 + sim_pick(3);
    config.low_interval = 1 + sim_pick(3);
    sched = whole_start_bare(&config);
    const unsigned level = sim_pick(3);
    post(0, floods, level_of(level), sim_pick(2) ? 0 : -1);
    post(1, stops, level_of(sim_pick(3)), sim_pick(2) ? 0 : -1);
    whole_stop(sched);
    whole_ran_once(1, 2);
}
