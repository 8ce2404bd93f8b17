/*
 * source.c: poll sources (io/source.c), on a bare scheduler: begins and ends of tasks and of
 * threads against the runs that ask, a close, and the stop, which must see that nothing is under
 * way before it ends. While an operation is under way and all sleep, one begin has no end: so most
 * worlds have the hook that does not ask for that.
 */
#include <errno.h>

#include <thrum/poll.h>

#include "base/atomic.h"
#include "crew.h"
#include "whole.h"

static thrum_sched *sched;
static thrum_source *source;
static uint32_t xready; /* operations that have ended, and not been asked for */
static int data[2];     /* plain: writes of an operation, and of the body before it begins one */
static unsigned ended;
static bool inside; /* plain: of `ask` alone */
static whole_gate begun, all;

static void ask(void *arg) {
    (void)arg;
    sim_check(!inside);
    inside = true;
    while (ended < 2 && th_load_acquire(&xready) > ended) { /* pairs: operate */
        sim_check(data[ended] == 1);
        ended++;
        thrum_source_end(source);
        if (ended == 2) {
            whole_open(&all);
        }
    }
    inside = false;
}

static void begin(bool whole) {
    thrum_config config = whole_config(1 + sim_pick(2));
    sched = whole ? whole_start(&config) : whole_start_bare(&config);
    sim_check(thrum_source_open(&source, sched, ask, NULL) == 0);
}

/* An operation without a notice. */
static void operate(void *gate) {
    if (gate) {
        whole_pass(gate); /* only operations that have begun end */
    }
    for (int i = 0; i < 2; i++) {
        data[i] = 1;
        th_store_release(&xready, (uint32_t)i + 1); /* pairs: ask */
    }
}

static void begins(thrum_task *self, void *arg) {
    whole_count(self, arg);
    sim_check(thrum_source_begin(source) == 0);
    whole_open(&begun);
}

/* A task and a thread begin one each; a third thread ends both. */
SIM_WORLD(source_asked, .asleep = whole_asleep_shared, .keeps_memory = true) {
    begin(false);
    whole_post(sched, 0, begins, NULL);
    sim_check(thrum_source_begin(source) == 0);
    int t = sim_spawn(operate, &begun);
    whole_pass(&all);
    sim_join(t);
    sim_check(thrum_source_close(source) == 0);
    whole_stop(sched);
    sim_check(ended == 2);
}

static void gives_up(void *unused) {
    (void)unused;
    sim_check(thrum_source_begin(source) == 0);
    thrum_source_end(source);
}

/* Operations that are given up at once, while another begins: the stop ends all the same. */
SIM_WORLD(source_given_up, .asleep = whole_asleep, .keeps_memory = true) {
    begin(false);
    int t = sim_spawn(gives_up, NULL);
    gives_up(NULL);
    sim_join(t);
    whole_stop(sched);
    sim_check(ended == 0);
}

/* The stop is asked for while an operation is under way: it comes when that has been asked for. */
SIM_WORLD(source_stop, .asleep = whole_asleep_shared, .keeps_memory = true) {
    begin(false);
    sim_check(thrum_source_begin(source) == 0);
    sim_check(thrum_source_begin(source) == 0);
    int t = sim_spawn(operate, NULL);
    whole_stop(sched);
    sim_check(ended == 2);
    sim_join(t);
}

/* Closed while the last call may still be inside, and made anew. */
SIM_WORLD(source_close, .asleep = whole_asleep_shared, .keeps_memory = true) {
    begin(true);
    sim_check(thrum_source_begin(source) == 0);
    sim_check(thrum_source_begin(source) == 0);
    int t = sim_spawn(operate, NULL);
    whole_pass(&all);
    sim_check(thrum_source_close(source) == 0);
    sim_check(!inside);
    sim_join(t);
    thrum_source *again;
    sim_check(thrum_source_open(&again, sched, ask, NULL) == 0);
    whole_stop(sched);
}

static void counts(thrum_task *self, void *arg) {
    whole_count(self, arg);
    data[1]++;
}

static void posts_and_ends(void *unused) {
    (void)unused;
    data[0] = 1;
    whole_post(sched, 0, counts, NULL);
    thrum_source_end(source);
}

/* An end by another thread, after it posted the operation's consumer: idle is behind both. */
SIM_WORLD(source_idle, .asleep = whole_asleep_shared, .keeps_memory = true) {
    begin(false);
    sim_check(thrum_source_begin(source) == 0);
    int t = sim_spawn(posts_and_ends, NULL);
    sim_check(thrum_sched_wait_idle(sched, THRUM_FOREVER) == 0);
    sim_check(data[1] == 1);
    sim_join(t);
    whole_stop(sched);
}

static void ends(void *unused) {
    (void)unused;
    data[0] = 1;
    thrum_source_end(source);
}

/* A thread that can close it sees the writes before the end. */
SIM_WORLD(source_close_sees, .asleep = whole_asleep_shared, .keeps_memory = true) {
    begin(true);
    sim_check(thrum_source_begin(source) == 0);
    int t = sim_spawn(ends, NULL);
    int code;
    crew_until((code = thrum_source_close(source)) != -EBUSY);
    sim_check(code == 0 && data[0] == 1);
    sim_join(t);
    whole_stop(sched);
}

static void opens(void *unused) {
    thrum_source *mine;
    (void)unused;
    sim_check(thrum_source_open(&mine, sched, ask, NULL) == 0);
    sim_check(thrum_source_close(mine) == 0);
}

/* The first sources of a scheduler, by two threads. */
SIM_WORLD(source_first, .asleep = whole_asleep, .keeps_memory = true) {
    thrum_config config = whole_config(1);
    sched = whole_start_bare(&config);
    int t = sim_spawn(opens, NULL);
    opens(NULL);
    sim_join(t);
    whole_stop(sched);
}

/* ---- an `ask` that waits ---- */

static thrum_event may_go;

static void ask_waits(void *arg) {
    sim_check(thrum_event_wait(&may_go) == 0);
    ask(arg);
}

static void lets_go(void *unused) {
    (void)unused;
    operate(NULL);
    thrum_event_signal(&may_go);
}

/* The first `ask` waits: until it has counted the ends the scheduler is not idle. */
SIM_WORLD(source_ask_waits, .asleep = whole_asleep_shared, .keeps_memory = true) {
    thrum_config config = whole_config(1 + sim_pick(2));
    sched = whole_start(&config);
    thrum_event_init(&may_go, THRUM_EVENT_MANUAL, false);
    sim_check(thrum_source_open(&source, sched, ask_waits, NULL) == 0);
    sim_check(thrum_source_begin(source) == 0);
    sim_check(thrum_source_begin(source) == 0);
    int t = sim_spawn(lets_go, NULL);
    sim_check(thrum_sched_wait_idle(sched, THRUM_FOREVER) == 0);
    sim_check(ended == 2);
    sim_join(t);
    whole_stop(sched);
}
