/*
 * pinned.c: work that is tied to a worker: tasks and fibers, from everywhere, on both policies;
 * their order, and that pinned and other work give way to each other.
 */
#include "base/atomic.h"
#include "platform/platform.h"
#include "whole.h"

static thrum_sched *sched;

static thrum_config any_policy(unsigned workers) {
    thrum_config config = whole_config(workers);
    config.policy = sim_pick(2) ? THRUM_GLOBAL : THRUM_SHARDED;
    config.global_interval = sim_pick(2) ? 61 : 2;
    return config;
}

/* ---- tasks ---- */

static unsigned order[2][WHOLE_TASKS];
static unsigned count[2];

/* Each worker's own, plain: two workers on one list would race. */
static void on_worker(thrum_task *self, void *arg) {
    int worker = (int)(uintptr_t)arg;
    sim_check(thrum_worker_id() == worker);
    order[worker][count[worker]++] = whole_number(self);
    whole_count(self, NULL);
}

static void post_to(unsigned i, int worker, thrum_hint hint) {
    thrum_task_init(&whole_tasks[i], on_worker, (void *)(uintptr_t)worker);
    thrum_task_set_worker(&whole_tasks[i], worker);
    sim_check(thrum_task_post_hint(sched, &whole_tasks[i], hint) == 0);
}

static void posts_to_both(thrum_task *self, void *arg) {
    (void)arg;
    whole_count(self, NULL);
    for (unsigned i = 1; i < 5; i++) {
        post_to(i, (int)i % 2, THRUM_HINT_NONE);
    }
}

static void in_order(void) {
    for (unsigned w = 0; w < 2; w++) {
        for (unsigned i = 1; i < count[w]; i++) {
            sim_check(order[w][i - 1] < order[w][i]);
        }
    }
}

/* One poster's tasks for a worker begin there in its order. */
SIM_WORLD(pinned_order, .asleep = whole_asleep) {
    thrum_config config = any_policy(2);
    sched = whole_start_bare(&config);
    whole_post(sched, 0, posts_to_both, NULL);
    whole_stop(sched);
    whole_ran_once(0, 5);
    in_order();
}

static void posts_from_external_threads(void *arg) {
    (void)arg;
    for (unsigned i = 5; i < 8; i++) {
        post_to(i, 0, THRUM_HINT_NONE);
    }
}

/* Two posters share one inbox. */
SIM_WORLD(pinned_two_posters, .asleep = whole_asleep) {
    thrum_config config = any_policy(2);
    sched = whole_start_bare(&config);
    int t = sim_spawn(posts_from_external_threads, NULL);
    whole_post(sched, 0, posts_to_both, NULL);
    sim_join(t);
    whole_stop(sched);
    whole_ran_once(0, 8);
}

static void posts_hinted(thrum_task *self, void *arg) {
    (void)arg;
    whole_count(self, NULL);
    for (unsigned i = 1; i < 5; i++) {
        post_to(i, (int)sim_pick(2), (thrum_hint)sim_pick(3));
    }
    whole_post(sched, 5, whole_count, NULL);
}

/* Hints of pinned work, with unpinned work behind it. */
SIM_WORLD(pinned_hints, .asleep = whole_asleep) {
    thrum_config config = any_policy(2);
    sched = whole_start_bare(&config);
    whole_post(sched, 0, posts_hinted, NULL);
    whole_stop(sched);
    whole_ran_once(0, 6);
}

static void posts_mixed_batch(thrum_task *self, void *arg) {
    (void)arg;
    whole_count(self, NULL);
    thrum_task *list[4];
    for (unsigned i = 0; i < 4; i++) {
        list[i] = &whole_tasks[i + 1];
        thrum_task_init(list[i], i < 2 ? on_worker : whole_count, (void *)(uintptr_t)i);
        thrum_task_set_worker(list[i], i < 2 ? (int)i : -1);
    }
    sim_check(thrum_task_post_batch(sched, list, 4) == 0);
}

/* A batch with both kinds. */
SIM_WORLD(pinned_batch, .asleep = whole_asleep) {
    thrum_config config = any_policy(2);
    sched = whole_start_bare(&config);
    whole_post(sched, 0, posts_mixed_batch, NULL);
    whole_stop(sched);
    whole_ran_once(0, 5);
}

/* A task posts itself: it runs more often in a row than PINNED_LIMIT lets go first. */
static void again(thrum_task *self, void *arg) {
    unsigned i = whole_number(self);
    sim_check(!arg || thrum_worker_id() == 0);
    if (++whole_ran[i] < 4) {
        sim_check(thrum_task_post(sched, self) == 0);
    }
}

SIM_WORLD(pinned_again, .asleep = whole_asleep) {
    thrum_config config = any_policy(2);
    sched = whole_start_bare(&config);
    thrum_task_init(&whole_tasks[0], again, sched);
    thrum_task_set_worker(&whole_tasks[0], 0);
    sim_check(thrum_task_post(sched, &whole_tasks[0]) == 0);
    whole_post(sched, 1, again, NULL);
    whole_stop(sched);
    sim_check(whole_ran[0] == 4 && whole_ran[1] == 4);
}

/* ---- fibers ---- */

static thrum_event event;
static unsigned turns[4];
static uint32_t xstop;

