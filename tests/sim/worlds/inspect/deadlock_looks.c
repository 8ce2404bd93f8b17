/*
 * deadlock_looks.c: a thread of its own looks for a deadlock, at any moment, and not the last one
 * that goes to sleep (core/watch/DEADLOCK.md, "The second look"). Plain threads are taken to sleep:
 * the simulator's system does not report their states.
 */
#include "core/watch/deadlock.h"
#include "crew.h"
#include "platform/platform.h"
#include "whole.h"

static thrum_sched *sched;
static thrum_sem sems[2];
static uint32_t xreports;
static bool may_tell; /* constant once it runs */

static void take_report(void *ctx, const char *report) {
    (void)ctx;
    sim_check(may_tell && report[0] == 't');
    th_add_relaxed(&xreports, 1u); /* relaxed: a count */
}

static void begin(unsigned workers, bool tell) {
    may_tell = tell;
    thrum_sem_init(&sems[0], 0);
    thrum_sem_init(&sems[1], 0);
    sched = whole_start_told(workers, take_report);
    th_store_relaxed(&sched->cycle_watcher.xwatched, true); /* relaxed: nobody else looks */
}

static void end(void) {
    th_store_relaxed(&sched->cycle_watcher.xwatched, false); /* relaxed: the stop joins no thread */
    whole_stop(sched);
}

static void start(thrum_fn entry) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    sim_check(thrum_go_with(&attr, entry, NULL) == 0);
}

static int answers(void *arg) {
    (void)arg;
    sim_check(thrum_sem_wait(&sems[0]) == 0);
    thrum_sem_post(&sems[1]);
    return 0;
}

static int asks(void *arg) {
    (void)arg;
    sim_check(thrum_go(answers, NULL) == 0);
    thrum_sem_post(&sems[0]);
    return thrum_sem_wait(&sems[1]);
}

static void looks_thrice(void *arg) {
    th_suspicion suspicion = {.looks = 0};
    (void)arg;
    for (int i = 0; i < 3; i++) {
        sim_check(!th_deadlock_look(sched, &suspicion)); /* not even for one look */
    }
}

/* Each wakes the other and then waits, so nothing is ever deadlocked, whenever somebody looks. */
SIM_WORLD(deadlock_quiet_looks, .heavy = true) {
    begin(1 + sim_pick(2), false);
    int looker = sim_spawn(looks_thrice, NULL);
    start(asks);
    sim_join(looker);
    end();
}

static void root_asks(void *arg) {
    (void)arg;
    sim_check(thrum_sched_bind(sched) == 0);
    start(answers);
    thrum_sem_post(&sems[0]);
    sim_check(thrum_sem_wait(&sems[1]) == 0);
    sim_check(thrum_sched_unbind() == 0);
}

/* The same with a bound thread, which may bring work. */
SIM_WORLD(deadlock_quiet_looks_root, .heavy = true) {
    begin(sim_pick(2), false);
    int looker = sim_spawn(looks_thrice, NULL);
    sim_join(sim_spawn(root_asks, NULL));
    sim_join(looker);
    end();
}

static int waits_for_ever(void *arg) {
    (void)arg;
    return thrum_sem_wait(&sems[0]);
}

static void looks_until_told(void *arg) {
    th_suspicion suspicion = {.looks = 0};
    (void)arg;
    crew_until(!th_deadlock_look(sched, &suspicion) && th_load_relaxed(&xreports));
}

/* It is reported once, by the last one: two look, each for itself. */
SIM_WORLD(deadlock_told_looks, .heavy = true) {
    void (*const parts[])(void *) = {looks_until_told, looks_until_told};
    begin(1 + sim_pick(2), true);
    start(waits_for_ever);
    sim_together(2, parts, NULL);
    sim_check(th_load_relaxed(&xreports) == 1);
    thrum_sem_post(&sems[0]);
    end();
}
