/*
 * joinset.c: results of a scope's children in the order in which they end (core/wait/WAITING.md,
 * "Results"), and ends of tasks among the cases of a select, against cancels, deadlines and each
 * other. Each result comes once, and no wait is lost.
 */
#include <errno.h>

#include "base/atomic.h"
#include "core/state/slab.h"
#include "core/state/worker.h"
#include "core/task/run.h"
#include "crew.h"
#include "platform/platform.h"
#include "whole.h"

#define LATER 1000000

/* ---- ends of tasks, played by th_handle_finish ---- */

static th_slab *slab;
static thrum_handle *handles[2];
static thrum_event *event;
static int data[2]; /* plain: the tasks' writes */
static int got;     /* what the select returned */

static void *alloc(void *ctx, size_t size) {
    (void)ctx;
    return th_os_alloc(size);
}

static void free_it(void *ctx, void *ptr) {
    (void)ctx;
    th_os_free(ptr);
}

static void make(void) {
    slab = th_slab_new(sizeof(thrum_handle), alloc, free_it, NULL);
    for (int i = 0; i < 2; i++) {
        handles[i] = th_slab_get_external(slab);
        *handles[i] = (thrum_handle){.slab = slab};
    }
    event = sim_alloc(sizeof *event);
    thrum_event_init(event, THRUM_EVENT_AUTO, false);
}

static void finish(int i) {
    data[i] = 1;
    th_handle_finish(handles[i], 40 + i);
    crew_scrub();
}

static void finish_a(void *unused) {
    (void)unused;
    finish(0);
}

static void finish_b(void *unused) {
    (void)unused;
    finish(1);
}

static void signal_it(void *unused) {
    (void)unused;
    thrum_event_signal(event);
}

static int join(int i) {
    int result = 0;
    sim_check(thrum_join(handles[i], &result) == 0);
    sim_check(result == 40 + i && data[i] == 1);
    return result;
}

static void done(void) {
    sim_check(thrum_event_destroy(event) == 0);
    sim_free(event);
    th_slab_close(slab);
}

static void select_until(thrum_time deadline) {
    thrum_case cases[] = {THRUM_JOIN_CASE(handles[0]), THRUM_EVENT_CASE(event),
                          THRUM_JOIN_CASE(handles[1])};
    got = thrum_select(cases, 3, deadline);
    crew_scrub(); /* the parts were there */
    sim_check(got < 0 || cases[got].status == 0);
}

/* One ends, then the other: whichever the select reports has ended, the rest is joined after. */
static void select_and_join(void *unused) {
    (void)unused;
    select_until(THRUM_FOREVER);
    sim_check(got == 0 || got == 2);
    sim_check(data[got / 2] == 1); /* without a join */
    join(got / 2);
    join(1 - got / 2);
}

static const crew_play first = {make, done, 3, {select_and_join, finish_a, finish_b}};
CREW_WORLDS(joinset_select, first)
CREW_WORLD_SCHED(joinset_select, first)

static void select_and_leave(void *unused) {
    (void)unused;
    select_until(THRUM_FOREVER);
    sim_check(got == 0 || got == 1);
    if (got == 0) {
        sim_check(data[0] == 1);
    }
    join(0);
    sim_check(thrum_detach(handles[1]) == 0);
}

static void event_is_kept(void) {
    finish(1);
    sim_check(thrum_event_test(event) == (got == 0));
    done();
}

/* An end against a signal: one happens, and the signal stays if it was the end. */
static const crew_play beside = {make, event_is_kept, 3, {select_and_leave, finish_a, signal_it}};
CREW_WORLDS(joinset_beside, beside)
CREW_WORLD_SCHED(joinset_beside, beside)

static void select_late(void *unused) {
    (void)unused;
    select_until(thrum_after(LATER));
    sim_check(got == 0 || got == 1 || got == -ETIMEDOUT);
    join(0);
    sim_check(thrum_detach(handles[1]) == 0);
}

static void event_if_not(void) {
    finish(1);
    sim_check(thrum_event_test(event) == (got != 1));
    done();
}

/* Against the deadline: what the select has not reported is as it was. */
static const crew_play late = {make, event_if_not, 3, {select_late, finish_a, signal_it}};
CREW_WORLDS(joinset_late, late, .timers_max = 2)
CREW_WORLD_SCHED(joinset_late, late)

/* ---- results of a scope, on a scheduler ---- */

static thrum_sched *sched;
static thrum_scope scope;
static thrum_sem sem;
static int told[2]; /* plain: the children's writes */

static void run(unsigned workers, thrum_fn fn) {
    thrum_config config = whole_config(workers);
    thrum_attr attr = THRUM_ATTR_INIT;
    thrum_handle *owner;
    int result = 1;
    sched = whole_start(&config);
    thrum_sem_init(&sem, 0);
    attr.sched = sched;
    sim_check(thrum_spawn_with(&owner, &attr, fn, NULL) == 0);
    sim_check(thrum_join(owner, &result) == 0);
    sim_check(result == 0);
    whole_stop(sched);
}

static int child(void *arg) {
    *(int *)arg = 1;
    return 7;
}

