/*
 * cancel_part.c: a part of a task's run that is cancelled by itself (thrum_with_deadline), alone
 * and against a cancel of the task; and cancels that let others run in between: here after every
 * second step (core/wait/WAITING.md, "Parts", "Rounds").
 */
#include <errno.h>

#include "base/atomic.h"
#include "core/state/handle.h"
#include "core/state/worker.h"
#include "platform/sim/controller.h"
#include "whole.h"

static thrum_sched *sched;
static thrum_sem shared_sem;
static int codes[4];

static void begin(unsigned workers, bool can_order) {
    thrum_config config = whole_config(workers);
    sched = whole_start(&config);
    if (!can_order) {
        sched->can_order = false; /* no thread has asked yet */
    }
    thrum_sem_init(&shared_sem, 0);
}

static thrum_handle *spawn(thrum_fn fn, void *arg) {
    thrum_attr attr = THRUM_ATTR_INIT;
    thrum_handle *handle;
    attr.sched = sched;
    sim_check(thrum_spawn_with(&handle, &attr, fn, arg) == 0);
    return handle;
}

static int join(thrum_handle *handle) {
    int result = 1;
    sim_check(thrum_join(handle, &result) == 0);
    return result;
}

static thrum_sem *fresh_sem(void) {
    thrum_sem *sem = sim_alloc(sizeof *sem);
    thrum_sem_init(sem, 0);
    return sem;
}

/* Frees its object as soon as the wait has returned: no thread may still touch it. */
static int waits_and_frees(void *arg) {
    thrum_sem *sem = arg;
    int code = thrum_sem_wait(sem);
    sim_free(sem);
    return code;
}

/* ---- a part ---- */

static int in_a_part(void *arg) {
    thrum_time deadline = arg ? thrum_now() + 1000 : THRUM_FOREVER;
    int result = 1;
    codes[0] = thrum_with_deadline(deadline, waits_and_frees, fresh_sem(), &result);
    return result;
}

/* The part's deadline ends the wait; then the caller waits as before. */
static int then_waits(void *arg) {
    int result = in_a_part(arg);
    thrum_sem_post(&shared_sem);
    codes[1] = thrum_sem_wait(&shared_sem);
    return result;
}

static void part_is_late(unsigned workers, bool can_order) {
    begin(workers, can_order);
    sim_check(join(spawn(then_waits, &shared_sem)) == -ECANCELED);
    sim_check(codes[0] == -ETIMEDOUT && codes[1] == 0);
    whole_stop(sched);
}

SIM_WORLD(part_deadline, .heavy = true) {
    part_is_late(1, true);
}

SIM_WORLD(part_deadline_2, .heavy = true) {
    part_is_late(2, true);
}

SIM_WORLD(part_deadline_without_barrier, .heavy = true) {
    part_is_late(1, false);
}

/* The task is cancelled before, in, or after the part. */
static void part_is_cancelled(unsigned workers, bool can_order, void *deadline) {
    begin(workers, can_order);
    thrum_handle *handle = spawn(in_a_part, deadline);
    sim_check(thrum_cancel(handle) == 0);
    sim_check(join(handle) == -ECANCELED);
    sim_check(codes[0] == -ECANCELED || (deadline && codes[0] == -ETIMEDOUT));
    whole_stop(sched);
}

SIM_WORLD(part_cancelled, .heavy = true) {
    part_is_cancelled(1, true, NULL);
}

SIM_WORLD(part_cancelled_without_barrier, .heavy = true) {
    part_is_cancelled(1, false, NULL);
}

SIM_WORLD(part_cancelled_or_late_2, .heavy = true) {
    part_is_cancelled(2, true, &shared_sem);
}

static int forks_within(void *arg) {
    thrum_fork fork;
    (void)arg;
    thrum_fork_start(&fork, waits_and_frees, fresh_sem());
    thrum_yield();
    return thrum_fork_join(&fork);
}

static int part_that_forks(void *arg) {
    int result = 1;
    (void)arg;
    codes[0] = thrum_with_deadline(thrum_now() + 1000, forks_within, NULL, &result);
    return result;
}

/* Others make its forked calls, for the part. */
SIM_WORLD(part_delegated, .heavy = true) {
    begin(2, true);
    sim_check(join(spawn(part_that_forks, NULL)) == -ECANCELED);
    sim_check(codes[0] == -ETIMEDOUT);
    whole_stop(sched);
}

static int inner_then_waits(void *arg) {
    codes[1] = thrum_with_deadline(thrum_now() + 1000, waits_and_frees, fresh_sem(), NULL);
    return waits_and_frees(arg);
}

static int part_in_a_part(void *arg) {
    (void)arg;
    codes[0] = thrum_with_deadline(thrum_now() + 2000, inner_then_waits, fresh_sem(), NULL);
    return codes[0];
}

/* The inner part ends; the outer one goes on until its own deadline. */
SIM_WORLD(part_nested, .heavy = true) {
    begin(1, true);
    sim_check(join(spawn(part_in_a_part, NULL)) == -ETIMEDOUT);
    sim_check(codes[1] == -ETIMEDOUT);
    whole_stop(sched);
}

/* ---- cancels that let others run ---- */

static int has_many(void *arg) {
    thrum_scope *scope = sim_alloc(sizeof *scope);
    (void)arg;
    sim_check(thrum_scope_open(scope, THRUM_FOREVER) == 0);
    for (int i = 0; i < 3; i++) {
        sim_check(thrum_scope_go(scope, waits_and_frees, fresh_sem()) == 0);
    }
    int code = thrum_scope_join(scope);
    sim_free(scope);
    return code;
}