static void go_pinned(int worker, thrum_fn fn, void *arg) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    attr.flags = worker < 0 ? 0 : THRUM_PINNED;
    attr.worker = worker;
    sim_check(thrum_go_with(&attr, fn, arg) == 0);
}

/* A fiber stays where it is, for any kind of wait. */
static int stays(void *arg) {
    int worker = (int)(uintptr_t)arg;
    sim_check(thrum_worker_id() == worker);
    turns[worker]++;
    thrum_yield();
    sim_check(thrum_worker_id() == worker);
    sim_check(thrum_event_wait(&event) == 0);
    sim_check(thrum_worker_id() == worker);
    turns[worker]++;
    return 0;
}

static int signals(void *arg) {
    (void)arg;
    thrum_event_signal(&event);
    return 0;
}

/* It is woken from the other worker, from an external thread, or by itself: a wake to an inbox. */
SIM_WORLD(pinned_fibers, .heavy = true, .asleep = whole_asleep) {
    thrum_config config = any_policy(2);
    sched = whole_start(&config);
    thrum_event_init(&event, THRUM_EVENT_MANUAL, false);
    go_pinned(0, stays, (void *)0);
    go_pinned(1, stays, (void *)1);
    if (sim_pick(2)) {
        go_pinned(-1, signals, NULL);
    } else {
        thrum_event_signal(&event);
    }
    whole_stop(sched);
    sim_check(turns[0] == 2 && turns[1] == 2);
}

/* Posts to worker 0 from the worker that it is on just then. */
static int wanders(void *arg) {
    (void)arg;
    for (unsigned i = 0; i < 4; i++) {
        post_to(i, 0, THRUM_HINT_NONE);
        thrum_yield();
    }
    return 0;
}

static int gives_way(void *arg) {
    (void)arg;
    thrum_yield();
    thrum_yield();
    return 0;
}

/* A fiber that moves to the worker for which it posted does not overtake the work in its inbox. */
SIM_WORLD(pinned_inbox_order, .heavy = true, .asleep = whole_asleep) {
    thrum_config config = any_policy(2);
    sched = whole_start(&config);
    go_pinned(-1, gives_way, NULL);
    go_pinned(-1, gives_way, NULL);
    go_pinned(-1, wanders, NULL);
    whole_stop(sched);
    whole_ran_once(0, 4);
    in_order();
}

/* Fibers stay where they first ran, and run only there. */
static int stays_anywhere(void *arg) {
    unsigned *turn = arg;
    int worker = thrum_worker_id();
    ++*turn;
    thrum_yield();
    sim_check(thrum_worker_id() == worker);
    ++*turn;
    sim_check(thrum_event_wait(&event) == 0);
    sim_check(thrum_worker_id() == worker);
    ++*turn;
    return 0;
}

SIM_WORLD(pinned_all, .heavy = true, .asleep = whole_asleep) {
    thrum_config config = any_policy(2);
    config.pin_all = true;
    sched = whole_start(&config);
    thrum_event_init(&event, THRUM_EVENT_MANUAL, false);
    go_pinned(-1, stays_anywhere, &turns[0]);
    go_pinned(-1, stays_anywhere, &turns[1]);
    go_pinned(-1, signals, NULL);
    whole_stop(sched);
    sim_check(turns[0] == 3 && turns[1] == 3);
}

/* ---- giving way ---- */

/* Polls by yielding until the other fibers have had their turn. */
static int polls(void *arg) {
    unsigned *turn = arg;
    /* relaxed: it orders nothing */
    while (!th_load_relaxed(&xstop)) {
        ++*turn;
        th_os_relax(); /* on a processor of its own an external thread goes on as well */
        thrum_yield();
    }
    return 0;
}

static int third_turn_ends_it(void *arg) {
    unsigned *turn = arg;
    for (unsigned i = 0; i < 3; i++) {
        ++*turn;
        thrum_yield();
    }
    th_store_relaxed(&xstop, 1u); /* relaxed: it orders nothing */
    return 0;
}

/* On one worker a pinned fiber gets its turns beside two that poll, and the other way round. */
SIM_WORLD(pinned_beside_pollers, .heavy = true) {
    thrum_config config = any_policy(1);
    sched = whole_start(&config);
    bool swap = sim_pick(2);
    go_pinned(swap ? 0 : -1, polls, &turns[0]);
    go_pinned(swap ? 0 : -1, polls, &turns[1]);
    go_pinned(swap ? -1 : 0, third_turn_ends_it, &turns[2]);
    whole_stop(sched);
    sim_check(turns[2] == 3);
}

/* A task that is posted from an external thread comes to run beside fibers that poll. */
static void ends_it(thrum_task *self, void *arg) {
    (void)arg;
    whole_count(self, NULL);
    th_store_relaxed(&xstop, 1u); /* relaxed: it orders nothing */
}

SIM_WORLD(pinned_pollers_and_posts, .heavy = true) {
    thrum_config config = any_policy(1);
    sched = whole_start(&config);
    go_pinned(0, polls, &turns[0]);
    go_pinned(-1, polls, &turns[1]);
    whole_post(sched, 0, ends_it, NULL);
    whole_stop(sched);
    whole_ran_once(0, 1);
}