static int *next_child(void) {
    void *arg = NULL;
    int result = 0;
    sim_check(thrum_scope_next(&scope, &arg, &result) == 0);
    sim_check(result == 7 && *(int *)arg == 1);
    return arg;
}

static int takes_two(void *unused) {
    (void)unused;
    sim_check(thrum_scope_open(&scope, THRUM_FOREVER) == 0);
    for (int i = 0; i < 2; i++) {
        sim_check(thrum_scope_spawn(&scope, NULL, child, &told[i]) == 0);
    }
    sim_check(next_child() != next_child());
    sim_check(thrum_scope_next(&scope, NULL, NULL) == -ECHILD);
    sim_check(thrum_scope_join(&scope) == 0);
    crew_scrub();
    return 0;
}

/* Each result comes once, before, during or after the owner's wait. */
SIM_WORLD(joinset_two, .heavy = true) {
    run(2, takes_two);
}

static int selects_two(void *unused) {
    (void)unused;
    sim_check(thrum_scope_open(&scope, THRUM_FOREVER) == 0);
    for (int i = 0; i < 2; i++) {
        sim_check(thrum_scope_spawn(&scope, NULL, child, &told[i]) == 0);
    }
    for (int i = 0; i < 2; i++) {
        thrum_event never = THRUM_EVENT_INIT(THRUM_EVENT_MANUAL, false);
        thrum_case cases[] = {THRUM_EVENT_CASE(&never), THRUM_NEXT_CASE(&scope)};
        sim_check(thrum_select(cases, 2, THRUM_FOREVER) == 1 && cases[1].status == 0);
        sim_check(thrum_scope_next_until(&scope, NULL, NULL, 0) == 0); /* it is there */
    }
    sim_check(thrum_scope_join(&scope) == 0);
    crew_scrub();
    return 0;
}

/* The same by a select, after which the result is there. */
SIM_WORLD(joinset_select_next, .heavy = true) {
    run(2, selects_two);
}

static int waits(void *unused) {
    (void)unused;
    return thrum_sem_wait(&sem);
}

static int cancels(void *unused) {
    (void)unused;
    thrum_scope_cancel(&scope);
    return 7;
}

static int takes_cancelled(void *unused) {
    int count = 0;
    int result;
    (void)unused;
    sim_check(thrum_scope_open(&scope, THRUM_FOREVER) == 0);
    sim_check(thrum_scope_spawn(&scope, NULL, waits, NULL) == 0);
    sim_check(thrum_scope_spawn(&scope, NULL, cancels, NULL) == 0);
    while (thrum_scope_next(&scope, NULL, &result) == 0) {
        sim_check(result == -ECANCELED || result == 7);
        count++;
    }
    sim_check(count == 2);
    sim_check(thrum_scope_join(&scope) == -ECANCELED);
    crew_scrub();
    return 0;
}

/* A cancel goes through the children while they end: their results come all the same. */
SIM_WORLD(joinset_cancelled, .heavy = true) {
    run(2, takes_cancelled);
}

static int times_out(void *unused) {
    int taken = 0;
    (void)unused;
    sim_check(thrum_scope_open(&scope, THRUM_FOREVER) == 0);
    sim_check(thrum_scope_spawn(&scope, NULL, child, &told[0]) == 0);
    const int code = thrum_scope_next_until(&scope, NULL, &taken, thrum_after(LATER));
    crew_scrub();
    sim_check(code == 0 || code == -ETIMEDOUT);
    if (code) {
        next_child();
    }
    sim_check(thrum_scope_next(&scope, NULL, NULL) == -ECHILD);
    sim_check(thrum_scope_join(&scope) == 0);
    return 0;
}

/* A wait that is late takes nothing: the result comes to the next one. */
SIM_WORLD(joinset_next_late, .heavy = true, .timers_max = 2) {
    run(1, times_out);
}

static int is_cancelled(void *unused) {
    (void)unused;
    sim_check(thrum_scope_open(&scope, THRUM_FOREVER) == 0);
    sim_check(thrum_scope_spawn(&scope, NULL, child, &told[0]) == 0);
    sim_check(thrum_scope_spawn(&scope, NULL, waits, NULL) == 0);
    int taken = 0;
    int code;
    while ((code = thrum_scope_next(&scope, NULL, NULL)) == 0) {
        taken++;
    }
    sim_check(code == -ECANCELED || (code == -ECHILD && taken == 2));
    crew_scrub();
    const int reason = thrum_scope_join(&scope); /* drops the rest */
    sim_check(reason == 0 || reason == -ECANCELED);
    return 0;
}

/* The owner is cancelled while results come: the rest goes with the join. */
SIM_WORLD(joinset_owner_cancelled, .heavy = true) {
    thrum_config config = whole_config(2);
    thrum_attr attr = THRUM_ATTR_INIT;
    thrum_handle *owner;
    sched = whole_start(&config);
    thrum_sem_init(&sem, 0);
    attr.sched = sched;
    sim_check(thrum_spawn_with(&owner, &attr, is_cancelled, NULL) == 0);
    sim_check(thrum_cancel(owner) == 0);
    sim_check(thrum_join(owner, NULL) == 0);
    whole_stop(sched);
}