/* Children end while the cancel has yet to come to others. */
static void cancel_many(unsigned workers, bool can_order) {
    begin(workers, can_order);
    thrum_handle *handle = spawn(has_many, NULL);
    sim_check(thrum_cancel(handle) == 0);
    sim_check(join(handle) == -ECANCELED);
    whole_stop(sched);
}

SIM_WORLD(cancel_breathes, .heavy = true) {
    cancel_many(1, true);
}

SIM_WORLD(cancel_breathes_2, .heavy = true) {
    cancel_many(2, true);
}

SIM_WORLD(cancel_breathes_without_barrier, .heavy = true) {
    cancel_many(1, false);
}

static int forgives(void *arg) {
    (void)waits_and_frees(arg);
    return 0;
}

/* A scope is gone as soon as it is joined, which may be before the cancel comes to it. */
static int opens_one(void *arg) {
    thrum_scope *scope = sim_alloc(sizeof *scope);
    sim_check(thrum_scope_open(scope, THRUM_FOREVER) == 0);
    sim_check(thrum_scope_go(scope, forgives, arg) == 0);
    int code = thrum_scope_join(scope);
    sim_free(scope);
    return code == 0 || code == -ECANCELED ? 0 : 1;
}

static int has_scopes_below(void *arg) {
    thrum_scope scope;
    thrum_sem *sems[2] = {fresh_sem(), fresh_sem()};
    (void)arg;
    thrum_sem_post(sems[0]); /* this one ends by itself */
    sim_check(thrum_scope_open(&scope, THRUM_FOREVER) == 0);
    for (int i = 0; i < 2; i++) {
        sim_check(thrum_scope_go(&scope, opens_one, sems[i]) == 0);
    }
    return thrum_scope_join(&scope);
}

/* Scopes on the list of a cancel are closed before it comes to them. */
SIM_WORLD(cancel_breathes_below, .heavy = true) {
    begin(2, true);
    thrum_handle *handle = spawn(has_scopes_below, NULL);
    sim_check(thrum_cancel(handle) == 0);
    sim_check(join(handle) == -ECANCELED);
    whole_stop(sched);
}

static void cancels(void *arg) {
    sim_check(thrum_cancel(arg) == 0);
}

/* Two cancels run at once, each with fibers in hand. */
SIM_WORLD(cancel_two_at_once, .heavy = true) {
    begin(1, true);
    thrum_handle *first = spawn(has_many, NULL);
    thrum_handle *second = spawn(waits_and_frees, fresh_sem());
    int t = sim_spawn(cancels, first);
    sim_check(thrum_cancel(second) == 0);
    sim_check(join(second) == -ECANCELED);
    sim_join(t);
    sim_check(join(first) == -ECANCELED);
    whole_stop(sched);
}

/* ---- late from the start, or seen by a task that computes ---- */

static int asks_until_cancelled(void *arg) {
    (void)arg;
    while (!thrum_cancelled()) {
        sim_pass(400);
    }
    return 0;
}

static int all_compute(void *arg) {
    thrum_scope *scope = sim_alloc(sizeof *scope);
    sim_check(thrum_scope_open(scope, thrum_now() + 1000) == 0);
    sim_check(thrum_scope_go(scope, asks_until_cancelled, NULL) == 0);
    sim_check(thrum_scope_go(scope, arg ? forgives : asks_until_cancelled,
                             arg ? fresh_sem() : NULL) == 0);
    int code = thrum_scope_join(scope);
    sim_free(scope);
    return code;
}

/*
 * Two children ask whether they are cancelled; the timer fires, or only a child sees the deadline.
 */
SIM_WORLD(scope_late_2, .heavy = true) {
    begin(2, true);
    sim_check(join(spawn(all_compute, NULL)) == -ETIMEDOUT);
    whole_stop(sched);
}

SIM_WORLD(scope_late_waits, .heavy = true) {
    begin(1, true);
    sim_check(join(spawn(all_compute, &shared_sem)) == -ETIMEDOUT);
    whole_stop(sched);
}

static int computes_below(void *arg) {
    thrum_scope *scope = sim_alloc(sizeof *scope);
    (void)arg;
    sim_check(thrum_scope_open(scope, THRUM_FOREVER) == 0);
    sim_check(thrum_scope_go(scope, asks_until_cancelled, NULL) == 0);
    codes[0] = thrum_scope_join(scope);
    sim_free(scope);
    return 0;
}

static int late_above(void *arg) {
    thrum_scope scope;
    (void)arg;
    sim_check(thrum_scope_open(&scope, thrum_now() + 1000) == 0);
    sim_check(thrum_scope_go(&scope, asks_until_cancelled, NULL) == 0);
    sim_check(thrum_scope_go(&scope, computes_below, NULL) == 0);
    sim_check(thrum_scope_go(&scope, forgives, fresh_sem()) == 0);
    return thrum_scope_join(&scope);
}

/*
 * The child of the scope below may see the deadline and end while another's cancel, which lets
 * others run, has not come to that scope: its join still reports that it was late.
 */
SIM_WORLD(scope_late_below, .heavy = true) {
    begin(2, true);
    sim_check(join(spawn(late_above, NULL)) == -ETIMEDOUT);
    sim_check(codes[0] == -ETIMEDOUT);
    whole_stop(sched);
}
