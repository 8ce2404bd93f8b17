/*
 * cycle.c: waits in a cycle are found if and only if there is a cycle (core/report/CYCLES.md). In
 * the world `_none` the tasks wait for each other in turn, so that waits collected piece by piece
 * may look like a cycle.
 */
#include "core/report/cycle.h"

#include <errno.h>

#include <thrum.h>

#include "crew.h"
#include "whole.h"

static thrum_sched *sched;
static thrum_mutex one;
static thrum_mutex two;
static thrum_handle *tasks[2];
static whole_gate ended;
static whole_gate both_hold;

static void start(unsigned workers) {
    thrum_config config = whole_config(workers);
    thrum_mutex_init(&one);
    thrum_mutex_init(&two);
    sched = whole_start(&config);
}

static void go(thrum_fn entry) {
    thrum_attr attr = THRUM_ATTR_INIT;
    attr.sched = sched;
    sim_check(thrum_go_with(&attr, entry, NULL) == 0);
}

static bool is_found(void) {
    th_cycles *cycles = th_cycles_find(sched);
    const bool found = th_cycles_count(cycles) != 0;
    sim_check(!found || th_cycles_at(cycles, 0).count == 2);
    th_cycles_end(sched, cycles);
    return found;
}

static int is_known(void *arg) {
    (void)arg;
    return 0;
}

/* ---- no cycle ---- */

/*
 * It holds the object that the other waits for, and then waits for the other's object, but not
 * both.
 */
static int holds_one_by_one(void *arg) {
    (void)arg;
    thrum_mutex_lock(&two);
    thrum_yield();
    thrum_mutex_unlock(&two);
    thrum_mutex_lock(&one);
    thrum_mutex_unlock(&one);
    return 0;
}

/* Its stack is the first that is visited, while it waits for the second mutex. */
static int holds_both(void *arg) {
    thrum_handle *other = NULL;
    (void)arg;
    thrum_mutex_lock(&one);
    sim_check(thrum_spawn(&other, holds_one_by_one, NULL) == 0);
    thrum_yield();
    thrum_mutex_lock(&two);
    thrum_mutex_unlock(&two);
    thrum_mutex_unlock(&one);
    sim_check(thrum_join(other, NULL) == 0);
    whole_open(&ended);
    return 0;
}

SIM_WORLD(cycle_none, .heavy = true) {
    start(1 + sim_pick(2));
    go(holds_both);
    sim_check(!is_found());
    sim_check(!is_found());
    whole_pass(&ended);
    whole_stop(sched);
}

/* The same in a plain thread. */
static void thread_one_by_one(void *arg) {
    (void)arg;
    go(is_known); /* the scheduler knows the thread */
    thrum_mutex_lock(&two);
    whole_open(&both_hold);
    thrum_mutex_unlock(&two);
    thrum_mutex_lock(&one);
    thrum_mutex_unlock(&one);
}

static int holds_both_beside(void *arg) {
    (void)arg;
    whole_pass(&both_hold);
    thrum_mutex_lock(&one);
    thrum_mutex_lock(&two);
    thrum_mutex_unlock(&two);
    thrum_mutex_unlock(&one);
    whole_open(&ended);
    return 0;
}

SIM_WORLD(cycle_none_with_thread, .heavy = true) {
    start(1);
    int t = sim_spawn(thread_one_by_one, NULL);
    go(holds_both_beside);
    sim_check(!is_found());
    sim_check(!is_found());
    whole_pass(&ended);
    sim_join(t);
    whole_stop(sched);
}

/* ---- a cycle, until one of its joins is cancelled ---- */

static int joins_the_second(void *arg) {
    (void)arg;
    const int code = thrum_join(tasks[1], NULL);
    sim_check(code == -ECANCELED);
    sim_check(thrum_detach(tasks[1]) == 0);
    whole_open(&ended);
    return 0;
}

static int joins_the_first(void *arg) {
    (void)arg;
    sim_check(thrum_join(tasks[0], NULL) == 0);
    return 0;
}

static int ties(void *arg) {
    (void)arg;
    sim_check(thrum_spawn(&tasks[0], joins_the_second, NULL) == 0);
    sim_check(thrum_spawn(&tasks[1], joins_the_first, NULL) == 0);
    return 0;
}

SIM_WORLD(cycle_found, .heavy = true) {
    start(1);
    go(ties);
    crew_until(is_found());
    sim_check(is_found());
    sim_check(thrum_cancel(tasks[0]) == 0);
    whole_pass(&ended);
    sim_check(!is_found());
    whole_stop(sched);
}
